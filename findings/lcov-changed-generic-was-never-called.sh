#!/usr/bin/env bash
# lcov 0.8.2, Rust 1.95.0 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# The crate lcov reads, merges and filters reports of test coverage. `LineNum` keeps what belongs to given lines; it is "useful
# for measuring the coverage of the part changed by a specific commit". A function belongs to them if one of its own lines is
# among them. Of functions that start in the same line, all but one are dropped, even if the lines that were changed are theirs:
#
# - A report has no ends of functions, so a function is taken to end in the line before the next one starts. Of two that start in
#   line 10, the first is from line 10 to line 9. It is kept only if both of these lines were changed.
# - Which one is left depends on the order of their names. A generic function has an entry for each type that it is compiled for,
#   all in the same line, if the tool lists them, as llvm-cov does. Below, the tests call `sum` for `u32` and never for `u64`. The
#   report for a commit that changes a line of it says that no function was called, although the line was executed.
#
# A second surprise is in the reader. A report may have several sections for a file, for instance after the reports of two runs
# were written one after the other. `merge` adds the counts of two reports. If they are read as one, the last section of a file
# replaces those before, so that all that only the first run executed counts as not covered.
#
# Output seen (changed lines: functions that are left with their calls; calls of the lines that are left. Then two runs, merged
# and read one after the other):
#   1 to 99: mean 3, sum::<u32> 8, sum::<u64> 0; 8 8 8 3 3
#   9 to 12: sum::<u32> 8, sum::<u64> 0; 8 8 8
#   10 to 12: sum::<u64> 0; 8 8 8
#   11 to 11: sum::<u64> 0; 8
#   20 to 20: mean 3; 3
#   merged: mean 4, sum::<u32> 8, sum::<u64> 0; 8 8 8 4 4
#   read as one: mean 1, sum::<u32> 0, sum::<u64> 0; 0 0 0 1 1
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "changed"
version = "0.0.0"
edition = "2024"

[dependencies]
lcov = "=0.8.2"

[workspace]
EOF
cat > src/main.rs <<'EOF'
use lcov::filter::LineNum;
use lcov::{Reader, Report};

/// Returns the report of a file with a generic function in lines 10 to 12 and another function in lines 20 and 21.
fn file(sums: u64, means: u64) -> String {
    format!(
        "TN:\nSF:numbers.rs\n\
        FN:10,sum::<u32>\nFN:10,sum::<u64>\nFN:20,mean\n\
        FNDA:{sums},sum::<u32>\nFNDA:0,sum::<u64>\nFNDA:{means},mean\n\
        DA:10,{sums}\nDA:11,{sums}\nDA:12,{sums}\nDA:20,{means}\nDA:21,{means}\n\
        end_of_record\n"
    )
}

fn read(text: &str) -> Report {
    Report::from_reader(Reader::new(text.as_bytes())).unwrap()
}

fn show(name: &str, report: &Report) {
    let section = report.sections.values().next().unwrap();
    let functions: Vec<_> = section.functions.iter().map(|(key, value)| format!("{} {}", key.name, value.count)).collect();
    let lines: Vec<_> = section.lines.values().map(|value| value.count.to_string()).collect();
    println!("{name}: {}; {}", functions.join(", "), lines.join(" "));
}

fn main() {
    for (first, last) in [(1, 99), (9, 12), (10, 12), (11, 11), (20, 20)] {
        let mut report = read(&file(8, 3));
        let changed: LineNum = [first..last + 1].into_iter().collect();
        report.sections.values_mut().for_each(|section| changed.apply(section));
        show(&format!("{first} to {last}"), &report);
    }
    let runs = [file(8, 3), file(0, 1)];
    let mut merged = read(&runs[0]);
    merged.merge(read(&runs[1])).unwrap();
    show("merged", &merged);
    show("read as one", &read(&runs.concat()));
}
EOF
export CARGO_TARGET_DIR="$work/target"
seen=$(cargo run --quiet)
echo "$seen"
expected='1 to 99: mean 3, sum::<u32> 8, sum::<u64> 0; 8 8 8 3 3
9 to 12: sum::<u32> 8, sum::<u64> 0; 8 8 8
10 to 12: sum::<u64> 0; 8 8 8
11 to 11: sum::<u64> 0; 8
20 to 20: mean 3; 3
merged: mean 4, sum::<u32> 8, sum::<u64> 0; 8 8 8 4 4
read as one: mean 1, sum::<u32> 0, sum::<u64> 0; 0 0 0 1 1'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
