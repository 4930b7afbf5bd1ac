//! A fixture case: two versions of a project, and what the tool must say about them. `tests/fixtures/README.md` has the
//! fields.

use super::{Project, Run};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Runs more of a case whose tests were inconclusive.
const TRIES_MORE: usize = 2;

/// `case.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What it shows, in a sentence.
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
    warnings: Vec<String>,
    #[serde(default)]
    verdict: BTreeMap<String, OneOrMore>,
    #[serde(default)]
    reason: BTreeMap<String, String>,
    #[serde(default)]
    bound: BTreeMap<String, f64>,
    #[serde(default)]
    note: BTreeMap<String, String>,
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
}

/// The root of our own repository.
pub fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

impl Case {
    /// All cases, by name: the fixtures and the examples.
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

    /// The project of the case: base and head committed.
    pub fn project(&self) -> Project {
        let project = Project::empty();
        if self.path.join("base/src").exists() {
            let name = self.path.file_name().unwrap().to_str().unwrap();
            let package = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
            project.write("Cargo.toml", package);
        }
        if self.our_lock_file {
            project.write("Cargo.lock", fs::read(repository_root().join("Cargo.lock")).unwrap());
        }
        project.overlay(&self.path.join("base"));
        project.commit("base");
        self.removed.iter().for_each(|path| project.remove(path));
        project.overlay(&self.path.join("head"));
        project.commit("head");
        project
    }

    /// Runs `diff` on the two commits; the differences between what came out and what was expected, one a line.
    pub fn check(&self, project: &Project) -> Result<(), String> {
        let mut arguments = vec!["diff", "HEAD~1", "--message-format", "json", "--explain", "never"];
        if !self.arguments.iter().any(|argument| argument == "--per-test-budget") {
            arguments.extend(["--per-test-budget", "3s"]);
        }
        arguments.extend(self.arguments.iter().map(String::as_str));
        let attempt = || {
            let run = project.perfunit_in(&self.folder, &arguments);
            let problems = match serde_json::from_str(&run.stdout) {
                Ok(document) => self.problems(&document, &run, project),
                Err(error) => vec![format!("no document on stdout ({error})")],
            };
            (run, problems)
        };
        let (mut run, mut problems) = attempt();
        // Where the machine is too busy to tell, that is the right answer, and worth another try; a wrong one is not.
        for _ in 0..TRIES_MORE {
            if problems.iter().any(|problem| problem.contains(": inconclusive (")) {
                (run, problems) = attempt();
            }
        }
        if problems.is_empty() {
            return Ok(());
        }
        let mut text = format!("{}\n", self.purpose);
        for problem in problems {
            let _ = writeln!(text, "- {problem}");
        }
        Err(format!("{text}exit code {}, stdout:\n{}\nstderr:\n{}", run.code, run.stdout, run.stderr))
    }

    fn problems(&self, document: &Value, run: &Run, project: &Project) -> Vec<String> {
        let mut problems = Vec::new();
        if run.code != self.exit {
            problems.push(format!("exit code {} instead of {}", run.code, self.exit));
        }
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
        problems.extend(missing("a warning", &self.warnings, &document["warnings"]));
        self.test_problems(document, &mut problems);
        problems
    }

    /// Every test of the document must be expected, and every expected one be there.
    fn test_problems(&self, document: &Value, problems: &mut Vec<String>) {
        let mut seen = BTreeSet::new();
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
            if let Some(key) = key(&|key| self.bound.contains_key(key))
                && test["bound"]["ratio"].as_f64().is_none_or(|ratio| ratio < self.bound[&key])
            {
                problems.push(format!("{full}: bound {} instead of {} or more", test["bound"], self.bound[&key]));
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
                let words = [&reason["kind"], &reason["side"]];
                let is = words.iter().filter_map(|word| word.as_str()).collect::<Vec<_>>().join(" ");
                if is != self.reason[&key] {
                    problems
                        .push(format!("{full}: {verdict} ({is}: {}) instead of {}", reason["text"], self.reason[&key]));
                }
                seen.insert(key);
            } else {
                problems.push(format!("{full}: not expected, {verdict}"));
            }
        }
        let expected = self.verdict.keys().chain(self.reason.keys());
        problems.extend(expected.filter(|key| !seen.contains(*key)).map(|key| format!("{key}: not in the document")));
    }
}

/// The expected parts of sentences that occur in none of the list.
fn missing(what: &str, expected: &[String], list: &Value) -> Vec<String> {
    let has = |part: &String| {
        list.as_array()
            .is_some_and(|list| list.iter().any(|text| text.as_str().is_some_and(|text| text.contains(part))))
    };
    expected.iter().filter(|part| !has(part)).map(|part| format!("{what} with {part:?} is missing: {list}")).collect()
}
