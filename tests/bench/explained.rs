//! The fields of the tool's document for programs that evaluate explanations.

use serde::Deserialize;

/// The document.
#[derive(Debug, Deserialize)]
pub struct Document {
    pub tests: Vec<Test>,
}

/// One test.
#[derive(Debug, Deserialize)]
pub struct Test {
    pub name: String,
    pub verdict: String,
    pub reason: Option<Reason>,
    pub change: Option<Change>,
    pub explanation: Option<Explained>,
    pub notes: Vec<String>,
    #[serde(default)]
    pub unexplained_because: Option<String>,
}

/// Reason for the missing verdict.
#[derive(Debug, Deserialize)]
pub struct Reason {
    pub kind: String,
    pub side: Option<String>,
    #[serde(default)]
    pub intermittent: bool,
}

/// Change of head as a fraction of base.
#[derive(Debug, Deserialize)]
pub struct Change {
    pub estimate: Option<f64>,
}

/// The responsible functions.
#[derive(Debug, Deserialize)]
pub struct Explained {
    pub engine: String,
    pub strategy: String,
    pub pairs: usize,
    /// Wall time of the explanation, s.
    pub seconds: Option<f64>,
    pub distortion: Option<f64>,
    pub responsible: Vec<Responsible>,
    pub functions: Vec<Function>,
    /// Changes other than functions.
    #[serde(default)]
    pub causes: Vec<Cause>,
    pub notes: Vec<String>,
}

/// A responsible function.
#[derive(Debug, Deserialize)]
pub struct Responsible {
    /// Index in [`Explained::functions`].
    pub function: usize,
    pub kind: String,
    pub share: Option<f64>,
    pub callee: Option<usize>,
}

/// A function.
#[derive(Debug, Deserialize)]
pub struct Function {
    pub file: String,
    pub line: usize,
    pub name: String,
}

/// A dependency or a configuration that changed.
#[derive(Debug, Deserialize)]
pub struct Cause {
    pub text: String,
    pub kind: String,
    /// Name of the dependency, if it is one.
    pub package: Option<String>,
    /// Largest share of the difference that it may cause.
    pub share: Option<f64>,
}

/// Share from which a cause is named.
const MOST: f64 = 0.5;

impl Cause {
    /// Returns whether the cause is this package and may explain most of the difference.
    pub fn is_dependency(&self, name: &str) -> bool {
        let is_kind = ["dependency", "local-dependency"].contains(&self.kind.as_str());
        is_kind && self.package.as_deref() == Some(name) && self.is_named()
    }

    /// Returns whether the cause may explain most of the difference.
    pub fn is_named(&self) -> bool {
        self.share.is_some_and(|share| share >= MOST)
    }
}

/// Formats the first named function, `parser::next (src/parser.rs:88), own, 93 %`, and other changes.
pub fn first(found: &Explained) -> Option<String> {
    let mut named: Vec<String> =
        found.responsible.first().map(|responsible| in_words(found, responsible)).into_iter().collect();
    let causes = found.causes.iter().filter(|cause| cause.is_named());
    named.extend(causes.map(|cause| format!("{}, {:.0} %", cause.text, 100.0 * cause.share.unwrap_or(f64::NAN))));
    (!named.is_empty()).then(|| named.join("; "))
}

fn in_words(found: &Explained, responsible: &Responsible) -> String {
    let function = &found.functions[responsible.function];
    let callee = responsible.callee.map_or(String::new(), |callee| format!(" of {}", found.functions[callee].name));
    let share = 100.0 * responsible.share.unwrap_or(f64::NAN);
    format!("{} ({}:{}), {}{callee}, {share:.0} %", function.name, function.file, function.line, responsible.kind)
}
