//! Black-box tests, one file per subcommand, and the rules for the sources.

mod accept;
mod action;
mod arguments;
mod attributes;
mod attribution;
mod bad_input;
mod benches;
mod bisect;
mod book;
mod bound;
mod by_clock;
mod calibrate;
mod causes;
mod ci;
mod clean;
mod config;
mod demo;
mod diff;
mod doctests;
mod doctor;
mod executed;
mod explain;
mod features;
mod filters;
mod functions;
mod generate;
mod harmless;
mod harness;
mod history;
mod hook;
mod html;
mod instructions;
mod kept;
mod layout;
mod licences;
mod link;
mod list;
mod log;
mod manual;
mod metrics;
mod packaging;
mod planted;
mod prepare;
mod programs;
mod ratchet;
mod repeat;
mod report;
mod shards;
mod started_programs;
mod surroundings;
mod system_calls;
mod tidy;
mod toolchains;
mod uncovered;
mod undeclared;
mod versions;

#[path = "../support/house/mod.rs"]
mod house;
#[path = "../support/mod.rs"]
mod support;

/// Returns two functions and their tests. Tests change `slow` between the versions.
fn source(rounds: u32) -> String {
    format!(
        r"
#[inline(never)]
pub fn slow(seed: u64) -> u64 {{
    let mut state = seed | 1;
    for round in 0..{rounds} {{
        state = (state ^ state << 13 ^ state >> 7).wrapping_add(round);
    }}
    state
}}

#[cfg(test)]
mod tests {{
    #[test]
    fn mixes() {{
        assert_ne!(super::slow(1), super::slow(2));
    }}

    #[test]
    #[ignore]
    fn is_ignored() {{}}
}}
"
    )
}
