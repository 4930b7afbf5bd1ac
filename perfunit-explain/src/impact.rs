//! The index of Zhou and Li: from a function to the tests that it matters to, which are those to run again when it is
//! touched.

use super::usage::usages;
use perfunit_model::error::Error;
use perfunit_model::suggest::{self, near};
use perfunit_model::{Function, FunctionImpact, Impact, Profiles, Spread, TestImpact};
use std::collections::BTreeMap;

/// Parts no name, so that names are compared as a whole.
const NO_SEPARATOR: &str = "\0";

/// No function of any test has such a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSuch {
    /// What was looked for.
    pub path: String,
    /// Names that may have been meant, the nearest first.
    pub near: Vec<String>,
    /// How many functions there are.
    pub known: usize,
}

impl NoSuch {
    /// What to tell the user.
    pub fn error(&self) -> Error {
        let error = Error::usage(format!("no function that a test calls is named `{}`", self.path));
        if self.known == 0 {
            return error.hint("no function of the workspace was timed: there are no call trees to look in");
        }
        let near: Vec<&str> = self.near.iter().map(String::as_str).collect();
        error.hint(suggest::hint(&near).unwrap_or_else(|| {
            "give its name or the end of its path: `line`, `Parser::line`, `parser::Parser::line`; functions too small to \
             be timed are not known"
                .to_owned()
        }))
    }
}

/// Looks up functions by `path`: a name, or the end of one at a `::` (`line`, `Parser::line`, `parser::Parser::line`); the
/// name of the crate may stand before all.
pub fn impact(profiles: &Profiles, path: &str) -> Result<Impact, NoSuch> {
    let mut found: BTreeMap<&Function, Vec<TestImpact>> = BTreeMap::new();
    let mut others: Vec<&str> = Vec::new();
    for profile in &profiles.tests {
        let whole = profile.total_cost();
        let share = |cost: f64| if whole > 0.0 { (cost / whole).clamp(0.0, 1.0) } else { 0.0 };
        for (function, usage) in usages(profile) {
            if !is_named(function, path) {
                others.push(&function.name);
                continue;
            }
            found.entry(function).or_default().push(TestImpact {
                test: profile.test.clone(),
                self_share: share(usage.self_cost),
                children_share: share(usage.total_cost - usage.self_cost),
                cost: usage.total_cost,
                calls: usage.calls,
            });
        }
    }
    if found.is_empty() {
        return Err(no_such(path, others));
    }
    let engine = profiles.engine;
    Ok(Impact {
        engine,
        functions: found.into_iter().map(|(function, tests)| function_impact(function, tests)).collect(),
    })
}

fn function_impact(function: &Function, mut tests: Vec<TestImpact>) -> FunctionImpact {
    let share = |test: &TestImpact| test.self_share + test.children_share;
    tests.sort_by(|a, b| share(b).total_cmp(&share(a)).then_with(|| a.test.cmp(&b.test)));
    let times: Vec<f64> = tests.iter().map(|test| test.cost).collect();
    FunctionImpact { function: function.clone(), cost: Spread::of(&times), tests }
}

/// Whether a path names the function.
pub fn is_named(function: &Function, path: &str) -> bool {
    let krate = function.package.replace('-', "_");
    ends_with(&function.name, path) || ends_with(&format!("{krate}::{}", function.name), path)
}

/// Whether a path is a name, or the end of one at a `::`.
pub fn ends_with(name: &str, path: &str) -> bool {
    name.strip_suffix(path).is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
}

fn no_such(path: &str, mut known: Vec<&str>) -> NoSuch {
    known.sort_unstable();
    known.dedup();
    // As many parts as were given tell more than the last of them.
    let parts = path.split("::").count();
    let is_like = |name: &&str| !near(path, [end(name, parts)], NO_SEPARATOR).is_empty();
    let like: Vec<&str> = known.iter().copied().filter(is_like).collect();
    let candidates = if like.is_empty() { &known } else { &like };
    let near = near(path, candidates.iter().copied(), "::").into_iter().map(str::to_owned).collect();
    NoSuch { path: path.to_owned(), near, known: known.len() }
}

/// The last parts of a name.
fn end(name: &str, parts: usize) -> &str {
    name.rmatch_indices("::").nth(parts.saturating_sub(1)).map_or(name, |(at, _)| &name[at + 2..])
}

#[cfg(test)]
mod tests {
    use super::super::usage::tests::{profile, timed};
    use super::*;

    fn profiles() -> Profiles {
        timed([
            profile("small", 10.0, "Parser::line 1 30, Parser::line>Parser::word 4 60"),
            profile("large", 500.0, "Parser::word 10 500, lexer::Lexer::line 1 0"),
            profile("other", 1.0, "lexer::Lexer::next 1 5"),
        ])
    }

    #[test]
    fn a_function_is_found_with_the_tests_that_it_matters_to() {
        let found = impact(&profiles(), "Parser::word").unwrap();
        let [word] = &found.functions[..] else { panic!("{found:?}") };
        let tests: Vec<_> = word
            .tests
            .iter()
            .map(|test| (&*test.test.name, test.self_share, test.children_share, test.calls))
            .collect();
        assert_eq!(tests, [("small", 0.6, 0.0, 4.0), ("large", 0.5, 0.0, 10.0)]);
        assert_eq!(word.cost, Spread { max: 500.0, mean: 280.0, min: 60.0 });
    }

    #[test]
    fn what_it_calls_is_told_apart_from_itself() {
        let found = impact(&profiles(), "Parser::line").unwrap();
        let [test] = &found.functions[0].tests[..] else { panic!("{found:?}") };
        assert_eq!((test.self_share, test.children_share, test.cost), (0.3, 0.6, 90.0));
    }

    #[test]
    fn several_functions_with_one_path_are_all_told() {
        let names = |path: &str| -> Vec<String> {
            let found = impact(&profiles(), path).unwrap().functions.into_iter();
            found.map(|found| found.function.name).collect()
        };
        assert_eq!(names("line"), ["Parser::line", "lexer::Lexer::line"]);
        assert_eq!(names("Lexer::line"), ["lexer::Lexer::line"]);
        assert_eq!(names("p::lexer::Lexer::line"), ["lexer::Lexer::line"]);
    }

    #[test]
    fn what_is_not_there_gets_proposals() {
        let near = |path: &str| impact(&profiles(), path).unwrap_err().near;
        assert_eq!(near("Parser::lime"), ["Parser::line"]);
        assert_eq!(near("lime"), ["Parser::line", "lexer::Lexer::line"]);
        assert_eq!(near("Lexer"), ["lexer::Lexer::line", "lexer::Lexer::next"]);
        assert_eq!(near("something_else_entirely"), [""; 0]);
        let told = |path: &str| impact(&profiles(), path).unwrap_err().error().to_string();
        assert!(told("Parser::lime").contains("did you mean Parser::line?"), "{}", told("Parser::lime"));
        assert!(told("something_else_entirely").contains("the end of its path"));
        // A part of a name is not its end.
        assert!(impact(&profiles(), "exer::line").is_err());
    }
}
