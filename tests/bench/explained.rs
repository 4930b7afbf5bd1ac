//! What programs that ask which function is responsible read of the tool's document.

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

/// Why it has no verdict.
#[derive(Debug, Deserialize)]
pub struct Reason {
    pub kind: String,
    pub side: Option<String>,
    #[serde(default)]
    pub intermittent: bool,
}

/// Head against base, as a fraction of base.
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
    /// Wall time of finding it.
    pub seconds: Option<f64>,
    pub distortion: Option<f64>,
    pub responsible: Vec<Responsible>,
    pub functions: Vec<Function>,
    /// What changed besides functions.
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
    /// The dependency, if it is one.
    pub package: Option<String>,
    /// The part of the difference that it can be behind.
    pub share: Option<f64>,
}

/// From this share on a cause is named.
const MOST: f64 = 0.5;

impl Cause {
    /// True for this package, if most of the difference can come from it.
    pub fn is_dependency(&self, name: &str) -> bool {
        let is_kind = ["dependency", "local-dependency"].contains(&self.kind.as_str());
        is_kind && self.package.as_deref() == Some(name) && self.is_named()
    }

    /// True if most of the difference can come from it.
    pub fn is_named(&self) -> bool {
        self.share.is_some_and(|share| share >= MOST)
    }
}

/// Who is named first: `parser::next (src/parser.rs:88), own, 93 %`, and what else is said to have changed.
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
