//! How much slower one version is at least, where single calls decided.

use super::Sides;
use serde::{Deserialize, Serialize};

/// What single calls in random order showed of a test whose one version is slower by far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Each call of the slower version took at least so many times as long as the longest call of the other one.
    #[serde(deserialize_with = "super::float::one")]
    pub ratio: f64,
    /// After this time calls of the slower version were stopped, ns; `None` if all of them ended.
    pub limit_ns: Option<f64>,
    /// Calls of each version.
    pub calls: Sides<usize>,
}
