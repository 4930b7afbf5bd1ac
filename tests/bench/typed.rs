//! What was typed behind `cargo bench --bench NAME --`.

use clap::Parser;

/// The arguments, or nothing after saying how the program is used.
pub fn arguments<A: Parser>(usage: &str) -> Option<A> {
    let mut typed: Vec<_> = std::env::args_os().collect();
    // Cargo tells benchmarks that they are some. Options of the tool may have the same name.
    if typed.last().is_some_and(|argument| argument == "--bench") {
        typed.pop();
    }
    if typed.len() < 2 {
        println!("usage: cargo bench --bench {usage}; --help tells more");
        return None;
    }
    Some(A::parse_from(typed))
}
