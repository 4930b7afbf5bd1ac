//! What a benchmark works through in a run, as it says itself.

use super::Sides;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Of what it is an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorkUnit {
    Bytes,
    Elements,
    Chars,
    Bits,
    Cycles,
}

/// The amount of a run on each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throughput {
    pub unit: WorkUnit,
    pub amount: Sides<u64>,
}

impl Throughput {
    /// If both sides say an amount of the same.
    pub fn of(work: Sides<Option<(WorkUnit, u64)>>) -> Option<Self> {
        let ((unit, base), (of_head, head)) = (work.base?, work.head?);
        (unit == of_head).then_some(Self { unit, amount: Sides { base, head } })
    }

    /// Where a run takes so many ns.
    pub fn per_second(&self, ns: Sides<f64>) -> Sides<f64> {
        let of = |amount: u64, ns: f64| amount as f64 * 1e9 / ns;
        Sides { base: of(self.amount.base, ns.base), head: of(self.amount.head, ns.head) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_different_units_are_not_compared() {
        let of = |unit| Throughput::of(Sides { base: Some((WorkUnit::Bytes, 10)), head: unit });
        assert_eq!(of(Some((WorkUnit::Chars, 10))), None);
        assert_eq!(of(None), None);
        let found = of(Some((WorkUnit::Bytes, 20))).unwrap();
        assert_eq!(found.per_second(Sides { base: 5.0, head: 5.0 }), Sides { base: 2e9, head: 4e9 });
    }
}
