//! The memory of explaining a test that makes ten million calls: of its processes and of the tool.

use super::comparison::{self, Answer};
use super::explained::Document;
use super::invocation::Place;
use super::{Result, explained, repository};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use std::{fs, thread};

/// The crate: half of the calls are recursive, 1,000 deep.
const LIBRARY: &str = "//! Ten million calls.

use std::hint::black_box;

/// Five thousand times a thousand of two calls each.
pub fn calls() -> u64 {
    (0..5_000).map(|round| down(black_box(1_000), round)).sum()
}

fn down(depth: u64, round: u64) -> u64 {
    let below = if depth > 1 { down(depth - 1, round) } else { round };
    below ^ step(below + depth)
}

#[inline(never)]
fn step(number: u64) -> u64 {
    let mut state = black_box(number);
    for _ in 0..black_box(ROUNDS) {
        state = black_box(state.wrapping_mul(3) ^ (state >> 5));
    }
    state
}

const ROUNDS: u64 = 2;

#[cfg(test)]
mod tests {
    #[test]
    fn ten_million_calls() {
        assert_ne!(super::calls(), 1);
    }
}
";
const MANIFEST: &str = "[package]\nname = \"calls\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
/// Interval between looks at the processes.
const EVERY: Duration = Duration::from_millis(5);

/// Explains the test and prints the greatest peaks.
pub fn show(place: &Place) -> Result<()> {
    let work = place.work()?;
    let tool = place.tool(&["--explain".to_owned(), "always".to_owned()])?;
    let files = [(".gitignore", "/target\n/Cargo.lock\n"), ("Cargo.toml", MANIFEST), ("src/lib.rs", LIBRARY)];
    let tree = repository::write(&work.as_ref().join("calls"), files)?;
    fs::write(tree.join("src/lib.rs"), LIBRARY.replace("ROUNDS: u64 = 2", "ROUNDS: u64 = 4"))?;
    let executable = tool.executable.canonicalize()?;
    let is_over = AtomicBool::new(false);
    let (answer, peaks) = thread::scope(|scope| {
        let watching = scope.spawn(|| watch(&tree, &executable, &is_over));
        let answer = comparison::compare::<Document>(&tool, &tree, "HEAD", &[]);
        is_over.store(true, Relaxed);
        (answer, watching.join())
    });
    let peaks = peaks.map_err(|_| "the watching thread panicked")?;
    let document = match answer? {
        Answer::Compared(document) => document,
        Answer::Refused(why) => return Err(why.into()),
    };
    for test in &document.tests {
        let found = test.explanation.as_ref();
        let said = found.map_or_else(
            || format!("not explained: {}", test.unexplained_because.as_deref().unwrap_or_default()),
            |found| {
                let first = explained::first(found).unwrap_or_else(|| "no function is named".to_owned());
                let [seconds, distortion] = [found.seconds, found.distortion].map(|value| value.unwrap_or(f64::NAN));
                format!(
                    "{first} ({}, {} pairs in {seconds:.1} s, base takes {distortion:.1} times as long with probes; {})",
                    found.strategy,
                    found.pairs,
                    found.notes.join("; ")
                )
            },
        );
        let change = 100.0 * test.change.as_ref().and_then(|change| change.estimate).unwrap_or(f64::NAN);
        println!("{} is {} ({change:+.1} %): {said}\n", test.name, test.verdict);
    }
    println!("| process | peak memory, MB |\n|-|-|");
    for (name, kilobytes) in peaks {
        println!("| {name} | {} |", kilobytes / 1000);
    }
    Ok(())
}

/// Returns the greatest peak memory, in kB, of processes by kind: executables below a folder, and the tool that works
/// there.
fn watch(tree: &Path, tool: &Path, is_over: &AtomicBool) -> BTreeMap<&'static str, u64> {
    let mut peaks = BTreeMap::new();
    while !is_over.load(Relaxed) {
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            if let Some((name, peak)) = peak(&process.path(), tree, tool) {
                let greatest = peaks.entry(name).or_insert(0);
                *greatest = peak.max(*greatest);
            }
        }
        thread::sleep(EVERY);
    }
    peaks
}

/// Returns the kind of a process, if it is one of these, and its peak memory in kB.
fn peak(process: &Path, tree: &Path, tool: &Path) -> Option<(&'static str, u64)> {
    let executable = fs::read_link(process.join("exe")).ok()?;
    let what = if executable.starts_with(tree) {
        "a process of the test"
    } else if executable == tool && fs::read_link(process.join("cwd")).ok()?.starts_with(tree) {
        "the tool"
    } else {
        return None;
    };
    let status = fs::read_to_string(process.join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some((what, line.trim().trim_end_matches("kB").trim().parse().ok()?))
}
