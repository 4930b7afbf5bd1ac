//! Draws random injections of each kind.

use super::edits::Place;
use super::functions::{Call, Changes, Function, functions};
use super::injection::{Guilty, Injection, Kind};
use super::sources::Sources;
use super::spin;
use super::vendored::Vendored;
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Number of additional calls of a helper: enough to be detected, and few enough for a test.
const MORE_CALLS: std::ops::RangeInclusive<u32> = 2..=9;

/// Rounds of about a nanosecond for a leaf: at most as long as a probe, and mostly shorter.
const LEAF_ROUNDS: std::ops::RangeInclusive<u32> = 2..=16;

/// Functions and files from which injections are drawn.
pub struct Pool {
    /// Functions of the workspace.
    pub functions: Vec<Function>,
    /// Contents of its files by path.
    pub texts: BTreeMap<String, String>,
    /// Path dependencies.
    pub vendored: Vec<Vendored>,
    /// Times of busy loops, ns.
    pub times: Vec<u64>,
    /// Time of one round of the loop on this machine, ns.
    pub ns_a_round: f64,
}

impl Pool {
    /// Creates the pool without dependencies.
    pub fn new(sources: &Sources, times: Vec<u64>, ns_a_round: f64) -> Self {
        let files: Vec<(&str, &str, Place)> =
            sources.editable().into_iter().filter(|(_, _, place)| *place == Place::Source).collect();
        let functions: Vec<Function> = files.iter().flat_map(|(path, text, _)| functions(path, text)).collect();
        let texts = files.into_iter().map(|(path, text, _)| (path.to_owned(), text.to_owned())).collect();
        Self { functions, texts, vendored: Vec::new(), times, ns_a_round }
    }

    /// Draws at most this many injections of a kind.
    pub fn draw(&self, kind: Kind, most: usize, random: &mut Rng) -> Vec<Injection> {
        let mut found = match kind {
            Kind::Busy => self.busy(random),
            Kind::Leaf => self.leaf(random),
            Kind::Twice | Kind::Oftener => self.calls(kind, random),
            Kind::Dependency => self.dependency(random),
            Kind::Two => self.two(random),
        };
        random.shuffle(&mut found);
        found.truncate(most);
        found
    }

    fn busy(&self, random: &mut Rng) -> Vec<Injection> {
        let injection = |function| {
            let (effect, changes) = self.spinning(function, random);
            Injection::of(Kind::Busy, function, effect, changes)
        };
        self.functions.iter().map(injection).collect()
    }

    /// Draws functions without calls that others call in a loop, and gives them a few rounds.
    fn leaf(&self, random: &mut Rng) -> Vec<Injection> {
        let looped: BTreeSet<&str> = self
            .functions
            .iter()
            .flat_map(|function| &function.calls)
            .filter(|call| call.is_in_loop)
            .map(|call| call.callee.as_str())
            .collect();
        let is_leaf = |function: &&Function| {
            let calls_ours = |call: &Call| self.functions.iter().any(|other| other.name == call.callee);
            looped.contains(function.name.as_str()) && !function.calls.iter().any(calls_ours)
        };
        let injection = |function: &Function| {
            let rounds = random.u32(LEAF_ROUNDS);
            let changes = vec![(function.start..function.start, spin::turns(rounds))];
            Injection::of(Kind::Leaf, function, format!("{rounds} rounds"), changes)
        };
        self.functions.iter().filter(is_leaf).map(injection).collect()
    }

    /// Returns a busy loop of one of the times.
    fn spinning(&self, function: &Function, random: &mut Rng) -> (String, Changes) {
        let ns = self.times[random.usize(..self.times.len())];
        let rounds = (ns as f64 / self.ns_a_round).round().max(1.0) as u64;
        (format!("{ns} ns"), vec![(function.start..function.start, spin::statement(rounds))])
    }

    /// Draws calls of the workspace's functions, which are repeated without using the result.
    fn calls(&self, kind: Kind, random: &mut Rng) -> Vec<Injection> {
        let repeatable = self.repeatable();
        let mut found = Vec::new();
        for function in &self.functions {
            // A function that calls itself twice does so at every depth.
            let is_meant = |call: &&Call| repeatable.contains(call.callee.as_str()) && call.callee != function.name;
            for Call { callee, range, .. } in function.calls.iter().filter(is_meant) {
                let call = &self.texts[&function.path][range.clone()];
                let (effect, again) = match kind {
                    Kind::Oftener => {
                        let times = random.u32(MORE_CALLS);
                        let again = format!(
                            "for _ in 0..core::hint::black_box({times}) {{ let _ = core::hint::black_box({call}); }}"
                        );
                        (format!("{callee} {times} times more"), again)
                    }
                    _ => (format!("{callee} twice"), format!("let _ = core::hint::black_box({call});")),
                };
                let changes = vec![(range.clone(), format!("({{ {again} {call} }})"))];
                found.push(Injection::of(kind, function, effect, changes));
            }
        }
        found
    }

    /// Returns names that, wherever they are defined, only mean functions which can be repeated and are not trivial.
    fn repeatable(&self) -> BTreeSet<&str> {
        let is_not = |function: &&Function| !function.is_repeatable || function.is_trivial;
        let others: BTreeSet<&str> = self.functions.iter().filter(is_not).map(|found| found.name.as_str()).collect();
        self.functions.iter().map(|found| found.name.as_str()).filter(|name| !others.contains(name)).collect()
    }

    /// Draws busy loops in functions of dependencies that the workspace's text names.
    fn dependency(&self, random: &mut Rng) -> Vec<Injection> {
        let mut found = Vec::new();
        for Vendored { name, functions, .. } in &self.vendored {
            for function in functions.iter().filter(|function| self.is_named(&function.name)) {
                let (effect, changes) = self.spinning(function, random);
                let mut injection = Injection::of(Kind::Dependency, function, effect, changes);
                injection.guilty = Guilty::Dependency { name: name.clone() };
                found.push(injection);
            }
        }
        found
    }

    fn is_named(&self, name: &str) -> bool {
        self.texts.values().any(|text| words(text).any(|word| word == name))
    }

    /// Draws pairs of functions in one file, one of which has a variable to rename.
    fn two(&self, random: &mut Rng) -> Vec<Injection> {
        let mut found = Vec::new();
        for function in &self.functions {
            let is_innocent = |other: &&Function| {
                other.path == function.path && other.line != function.line && !other.renames.is_empty()
            };
            let innocents: Vec<&Function> = self.functions.iter().filter(is_innocent).collect();
            let Some(innocent) = random.choice(innocents) else { continue };
            let Some(rename) = random.choice(&innocent.renames) else { continue };
            let (mut effect, mut changes) = self.spinning(function, random);
            // If one function contained the other, it would contain its edit too.
            if rename.iter().any(|(range, _)| range.contains(&function.start)) {
                continue;
            }
            let _ = write!(effect, ", and {} renamed", innocent.name);
            changes.extend(rename.iter().cloned());
            changes.sort_by_key(|(range, _)| range.start);
            found.push(Injection::of(Kind::Two, function, effect, changes));
        }
        found
    }
}

/// Returns names and keywords of a text.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}
