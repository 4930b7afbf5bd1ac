//! Two versions whose difference is known.

use super::Result;
use super::project::{OPERATIONS, Version};
use clap::ValueEnum;
use perfunit_model::Threshold;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Base, and a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// Operations of head.
    pub operations: u32,
    /// Where head's code lies.
    pub code: Code,
}

/// Where head's code lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
pub enum Code {
    /// As in base; of equal versions there is but one executable.
    InPlace,
    /// Elsewhere, because an unrelated function grew.
    Moved,
}

impl Pair {
    /// Every effect, in per cent, with every kind of code.
    pub fn all(effects: &[f64], codes: &[Code]) -> Result<Vec<Self>> {
        let mut pairs = Vec::new();
        for effect in effects {
            let operations = (f64::from(OPERATIONS) * (1.0 + effect / 100.0)).round() as u32;
            if operations < OPERATIONS || (operations == OPERATIONS && *effect > 0.0) {
                return Err(format!("{effect} % is no operation more of {OPERATIONS}").into());
            }
            pairs.extend(codes.iter().map(|code| Self { operations, code: *code }));
        }
        Ok(pairs)
    }

    /// Base has so many operations, and head so many per one more.
    pub fn effect(self) -> f64 {
        f64::from(self.operations) / f64::from(OPERATIONS) - 1.0
    }

    /// The threshold with which one would look for this effect: half of it, or the tool's default.
    pub fn threshold(self) -> f64 {
        (self.effect() / 2.0).min(Threshold::default().fraction())
    }

    /// Head as it is the so manieth time: moved code lies elsewhere each time.
    pub fn head(self, repeat: usize) -> Version {
        let steps = match self.code {
            Code::InPlace => Version::BASE.steps,
            Code::Moved => Version::BASE.steps + 1 + repeat * 19 % 64,
        };
        Version { operations: self.operations, steps }
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:+.2} %, {}", 100.0 * self.effect(), self.code)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InPlace => "in place",
            Self::Moved => "moved",
        })
    }
}
