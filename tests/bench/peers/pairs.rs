//! Two versions with a known difference.

use super::Result;
use super::project::{OPERATIONS, Version};
use clap::ValueEnum;
use perfunit_model::Threshold;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Base and a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// Number of operations of head.
    pub operations: u32,
    /// Placement of head's code.
    pub code: Code,
}

/// Placement of head's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
pub enum Code {
    /// The same as in base; equal versions have a single executable.
    InPlace,
    /// Elsewhere, because an unrelated function grew.
    Moved,
}

impl Pair {
    /// Returns every effect, in percent, with every placement.
    pub fn all(effects: &[f64], codes: &[Code]) -> Result<Vec<Self>> {
        let mut pairs = Vec::new();
        for effect in effects {
            let operations = (f64::from(OPERATIONS) * (1.0 + effect / 100.0)).round() as u32;
            if operations < OPERATIONS || (operations == OPERATIONS && *effect > 0.0) {
                return Err(format!("{effect} % is less than one operation of {OPERATIONS}").into());
            }
            pairs.extend(codes.iter().map(|code| Self { operations, code: *code }));
        }
        Ok(pairs)
    }

    /// Returns the additional operations of head as a fraction of base.
    pub fn effect(self) -> f64 {
        f64::from(self.operations) / f64::from(OPERATIONS) - 1.0
    }

    /// Returns a threshold suitable for this effect: half of it, but at most the tool's default.
    pub fn threshold(self) -> f64 {
        (self.effect() / 2.0).min(Threshold::default().fraction())
    }

    /// Returns head for a repetition; moved code has another placement each time.
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
