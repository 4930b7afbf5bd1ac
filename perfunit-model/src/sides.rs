//! Base and head: the two compared versions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the two versions.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, strum::Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Side {
    /// The version compared against.
    Base,
    /// The version under test.
    Head,
}

impl Side {
    /// Both sides, base first, which is the order of builds and reports.
    pub const BOTH: [Side; 2] = [Side::Base, Side::Head];

    #[must_use]
    pub fn other(self) -> Side {
        match self {
            Side::Base => Side::Head,
            Side::Head => Side::Base,
        }
    }

    /// Returns the index in arrays by side: base 0, head 1.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// Versions on which a test does not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailedOn {
    /// Only base.
    Base,
    /// Only head.
    Head,
    /// Both versions, or alternately one of them.
    Both,
}

impl FailedOn {
    pub fn includes(self, side: Side) -> bool {
        self == FailedOn::Both || self.only() == Some(side)
    }

    /// Returns the side, if the test passes on the other one.
    pub fn only(self) -> Option<Side> {
        match self {
            FailedOn::Base => Some(Side::Base),
            FailedOn::Head => Some(Side::Head),
            FailedOn::Both => None,
        }
    }
}

impl From<Side> for FailedOn {
    fn from(side: Side) -> Self {
        match side {
            Side::Base => FailedOn::Base,
            Side::Head => FailedOn::Head,
        }
    }
}

/// A value for each version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sides<T> {
    /// The value for the version compared against.
    pub base: T,
    /// The value for the version under test.
    pub head: T,
}

impl<T> Sides<T> {
    /// Returns the value of one side.
    pub fn get(&self, side: Side) -> &T {
        match side {
            Side::Base => &self.base,
            Side::Head => &self.head,
        }
    }

    /// Returns the value of one side for changing it.
    pub fn get_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Base => &mut self.base,
            Side::Head => &mut self.head,
        }
    }

    pub fn as_ref(&self) -> Sides<&T> {
        Sides { base: &self.base, head: &self.head }
    }

    /// Applies `f` to base, then to head.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> Sides<U> {
        Sides { base: f(self.base), head: f(self.head) }
    }

    /// Applies `f` to base and, if that succeeds, to head.
    pub fn try_map<U, E>(self, mut f: impl FnMut(Side, T) -> Result<U, E>) -> Result<Sides<U>, E> {
        Ok(Sides { base: f(Side::Base, self.base)?, head: f(Side::Head, self.head)? })
    }
}
