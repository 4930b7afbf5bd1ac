//! The arguments after `cargo bench --bench NAME --`.

use clap::Parser;

/// Returns the arguments. Without any, prints the usage and returns `None`.
pub fn arguments<A: Parser>(usage: &str) -> Option<A> {
    let mut typed: Vec<_> = std::env::args_os().collect();
    // Cargo passes `--bench` to benchmarks. Options of the tool may have the same name.
    if typed.last().is_some_and(|argument| argument == "--bench") {
        typed.pop();
    }
    if typed.len() < 2 {
        println!("usage: cargo bench --bench {usage}; --help tells more");
        return None;
    }
    Some(A::parse_from(typed))
}
