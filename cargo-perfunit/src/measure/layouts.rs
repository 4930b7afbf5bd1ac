//! Executables of a target with their functions in other places, linked on demand, one layout for each pair.
//!
//! The same machine code at other addresses can take another time, and no number of pairs shows that: all of them see
//! the same addresses. So what was flagged is measured again with an order of the functions drawn anew for each pair
//! and each side. What the place does then is noise like any other, and the interval over pairs tells of it.

use super::bench::Bench;
use crate::build::{TestExecutable, shuffled};
use crate::error::Result;
use crate::fs;
use crate::model::{Side, Sides, TargetId};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Most layouts of a target: each is a pair's, and more would cost more than the answer is worth.
pub const MOST: usize = 32;

/// The layouts of one target at a time: tests come sorted by target, and executables are large.
pub struct Layouts {
    folder: PathBuf,
    target: Option<TargetId>,
    made: Vec<Sides<TestExecutable>>,
    seed: u32,
    /// Time spent on linking; it is no test's.
    pub took: Duration,
}

impl Layouts {
    /// No layouts yet.
    pub fn new(bench: &Bench, seed: u32) -> Self {
        Self { folder: bench.layouts(), target: None, made: Vec::new(), seed, took: Duration::ZERO }
    }

    /// Readies the first layout of a target. False if its linker cannot make any.
    pub fn begin(&mut self, executables: Sides<&TestExecutable>) -> Result<bool> {
        let target = &executables.head.target;
        if self.target.as_ref() != Some(target) {
            fs::remove_dir_all(&self.folder)?;
            self.made.clear();
            self.target = Some(target.clone());
        }
        Ok(self.get(executables, 0)?.is_some())
    }

    /// The layout of the pair with this number, made if it is not there.
    pub fn get(&mut self, executables: Sides<&TestExecutable>, pair: usize) -> Result<Option<Sides<&TestExecutable>>> {
        while self.made.len() <= pair {
            let number = self.made.len();
            let started = Instant::now();
            let made = executables.try_map(|side, executable| self.link(executable, side, number))?;
            self.took += started.elapsed();
            let (Some(base), Some(head)) = (made.base, made.head) else { return Ok(None) };
            self.made.push(Sides { base, head });
        }
        Ok(self.made.get(pair).map(Sides::as_ref))
    }

    fn link(&self, executable: &TestExecutable, side: Side, number: usize) -> Result<Option<TestExecutable>> {
        let Some(link) = &executable.link else { return Ok(None) };
        // Paths of equal length: they are on the stack of the process.
        let path = self.folder.join(side.to_string()).join("deps").join(format!("layout-{number:02}"));
        let seed = self.seed.wrapping_add((number * 2 + side.index()) as u32);
        Ok(shuffled(link, seed, &path)?.then(|| TestExecutable { path, ..executable.clone() }))
    }
}
