//! Typical work of tests: maps, sorting, parsing.

use std::collections::{BTreeMap, HashMap};

const OPERATIONS: u64 = 300;

const TEXTS: [&str; 8] = ["1", "22", "333", "4444", "55555", "666666", "7777777", "88888888"];

/// Returns a value that depends on all of the work.
pub fn mix() -> u64 {
    let (mut ordered, mut counted, mut sorted) = (BTreeMap::new(), HashMap::new(), Vec::new());
    let mut state = std::hint::black_box(1_u64);
    for number in 0..std::hint::black_box(OPERATIONS) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let key = state >> 48;
        let parsed: u64 = TEXTS[(key % 8) as usize].parse().unwrap_or(0);
        ordered.insert(key, number);
        *counted.entry(key % 64).or_insert(0_u64) += parsed;
        sorted.push(key ^ parsed);
    }
    sorted.sort_unstable();
    let highest = ordered.range(1000..).map(|(key, number)| key ^ number).max().unwrap_or(0);
    highest ^ counted.values().sum::<u64>() ^ sorted[sorted.len() / 2]
}

#[cfg(test)]
mod tests {
    #[test]
    fn mixes() {
        assert_ne!(super::mix(), 0);
    }
}
