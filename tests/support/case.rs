//! A fixture case: two versions of a project, and the expected results. `tests/fixtures/README.md` describes the
//! fields.

use super::{Project, Run};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Content of `case.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Purpose of the case, in a sentence.
    pub purpose: String,
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    folder: String,
    #[serde(default)]
    removed: Vec<String>,
    #[serde(default)]
    our_lock_file: bool,
    exit: i32,
    #[serde(default)]
    nothing: Option<String>,
    #[serde(default)]
    unmeasured: Vec<String>,
    #[serde(default)]
    uncovered: Vec<String>,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    verdict: BTreeMap<String, OneOrMore>,
    #[serde(default)]
    reason: BTreeMap<String, String>,
    #[serde(default)]
    bound: BTreeMap<String, f64>,
    #[serde(default)]
    note: BTreeMap<String, String>,
    #[serde(default)]
    responsible: BTreeMap<String, String>,
    #[serde(default)]
    generated: BTreeMap<String, OneOrMore>,
    #[serde(default)]
    not_generated: BTreeMap<String, String>,
    #[serde(default)]
    growth: BTreeMap<String, String>,
    #[serde(default)]
    growth_unseen: BTreeMap<String, String>,
    #[serde(skip)]
    path: PathBuf,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn contains(&self, word: &str) -> bool {
        match self {
            Self::One(one) => one == word,
            Self::More(more) => more.iter().any(|one| one == word),
        }
    }

    fn first(&self) -> &str {
        match self {
            Self::One(one) => one,
            Self::More(more) => &more[0],
        }
    }

    fn is_change(&self) -> bool {
        matches!(self, Self::One(one) if one == "slower" || one == "faster")
    }
}

/// Returns the root of our repository.
pub fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Cargo configuration of projects with dependencies that only have to work: optimizing them takes longer than the rest of
/// a test.
pub const QUICK_DEPENDENCIES: &str = "[profile.bench.package.\"*\"]\nopt-level = 0\n";

impl Case {
    /// Returns all cases by name: the fixtures and the examples.
    pub fn all() -> BTreeMap<String, Self> {
        let mut cases = BTreeMap::new();
        for folder in ["tests/fixtures", "examples"] {
            for entry in fs::read_dir(repository_root().join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    cases.insert(path.file_name().unwrap().to_string_lossy().into_owned(), Self::read(path));
                }
            }
        }
        cases
    }

    fn read(path: PathBuf) -> Self {
        let file = path.join("case.toml");
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let case: Self = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        Self { path, ..case }
    }

    /// Creates the project of the case, with base and head committed.
    pub fn project(&self) -> Project {
        let project = Project::empty();
        if self.path.join("base/src").exists() {
            let name = self.path.file_name().unwrap().to_str().unwrap();
            let package = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
            project.write("Cargo.toml", package);
        }
        if self.our_lock_file {
            project.write("Cargo.lock", fs::read(repository_root().join("Cargo.lock")).unwrap());
            project.write(".cargo/config.toml", QUICK_DEPENDENCIES);
        }
        project.overlay(&self.path.join("base"));
        project.commit("base");
        self.removed.iter().for_each(|path| project.remove(path));
        project.overlay(&self.path.join("head"));
        project.commit("head");
        project
    }

    /// Returns whether some test must be slower or faster because of its work.
    pub fn plants_a_change(&self) -> bool {
        self.verdict.iter().any(|(test, verdict)| !self.bound.contains_key(test) && verdict.is_change())
    }

    /// Returns whether this test of a document must be slower or faster because of its work; tests with a bound wait
    /// instead.
    pub fn must_change(&self, test: &Value) -> bool {
        let (target, name) = (test["target"].as_str().unwrap(), test["name"].as_str().unwrap());
        [&format!("{target} {name}"), name]
            .into_iter()
            .find_map(|key| self.verdict.get(key).filter(|_| !self.bound.contains_key(key)))
            .is_some_and(OneOrMore::is_change)
    }

    /// Folder in which the tool runs, relative to the repository.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// Runs `diff` on the two commits with additional arguments.
    pub fn run(&self, project: &Project, more: &[&str]) -> Run {
        const BUDGET: &str = "--per-test-budget";
        let mut own: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        if let Some(at) = own.iter().position(|argument| *argument == BUDGET && more.contains(&BUDGET)) {
            own.drain(at..at + 2);
        }
        let arguments = ["diff", "HEAD~1"].into_iter().chain(own);
        project.perfunit_in(&self.folder, arguments.chain(more.iter().copied()))
    }

    /// Runs `diff` on the two commits. Fails with the differences between result and expectation, one per line.
    ///
    /// Tests that must get a verdict have far more time than they need on a quiet machine. A case with tests that may
    /// be inconclusive limits the time.
    pub fn check(&self, project: &Project) -> Result<(), String> {
        let explain = if self.responsible.is_empty() { "never" } else { "always" };
        let mut more = vec!["--message-format", "json", "--explain", explain];
        if !self.arguments.iter().any(|argument| argument == "--per-test-budget") {
            more.extend(["--per-test-budget", "30s"]);
        }
        let run = self.run(project, &more);
        let problems = match serde_json::from_str(&run.stdout) {
            Ok(document) => self.problems(&document, &run, project),
            Err(error) => vec![format!("no document on stdout ({error})")],
        };
        if problems.is_empty() {
            return Ok(());
        }
        let mut text = format!("{}\n", self.purpose);
        for problem in problems {
            let _ = writeln!(text, "- {problem}");
        }
        let Run { code, stdout, stderr } = run;
        let _ = writeln!(text, "exit code {code}, stdout:\n{stdout}\nstderr:\n{stderr}");
        Err(text)
    }

    fn problems(&self, document: &Value, run: &Run, project: &Project) -> Vec<String> {
        let mut problems = self.test_problems(document);
        problems.extend(self.generated_problems(document));
        if run.code != self.exit {
            problems.push(format!("exit code {} instead of {}", run.code, self.exit));
        }
        problems.extend(self.other_problems(document, project));
        let (announced, due) = (announced(&run.stderr), to_announce(document));
        if announced != due {
            problems.push(format!("announced were {announced:?} instead of {due:?}"));
        }
        problems
    }

    fn other_problems(&self, document: &Value, project: &Project) -> Vec<String> {
        let mut problems = Vec::new();
        let status = project.status();
        if !status.is_empty() {
            problems.push(format!("the working tree was changed: {status:?}"));
        }
        let nothing = document["selection"]["nothing_because"].as_str();
        match &self.nothing {
            Some(expected) if !nothing.is_some_and(|why| why.contains(expected)) => {
                problems.push(format!("nothing was selected because {nothing:?}, expected {expected:?}"));
            }
            None if nothing.is_some() => problems.push(format!("nothing was selected: {nothing:?}")),
            _ => {}
        }
        problems.extend(missing(
            "an unmeasured target",
            &self.unmeasured,
            &document["selection"]["unmeasured_targets"],
        ));
        let uncovered = document["selection"]["uncovered"].as_array();
        let uncovered: Vec<_> = uncovered.into_iter().flatten().map(|function| function["name"].clone()).collect();
        if uncovered != self.uncovered {
            problems.push(format!("uncovered are {uncovered:?} instead of {:?}", self.uncovered));
        }
        problems.extend(missing("a warning", &self.warnings, &document["warnings"]));
        let by_function = |list: &str, fact: fn(&Value) -> &Value| {
            let found = document["growth"][list].as_array().into_iter().flatten();
            let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            found.map(|function| (word(&function["name"]), word(fact(function)))).collect::<BTreeMap<_, _>>()
        };
        for (list, found, expected) in [
            ("findings", by_function("findings", |finding| &finding["argument"]), &self.growth),
            ("unseen", by_function("unseen", |unseen| &unseen["because"]["kind"]), &self.growth_unseen),
        ] {
            if found != *expected {
                problems.push(format!("growth has the {list} {found:?} instead of {expected:?}"));
            }
        }
        problems
    }

    /// Returns unexpected generated workloads. Each function must be expected: all of its workloads have one of the
    /// verdicts, and one has the first.
    fn generated_problems(&self, document: &Value) -> Vec<String> {
        let generated = &document["generated"];
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mut verdicts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for call in list(&generated["calls"]) {
            let tests = list(&generated["comparison"]["tests"]);
            let test = tests.iter().find(|test| test["name"] == call["name"] && test["capture"] == "generated");
            let verdict = test.and_then(|test| test["verdict"].as_str()).unwrap_or("not compared").to_owned();
            verdicts.entry(call["function"]["name"].as_str().unwrap().to_owned()).or_default().push(verdict);
        }
        let mut problems = Vec::new();
        for (function, expected) in &self.generated {
            let found = verdicts.remove(function).unwrap_or_default();
            // Both verdicts mean that the change is below the threshold.
            let is_small = |verdict: &str| matches!(verdict, "same" | "changed-below-threshold");
            let has_first = found.iter().any(|verdict| {
                expected.first() == verdict
                    || is_small(expected.first()) && is_small(verdict) && expected.contains(verdict)
            });
            if !has_first || !found.iter().all(|verdict| expected.contains(verdict)) {
                problems.push(format!("calls of {function}: {found:?} instead of {expected:?}"));
            }
        }
        problems.extend(verdicts.into_iter().map(|call| format!("not expected: {call:?}")));
        let without: BTreeMap<String, String> = list(&generated["without"])
            .iter()
            .map(|without| (&without["function"]["name"], &without["because"]))
            .map(|(name, because)| {
                let kinds = [&because["kind"], &because["how"]["kind"], &because["how"]["system_call"]["kind"]];
                let kinds: Vec<&str> = kinds.iter().filter_map(|kind| kind.as_str()).collect();
                (name.as_str().unwrap().to_owned(), kinds.join(" "))
            })
            .collect();
        if without != self.not_generated {
            problems.push(format!("without calls: {without:?} instead of {:?}", self.not_generated));
        }
        problems
    }

    /// Returns unexpected and missing tests of the document.
    fn test_problems(&self, document: &Value) -> Vec<String> {
        let (mut problems, mut seen) = (Vec::new(), BTreeSet::new());
        for test in document["tests"].as_array().into_iter().flatten() {
            let (target, name) = (test["target"].as_str().unwrap(), test["name"].as_str().unwrap());
            let full = format!("{target} {name}");
            let verdict = test["verdict"].as_str().unwrap();
            let key = |known: &dyn Fn(&str) -> bool| {
                [full.as_str(), name].into_iter().find(|key| known(key)).map(str::to_owned)
            };
            if let Some(key) = key(&|key| self.note.contains_key(key)) {
                let expected = std::slice::from_ref(&self.note[&key]);
                problems.extend(missing(&format!("{full}: a note"), expected, &test["notes"]));
            }
            if let Some(key) = key(&|key| self.responsible.contains_key(key)) {
                let (first, expected) = (first_responsible(test), self.responsible[&key].as_str());
                if first != Some(expected) {
                    problems.push(format!("{full}: {first:?} is responsible instead of {expected}"));
                }
            }
            if let Some(key) = key(&|key| self.bound.contains_key(key))
                && test["bound"]["ratio"].as_f64().is_none_or(|ratio| ratio < self.bound[&key])
            {
                let (bound, least) = (&test["bound"], self.bound[&key]);
                problems.push(format!("{full}: bound {bound} instead of {least} or more"));
            }
            if let Some(key) = key(&|key| self.verdict.contains_key(key)) {
                if !self.verdict[&key].contains(verdict) {
                    let (change, reason) = (&test["change"], &test["reason"]["text"]);
                    let expected = &self.verdict[&key];
                    problems.push(format!("{full}: {verdict} ({change}, {reason}) instead of {expected:?}"));
                }
                seen.insert(key);
            } else if let Some(key) = key(&|key| self.reason.contains_key(key)) {
                let reason = &test["reason"];
                let intermittent = (reason["intermittent"] == true).then_some("intermittent");
                let words = [reason["kind"].as_str(), reason["side"].as_str(), intermittent];
                let is = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
                if is != self.reason[&key] {
                    let expected = &self.reason[&key];
                    problems.push(format!("{full}: {verdict} ({is}: {}) instead of {expected}", reason["text"]));
                }
                seen.insert(key);
            } else {
                problems.push(format!("{full}: not expected, {verdict}"));
            }
        }
        let expected = self.verdict.keys().chain(self.reason.keys());
        let absent = expected.filter(|key| !seen.contains(*key)).map(|key| format!("{key}: not in the document"));
        problems.extend(absent);
        problems
    }
}

/// Returns the name of the function responsible for most of a test's difference.
pub fn first_responsible(test: &Value) -> Option<&str> {
    let explanation = &test["explanation"];
    let first = explanation["responsible"][0]["function"].as_u64()?;
    explanation["functions"][usize::try_from(first).ok()?]["name"].as_str()
}

/// Returns the lines on stderr that announced tests before the end, without figures.
pub fn announced(stderr: &str) -> Vec<String> {
    let words = ["Slower", "Faster", "Worse", "Better", "Failing"].map(|word| format!("{word:>12} "));
    let lines = stderr.lines().filter(|line| words.iter().any(|word| line.starts_with(word.as_str())));
    let mut announced: Vec<String> =
        lines.filter_map(|line| Some(line.trim().split_once("  ")?.0.to_owned())).collect();
    announced.sort();
    announced
}

/// Returns the announcements expected from a document: no others, and none twice.
pub fn to_announce(document: &Value) -> Vec<String> {
    let gates = document["summary"]["gates"].as_array();
    let is_time_alone = gates.is_none_or(|gates| gates.iter().all(|gate| gate == "time"));
    let word = |test: &Value| {
        let reason = &test["reason"];
        let fails = ["fails", "crashes"].iter().any(|kind| reason["kind"] == *kind);
        match test["verdict"].as_str()? {
            "slower" => Some(if is_time_alone { "Slower" } else { "Worse" }),
            "faster" => Some(if is_time_alone { "Faster" } else { "Better" }),
            "not-measured" if fails && reason["side"] == "head" && reason["intermittent"] != true => Some("Failing"),
            _ => None,
        }
    };
    let line = |test: &Value| {
        let (target, name) = (test["target"].as_str()?, test["name"].as_str()?);
        Some(format!("{} {target} {name}", word(test)?))
    };
    let tests = [&document["tests"], &document["generated"]["comparison"]["tests"]];
    let tests = tests.into_iter().filter_map(Value::as_array).flatten();
    let mut due: Vec<String> = tests.filter_map(line).collect();
    due.sort();
    due
}

/// Returns the expected parts of sentences that are missing in the list.
fn missing(what: &str, expected: &[String], list: &Value) -> Vec<String> {
    let has = |part: &String| {
        list.as_array()
            .is_some_and(|list| list.iter().any(|text| text.as_str().is_some_and(|text| text.contains(part))))
    };
    expected.iter().filter(|part| !has(part)).map(|part| format!("{what} with {part:?} is missing: {list}")).collect()
}
