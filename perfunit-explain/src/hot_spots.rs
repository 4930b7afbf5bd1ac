//! Summaries over the call trees of all tests (Zhou and Li, "Distance-based root cause analysis and change impact
//! analysis of performance regressions"): functions by rank, the merged tree, and the tests that a function affects.

use perfunit_model::error::Error;
use perfunit_model::suggest::{self, near};
use perfunit_model::{
    Forest, ForestNode, Function, FunctionImpact, Impact, Profile, Profiles, Ranked, Score, Spread, TestImpact,
};
use std::collections::BTreeMap;

/// Merges the trees of all tests; without trees the forest has no nodes.
pub fn forest(profiles: &Profiles) -> Forest {
    let mut grown = Grown::default();
    grown.forest.engine = profiles.engine;
    for profile in &profiles.tests {
        grown.add(profile);
    }
    let Grown { mut forest, .. } = grown;
    let whole = forest.nodes.first().map_or(0.0, |root| root.total_cost);
    let totals: Vec<f64> = forest.nodes.iter().map(|node| node.total_cost).collect();
    for node in &mut forest.nodes {
        node.share = if whole > 0.0 { node.total_cost / whole } else { 0.0 };
        node.children.sort_by(|a, b| totals[*b].total_cmp(&totals[*a]));
    }
    forest
}

/// A forest under construction, with indices of its nodes.
#[derive(Default)]
struct Grown<'a> {
    forest: Forest,
    functions: BTreeMap<&'a Function, usize>,
    places: BTreeMap<(Option<usize>, Option<usize>), usize>,
}

impl<'a> Grown<'a> {
    fn add(&mut self, profile: &'a Profile) {
        let mut places = vec![0; profile.nodes.len()];
        for (index, caller) in profile.walk() {
            let node = &profile.nodes[index];
            let function = node.function.map(|function| self.function(&profile.functions[function]));
            let place = self.place(caller.map(|caller| places[caller]), function);
            places[index] = place;
            let merged = &mut self.forest.nodes[place];
            merged.calls += node.calls;
            merged.self_cost += node.self_cost;
            merged.total_cost += node.total_cost;
        }
        // Two threads may have the same path.
        places.sort_unstable();
        places.dedup();
        for place in places {
            self.forest.nodes[place].tests += 1;
        }
    }

    fn function(&mut self, function: &'a Function) -> usize {
        *self.functions.entry(function).or_insert_with(|| {
            self.forest.functions.push(function.clone());
            self.forest.functions.len() - 1
        })
    }

    fn place(&mut self, caller: Option<usize>, function: Option<usize>) -> usize {
        if let Some(place) = self.places.get(&(caller, function)) {
            return *place;
        }
        let place = self.forest.nodes.len();
        let node = ForestNode {
            function,
            tests: 0,
            calls: 0.0,
            self_cost: 0.0,
            total_cost: 0.0,
            share: 0.0,
            children: Vec::new(),
        };
        self.forest.nodes.push(node);
        self.places.insert((caller, function), place);
        if let Some(caller) = caller {
            self.forest.nodes[caller].children.push(place);
        }
        place
    }
}

/// Separator that occurs in no name, so that names are compared as a whole.
const NO_SEPARATOR: &str = "\0";

/// Error: no function of any test has this path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSuch {
    /// The requested path.
    pub path: String,
    /// Similar names, best first.
    pub near: Vec<String>,
    /// Number of known functions.
    pub known: usize,
}

