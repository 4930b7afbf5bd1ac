//! Figures of the sources: rooms, arrows, circles, lines, functions, string errors, and words of the documents.
//!
//! `cargo bench --bench house -- [CHECKOUT]...`; by default this checkout. Two checkouts compare before and after: `git
//! worktree add ../before COMMIT`.

#[path = "../support/house/mod.rs"]
mod house;

use clap::Parser;
use house::House;
use std::path::{Path, PathBuf};

/// Show the figures of checkouts side by side.
#[derive(Debug, Parser)]
struct Arguments {
    /// Folders of checkouts
    checkouts: Vec<PathBuf>,
    /// Also name circles and the longest functions
    #[arg(long)]
    names: bool,
    /// Passed by cargo; ignored
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let mut arguments = Arguments::parse();
    if arguments.checkouts.is_empty() {
        arguments.checkouts.extend(Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned));
    }
    let houses: Vec<House> = arguments.checkouts.iter().map(|root| House::read(root)).collect();
    let columns: Vec<Vec<(&str, String)>> = houses.iter().map(rows).collect();
    for (row, (name, _)) in columns[0].iter().enumerate() {
        let figures: Vec<String> = columns.iter().map(|rows| format!("{:>18}", rows[row].1)).collect();
        println!("{name:<42}{}", figures.join(""));
    }
    if arguments.names {
        houses.iter().for_each(names);
    }
}

fn rows(house: &House) -> Vec<(&'static str, String)> {
    let [tool, others] = house.product_lines();
    let lengths = quantiles(house.functions.iter().map(|function| function.lines));
    let parameters = quantiles(house.functions.iter().map(|function| function.parameters));
    let files = quantiles(house.product.values().copied());
    let shared = house.types.values().filter(|uses| **uses > 2).count();
    let long = house.functions.iter().filter(|function| function.lines > 80).count();
    vec![
        ("crates of the tool", house.crates.len().to_string()),
        ("product files", house.product.len().to_string()),
        ("lines of a product file: median, p90, max", files),
        ("type names with more than two types", shared.to_string()),
        ("arrows between rooms of one crate", house.arrows.len().to_string()),
        ("arrows upwards", house.upwards().len().to_string()),
        ("circles of files", house.circles.len().to_string()),
        ("files in circles", house.circles.iter().map(std::collections::BTreeSet::len).sum::<usize>().to_string()),
        ("lines of the tool", tool.to_string()),
        ("lines of what goes into tests", others.to_string()),
        ("lines of tests and benchmarks", house.test_lines.to_string()),
        ("functions", house.functions.len().to_string()),
        ("lines of a function: median, p90, max", lengths),
        ("parameters without self: median, p90, max", parameters),
        ("Result<_, String>", house.text_errors.len().to_string()),
        ("functions of more than 80 lines", long.to_string()),
        ("words of documents", house.words.to_string()),
    ]
}

fn quantiles(figures: impl Iterator<Item = usize>) -> String {
    let mut figures: Vec<usize> = figures.collect();
    figures.sort_unstable();
    let at = |share: usize| figures.get(figures.len().saturating_sub(1) * share / 100).copied().unwrap_or_default();
    format!("{}, {}, {}", at(50), at(90), at(100))
}

/// Prints the names of long functions, circles and upward arrows.
fn names(house: &House) {
    println!();
    for (from, to) in house.upwards() {
        println!("upwards: {from} -> {to}");
    }
    for circle in &house.circles {
        println!("circle: {}", circle.iter().cloned().collect::<Vec<_>>().join(" "));
    }
    let mut functions = house.functions.clone();
    functions.sort_by_key(|function| std::cmp::Reverse(function.lines));
    for function in functions.iter().take(20) {
        println!("{} lines: {}", function.lines, function.place);
    }
    functions.sort_by_key(|function| std::cmp::Reverse(function.parameters));
    for function in functions.iter().take(20) {
        println!("{} parameters: {}", function.parameters, function.place);
    }
}
