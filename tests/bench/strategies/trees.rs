//! A crate with a test for each depth of call tree and each effect. All functions of a tree do equal work, except one
//! that does more in head.

use super::{Result, repository};
use fastrand::Rng;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Largest number of functions on a level; it doubles from level to level up to this number.
const WIDTH: usize = 16;

/// One test.
#[derive(Debug, Clone)]
pub struct Tree {
    /// Levels of functions below the test.
    pub depth: usize,
    /// Additional work of head in percent.
    pub percent: f64,
    /// Rounds of a loop in one run of the test on base, shared by all functions; about 1.5 ns each.
    pub rounds: usize,
    /// Index of the function with more work.
    pub guilty: usize,
}

impl Tree {
    /// Draws the function with more work.
    pub fn draw(depth: usize, percent: f64, rounds: usize, random: &mut Rng) -> Self {
        Self { depth, percent, rounds, guilty: random.usize(..levels(depth).iter().sum::<usize>()) }
    }

    /// Returns the name of its module and file.
    pub fn module(&self) -> String {
        format!("depth_{}_effect_{}", self.depth, self.percent.to_string().replace('.', "_"))
    }

    /// Returns the module's file in the repository.
    pub fn path(&self) -> String {
        format!("src/{}.rs", self.module())
    }

    /// Returns the name of its test.
    pub fn test(&self) -> String {
        format!("{}::tests::tree", self.module())
    }

    /// Returns the number of functions.
    pub fn functions(&self) -> usize {
        levels(self.depth).iter().sum()
    }

    /// Returns the line of the responsible function's name in head, from 1.
    pub fn guilty_line(&self) -> Result<usize> {
        let start = format!("pub fn function_{}(", self.guilty);
        let line = self.text(self.percent)?.lines().position(|line| line.starts_with(&start));
        line.map(|line| line + 1).ok_or_else(|| "a function is missing".into())
    }

    /// Returns the module's text with this many percent more work in the responsible function.
    fn text(&self, percent: f64) -> Result<String> {
        let rounds = self.rounds / self.functions();
        let mut text = "//! A call tree.\n\nuse std::hint::black_box;\n".to_owned();
        for (function, callees) in callees(&levels(self.depth)).iter().enumerate() {
            let more = if function == self.guilty { self.rounds as f64 * percent / 100.0 } else { 0.0 };
            write!(
                text,
                "
#[inline(never)]
pub fn function_{function}(seed: u64) -> u64 {{
    let mut state = black_box(seed) ^ {function};
    let mut round = 0;
    while round < black_box({}) {{
        state = state.wrapping_mul(6364136223846793005) ^ (state >> 7);
        round += 1;
    }}
",
                rounds + more.round() as usize
            )?;
            for callee in callees {
                writeln!(text, "    state ^= function_{callee}(state);")?;
            }
            text += "    state\n}\n";
        }
        text += "
#[cfg(test)]
mod tests {
    #[test]
    fn tree() {
        assert_ne!(super::function_0(std::hint::black_box(1)), 0);
    }
}
";
        Ok(text)
    }
}

/// Returns the number of functions on each level.
fn levels(depth: usize) -> Vec<usize> {
    (0..depth).map(|level| WIDTH.min(1 << level)).collect()
}

/// Returns the callees of each function: functions of the next level are distributed among those of this level.
fn callees(levels: &[usize]) -> Vec<Vec<usize>> {
    let mut callees = vec![Vec::new(); levels.iter().sum()];
    let mut before = 0;
    for pair in levels.windows(2) {
        for place in 0..pair[1] {
            callees[before + place * pair[0] / pair[1]].push(before + pair[0] + place);
        }
        before += pair[0];
    }
    callees
}

/// Writes base as a commit and head as uncommitted changes.
pub fn write(work: &Path, trees: &[Tree]) -> Result<PathBuf> {
    let manifest = "[package]\nname = \"trees\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let mut library = "//! Call trees.\n\n".to_owned();
    for tree in trees {
        writeln!(library, "pub mod {};", tree.module())?;
    }
    let mut files = vec![
        (".gitignore".to_owned(), "/target\n/Cargo.lock\n".to_owned()),
        ("Cargo.toml".to_owned(), manifest.to_owned()),
        ("src/lib.rs".to_owned(), library),
    ];
    for tree in trees {
        files.push((tree.path(), tree.text(0.0)?));
    }
    let borrowed = files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    let folder = repository::write(&work.join("trees"), borrowed)?;
    for tree in trees {
        std::fs::write(folder.join(tree.path()), tree.text(tree.percent)?)?;
    }
    Ok(folder)
}