impl NoSuch {
    /// Returns the error for the user.
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

/// Looks up functions by `path`: a name, or the end of a path at a `::` (`line`, `Parser::line`,
/// `parser::Parser::line`), optionally with the crate's name in front.
pub fn impact(profiles: &Profiles, path: &str) -> Result<Impact, NoSuch> {
    let mut found: BTreeMap<&Function, Vec<TestImpact>> = BTreeMap::new();
    let mut others: Vec<&str> = Vec::new();
    for profile in &profiles.tests {
        let whole = profile.total_cost();
        let share = |cost: f64| if whole > 0.0 { (cost / whole).clamp(0.0, 1.0) } else { 0.0 };
        for (function, usage) in usages(profile) {
            if !function.is_named(path) {
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

fn no_such(path: &str, mut known: Vec<&str>) -> NoSuch {
    known.sort_unstable();
    known.dedup();
    // As many segments as were typed are more specific than the last one.
    let parts = path.split("::").count();
    let is_like = |name: &&str| !near(path, [end(name, parts)], NO_SEPARATOR).is_empty();
    let like: Vec<&str> = known.iter().copied().filter(is_like).collect();
    let candidates = if like.is_empty() { &known } else { &like };
    let near = near(path, candidates.iter().copied(), "::").into_iter().map(str::to_owned).collect();
    NoSuch { path: path.to_owned(), near, known: known.len() }
}

/// Returns the last segments of a name.
fn end(name: &str, parts: usize) -> &str {
    name.rmatch_indices("::").nth(parts.saturating_sub(1)).map_or(name, |(at, _)| &name[at + 2..])
}

/// Returns the functions, highest score first.
pub fn ranking(profiles: &Profiles) -> Vec<Ranked> {
    let mut found: BTreeMap<&Function, Vec<(f64, f64)>> = BTreeMap::new();
    for profile in &profiles.tests {
        let whole = profile.total_cost();
        for (function, usage) in usages(profile) {
            let share = if whole > 0.0 { usage.self_cost / whole } else { 0.0 };
            found.entry(function).or_default().push((share, usage.self_cost));
        }
    }
    let ranked = found.into_iter().filter_map(|(function, used)| {
        let (shares, times): (Vec<f64>, Vec<f64>) = used.into_iter().unzip();
        let (score, self_cost) = (score(&shares)?, Spread::of(&times));
        Some(Ranked { function: function.clone(), score, self_cost, tests: times.len() })
    });
    let mut ranked: Vec<Ranked> = ranked.collect();
    ranked.sort_by(|a, b| b.score.value.total_cmp(&a.score.value));
    ranked
}

/// The weight f of the deviation.
const WEIGHT: f64 = 1.0;

/// Returns the score of one function from its shares (0..=1) of the time of the tests that call it; `None` without
/// tests.
pub fn score(shares: &[f64]) -> Option<Score> {
    if shares.is_empty() {
        return None;
    }
    let count = shares.len() as f64;
    let mean = shares.iter().sum::<f64>() / count;
    let distance = (shares.iter().map(|share| share * share).sum::<f64>() / count).sqrt();
    let deviation = (shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / count).sqrt();
    Some(Score { distance, deviation, value: distance - WEIGHT * deviation })
}

/// Cost of a function in one test, per run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Usage {
    /// Number of calls.
    pub calls: f64,
    /// Self time.
    pub self_cost: f64,
    /// Total time; for recursion, that of the outer call.
    pub total_cost: f64,
}

/// Returns the cost by function.
pub(super) fn usages(profile: &Profile) -> BTreeMap<&Function, Usage> {
    let mut found: BTreeMap<&Function, Usage> = BTreeMap::new();
    let mut callers = vec![None; profile.nodes.len()];
    for (index, caller) in profile.walk() {
        callers[index] = caller;
        let node = &profile.nodes[index];
        let Some(function) = node.function else { continue };
        let usage = found.entry(&profile.functions[function]).or_default();
        usage.calls += node.calls;
        usage.self_cost += node.self_cost;
        if !is_inside_itself(profile, &callers, index) {
            usage.total_cost += node.total_cost;
        }
    }
    found
}

/// Returns whether the node's function is also on the path to the node.
fn is_inside_itself(profile: &Profile, callers: &[Option<usize>], index: usize) -> bool {
    let function = profile.nodes[index].function;
    std::iter::successors(callers[index], |caller| callers[*caller])
        .any(|above| profile.nodes[above].function == function)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::{Engine, ProfileNode, Profiles, TargetId, TargetKind, TestId};

    #[test]
    fn equal_ways_of_all_tests_are_one_node() {
        let merged = forest(&profiles_by_time([
            profile("1", 10.0, "a 1 20, a>b 2 30"),
            profile("2", 0.0, "b 1 10, a 1 10, a>b 1 10, a>c 1 10"),
        ]));
        let told = |node: &ForestNode| {
            let name = node.function.map_or("", |function| merged.functions[function].name.as_str());
            (name.to_owned(), node.tests, node.total_cost, node.calls)
        };
        let children = |index: usize| -> Vec<_> {
            merged.nodes[index].children.iter().map(|child| told(&merged.nodes[*child])).collect()
        };
        assert_eq!(told(&merged.nodes[0]), (String::new(), 2, 100.0, 0.0));
        assert_eq!(children(0), [("a".to_owned(), 2, 80.0, 2.0), ("b".to_owned(), 1, 10.0, 1.0)]);
        let a = merged.nodes[0].children[0];
        assert_eq!(children(a), [("b".to_owned(), 2, 40.0, 3.0), ("c".to_owned(), 1, 10.0, 1.0)]);
        assert!((merged.nodes[a].share - 0.8).abs() < 1e-9);
    }

    #[test]
    fn nothing_makes_no_tree() {
        assert_eq!(forest(&profiles_by_time([])), Forest::default());
    }

    fn profiles() -> Profiles {
        profiles_by_time([
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

    #[test]
    fn the_shares_of_the_papers_example_rank_as_there() {
        // Shares of 0.9, 0.2, 0.2 and of 0.6, 0.5, 0.5: even shares rank higher than uneven ones.
        let profiles = profiles_by_time([
            profile("1", 0.0, "uneven 1 90, rest 1 10"),
            profile("2", 0.0, "uneven 1 20, rest 1 80"),
            profile("3", 0.0, "uneven 1 20, rest 1 80"),
            profile("4", 0.0, "even 1 600, other 1 400"),
            profile("5", 0.0, "even 1 5, other 1 5"),
            profile("6", 0.0, "even 1 5, other 1 5"),
        ]);
        let ranked = ranking(&profiles);
        let place = |name: &str| ranked.iter().position(|ranked| ranked.function.name == name).unwrap();
        assert!(place("even") < place("uneven"));
        let even = &ranked[place("even")];
        assert!((even.score.distance - 0.535).abs() < 5e-4 && (even.score.deviation - 0.047).abs() < 5e-4);
        assert_eq!((even.tests, even.self_cost.max, even.self_cost.min), (3, 600.0, 5.0));
    }

    #[test]
    fn only_tests_that_call_it_count() {
        let profiles = profiles_by_time([profile("1", 50.0, "a 1 50"), profile("2", 50.0, "b 1 50")]);
        assert_eq!(ranking(&profiles).iter().map(|ranked| ranked.tests).collect::<Vec<_>>(), [1, 1]);
    }

    #[track_caller]
    fn check(shares: &[f64], distance: f64, deviation: f64) {
        let found = score(shares).unwrap();
        assert!((found.distance - distance).abs() < 5e-4, "{found:?}");
        assert!((found.deviation - deviation).abs() < 1.5e-3, "{found:?}");
    }

    #[test]
    fn the_worked_examples_of_the_paper() {
        check(&[0.9, 0.2, 0.2], 0.545, 0.329);
        check(&[0.6, 0.5, 0.5], 0.535, 0.047);
        // As plain Euclidean distances 1.39 and 0.86.
        let plain = |shares: &[f64]| score(shares).unwrap().distance * (shares.len() as f64).sqrt();
        assert!((plain(&[0.9, 0.8, 0.7]) - 1.39).abs() < 5e-3 && (plain(&[0.3, 0.4, 0.7]) - 0.86).abs() < 5e-3);
    }

    #[test]
    fn an_even_share_ranks_before_an_uneven_one() {
        let rank = |shares: &[f64]| score(shares).unwrap().value;
        assert!(rank(&[0.6, 0.5, 0.5]) > rank(&[0.9, 0.2, 0.2]));
    }

    #[test]
    fn nobody_ranks_what_no_test_calls() {
        assert_eq!(score(&[]), None);
    }

    pub fn profiles_by_time<const N: usize>(tests: [Profile; N]) -> Profiles {
        Profiles { engine: Engine::Probes, tests: tests.into() }
    }

    /// A function `a::b` of `src/a.rs`, with the length of its name as its line.
    pub fn function(name: &str) -> Function {
        Function { package: "p".into(), file: "src/a.rs".into(), line: name.len(), name: name.into() }
    }

    /// Parses a profile: `a 2 10, a>b 4 5` is 2 calls that take 10 ns together, and so on. Paths are written out,
    /// callers first; the test itself takes `own` ns.
    pub fn profile(test: &str, own: f64, tree: &str) -> Profile {
        let mut ways = vec![String::new()];
        let mut functions: Vec<Function> = Vec::new();
        let node =
            |function, calls, self_cost| ProfileNode { function, calls, self_cost, total_cost: 0.0, children: vec![] };
        let mut nodes = vec![node(None, 0.0, own)];
        for entry in tree.split(", ").filter(|entry| !entry.is_empty()) {
            let [way, calls, ns] = entry.split(' ').collect::<Vec<_>>()[..] else { panic!("{entry}") };
            let (caller, name) = way.rsplit_once('>').unwrap_or(("", way));
            let caller = ways.iter().position(|known| known == caller).unwrap();
            let function = function(name);
            let place = functions.iter().position(|known| *known == function).unwrap_or_else(|| {
                functions.push(function);
                functions.len() - 1
            });
            let index = nodes.len();
            nodes[caller].children.push(index);
            nodes.push(node(Some(place), calls.parse().unwrap(), ns.parse().unwrap()));
            ways.push(way.to_owned());
        }
        let target = TargetId { package: "p".into(), kind: TargetKind::Lib, name: "p".into() };
        let mut profile = Profile { test: TestId { target, name: test.into() }, functions, nodes };
        for index in (0..profile.nodes.len()).rev() {
            let below: f64 = profile.nodes[index].children.iter().map(|child| profile.nodes[*child].total_cost).sum();
            profile.nodes[index].total_cost = profile.nodes[index].self_cost + below;
        }
        profile
    }

    #[test]
    fn places_add_up_and_recursion_does_not_count_twice() {
        let profile = profile("t", 1.0, "a 1 10, a>b 2 5, a>b>a 3 2, b 1 4");
        let found: Vec<_> = usages(&profile).into_iter().map(|(function, usage)| (&*function.name, usage)).collect();
        let a = Usage { calls: 4.0, self_cost: 12.0, total_cost: 17.0 };
        let b = Usage { calls: 3.0, self_cost: 9.0, total_cost: 11.0 };
        assert_eq!(found, [("a", a), ("b", b)]);
        assert!((profile.total_cost() - 22.0).abs() < 1e-9);
    }
}
