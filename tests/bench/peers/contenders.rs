//! The tools in the comparison. All of them measure a pair before the next one.

use super::kept;
use super::pairs::Pair;
use super::program::Said;
use super::project::{Built, Project};
use super::rows::{Key, Row};
use super::tango::Design;
use super::tool::Tool;
use super::{Result, criterion, divan, ours, pinned, tango};
use perfunit_model::Threshold;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::time::Instant;

/// A tool with its settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Contender {
    /// Criterion with its defaults.
    Criterion,
    /// Divan.
    Divan(Time),
    /// Tango, in the version with this design.
    Tango(Design, Time),
    /// This tool with a threshold, as a fraction. It measures until it reaches a decision, so each threshold needs
    /// another run.
    Ours(f64),
}

/// Time of measurement per workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Time {
    /// The tool's default.
    Default,
    /// A second for each version.
    Second,
}

/// Data shared by all pairs.
pub struct Contest {
    /// The measured project.
    pub project: Project,
    /// This tool.
    pub tool: Tool,
    /// Core on which to measure.
    pub core: Option<usize>,
    /// Folder for criterion.
    pub scratch: PathBuf,
    /// File of the rows.
    pub rows: PathBuf,
}

impl Contender {
    /// Returns all tools that measure this pair. Equal versions are measured with the thresholds of all effects.
    pub fn all(pair: Pair, pairs: &[Pair]) -> Vec<Self> {
        let mut thresholds: Vec<f64> = match pair.effect() {
            0.0 => pairs.iter().map(|pair| pair.threshold()).filter(|threshold| *threshold > 0.0).collect(),
            _ => vec![pair.threshold()],
        };
        thresholds.push(Threshold::default().fraction());
        thresholds.sort_by(f64::total_cmp);
        thresholds.dedup();
        let peers = [Time::Default, Time::Second].map(|time| {
            [Self::Divan(time), Self::Tango(Design::OneProcess, time), Self::Tango(Design::TwoProcesses, time)]
        });
        let ours = thresholds.into_iter().map(Self::Ours);
        [Self::Criterion].into_iter().chain(peers.concat()).chain(ours).collect()
    }

    /// Returns the dependency and the beginning of its version; `None` for this tool.
    pub fn package(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Criterion => Some(("criterion", "")),
            Self::Divan(_) => Some(("divan", "")),
            Self::Tango(Design::OneProcess, _) => Some(("tango-bench", "0.7.")),
            Self::Tango(Design::TwoProcesses, _) => Some(("tango-bench", "0.9.")),
            Self::Ours(_) => None,
        }
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Criterion => f.write_str("criterion"),
            Self::Divan(time) => write!(f, "divan{time}"),
            Self::Tango(Design::OneProcess, time) => write!(f, "tango 0.7{time}"),
            Self::Tango(Design::TwoProcesses, time) => write!(f, "tango{time}"),
            Self::Ours(threshold) => write!(f, "cargo perfunit, {:.2} %", 100.0 * threshold),
        }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "",
            Self::Second => ", 1 s",
        })
    }
}

impl Contest {
    /// Measures a pair with all tools; known results are not measured again.
    pub fn measure(&self, pair: Pair, repeat: usize, pairs: &[Pair]) -> Result<Vec<Row>> {
        let known = kept::known(&self.rows, |_: &Row| true)?;
        let mut built = None;
        let mut made = Vec::new();
        for contender in Contender::all(pair, pairs) {
            let key = Key {
                pair,
                project: self.project.key.clone(),
                repeat,
                contender,
                version: self.version(contender)?,
                core: self.core,
            };
            let row = if let Some(row) = known.iter().find(|row| row.key == key) {
                row.clone()
            } else {
                let built = match &built {
                    Some(built) => built,
                    None => built.insert(self.project.build(pair.head(repeat))?),
                };
                let row = self.row(key, built)?;
                kept::keep(&self.rows, &row)?;
                row
            };
            println!("{row}");
            made.push(row);
        }
        Ok(made)
    }

    fn version(&self, contender: Contender) -> Result<String> {
        let Some((package, beginning)) = contender.package() else { return Ok(self.tool.key.clone()) };
        let version = self.project.version(package, beginning);
        version.ok_or_else(|| format!("{package} {beginning} is not in the lock file").into())
    }

    fn row(&self, key: Key, built: &Built) -> Result<Row> {
        let tree = &self.project.tree;
        // The two processes spin while they wait for each other, which on one core takes whole time slices.
        let needs_two = matches!(key.contender, Contender::Tango(Design::TwoProcesses, _));
        let core = if needs_two { None } else { self.core };
        pinned::to(core, || {
            if let Contender::Ours(threshold) = key.contender {
                let ours::Measured { said, seconds, before } = ours::measure(&self.tool, tree, threshold)?;
                return Ok(Row { key, said, seconds, build_seconds: before });
            }
            let started = Instant::now();
            let said = self.peer(key.contender, built)?;
            Ok(Row { key, said, seconds: started.elapsed().as_secs_f64(), build_seconds: built.seconds })
        })
    }

    fn peer(&self, contender: Contender, Built { executables, .. }: &Built) -> Result<Vec<Said>> {
        let tree = &self.project.tree;
        // The folder in which cargo starts benchmarks.
        let folder = tree.join("peers");
        match contender {
            Contender::Criterion => criterion::measure(executables, &folder, &self.scratch),
            Contender::Divan(Time::Default) => divan::measure(executables, &folder, &[]),
            Contender::Divan(Time::Second) => divan::measure(executables, &folder, &["--min-time", "1"]),
            Contender::Tango(design, Time::Default) => tango::measure(executables, tree, design, &[]),
            Contender::Tango(design, Time::Second) => tango::measure(executables, tree, design, &["--time", "1"]),
            Contender::Ours(_) => Err("this tool is not its own peer".into()),
        }
    }
}
