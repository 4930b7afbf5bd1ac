//! Metrics of a test other than time.

use crate::instructions::has_valgrind;
use crate::support::Project;
use serde_json::Value;

/// Returns a library with so much arithmetic that a few blocks are negligible, however slow an allocation is, and a map
/// in random order.
fn source(blocks: usize) -> String {
    format!(
        "#[inline(never)]\n\
         pub fn mix(seed: u64) -> u64 {{\n    (0..40_000).fold(seed | 1, |state, round| {{\n        \
         let state = state ^ state << 13;\n        (state ^ state >> 7).wrapping_mul(5) ^ round\n    }})\n}}\n\
         #[inline(never)]\n\
         pub fn keep(seed: u64) -> u64 {{\n    \
         let kept: Vec<Vec<u64>> = (0..{blocks}).map(|n| std::hint::black_box(vec![seed + n; 10])).collect();\n    \
         mix(kept[1][2])\n}}\n\
         #[cfg(test)]\nmod tests {{\n    use std::collections::HashMap;\n    use std::io::{{Read, Write}};\n    \
         #[test]\n    fn keeps() {{\n        assert_ne!(super::keep(7), 1);\n    }}\n    \
         #[test]\n    fn maps() {{\n        \
         let map: HashMap<u64, String> = (0..50).map(|n| (n, n.to_string())).collect();\n        \
         assert_ne!(super::mix(map.values().map(|text| text.len() as u64).sum()), 1);\n    }}\n    \
         #[test]\n    fn writes() {{\n        \
         let mut file = std::fs::File::options().write(true).open(\"/dev/null\").unwrap();\n        \
         file.write_all(&[7; 1000]).unwrap();\n        let mut bytes = [0; 300];\n        \
         std::fs::File::open(\"/dev/zero\").unwrap().read_exact(&mut bytes).unwrap();\n        \
         assert_ne!(super::mix(bytes[0].into()), 1);\n    }}\n}}\n"
    )
}

/// An allocator with a list of free blocks per power of two, and new blocks from an array.
const OWN_ALLOCATOR: &str = r"
#[cfg(test)]
mod own {
    use std::alloc::{GlobalAlloc, Layout};
    use std::cell::UnsafeCell;
    use std::sync::atomic::{AtomicBool, Ordering};

    struct Arena {
        busy: AtomicBool,
        free: UnsafeCell<[usize; 64]>,
        used: UnsafeCell<usize>,
        room: UnsafeCell<[u128; 1 << 20]>,
    }

    unsafe impl Sync for Arena {}

    fn class(layout: Layout) -> usize {
        layout.size().max(layout.align()).max(16).next_power_of_two()
    }

    impl Arena {
        fn locked<T>(&self, run: impl FnOnce(&mut [usize; 64], &mut usize) -> T) -> T {
            while self.busy.swap(true, Ordering::Acquire) {}
            let result = unsafe { run(&mut *self.free.get(), &mut *self.used.get()) };
            self.busy.store(false, Ordering::Release);
            result
        }
    }

    unsafe impl GlobalAlloc for Arena {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            let size = class(layout);
            let start = self.room.get() as usize;
            self.locked(|free, used| {
                let list = &mut free[size.trailing_zeros() as usize];
                if *list != 0 {
                    let block = *list;
                    *list = unsafe { *(block as *const usize) };
                    return block as *mut u8;
                }
                let block = (start + *used + size - 1) / size * size;
                *used = block + size - start;
                if *used > 16 << 20 { std::ptr::null_mut() } else { block as *mut u8 }
            })
        }

        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            self.locked(|free, _| {
                let list = &mut free[class(layout).trailing_zeros() as usize];
                unsafe { *block.cast::<usize>() = *list };
                *list = block as usize;
            });
        }
    }

    #[global_allocator]
    static ARENA: Arena = Arena {
        busy: AtomicBool::new(false),
        free: UnsafeCell::new([0; 64]),
        used: UnsafeCell::new(0),
        room: UnsafeCell::new([0; 1 << 20]),
    };
}
";

fn test<'a>(document: &'a Value, name: &str) -> &'a Value {
    let tests = document["tests"].as_array().unwrap();
    tests.iter().find(|test| test["name"] == name).unwrap_or_else(|| panic!("no {name}: {document}"))
}

#[track_caller]
fn check(document: &Value, name: &str, metric: &str, verdict: &str, base: u64, head: u64) {
    let metric = &test(document, name)["metrics"][metric];
    assert_eq!(metric["verdict"], verdict, "{metric}");
    let value = |side: &str| metric[side]["value"].as_f64();
    assert_eq!((value("base"), value("head")), (Some(base as f64), Some(head as f64)), "{metric}");
}

#[test]
fn an_additional_block_is_counted_exactly_and_decides_only_on_request() {
    let project = Project::library(&source(2), &source(3));
    let document = project.diff(&["--all-tests", "--skip", "writes"]).expect(0).json();
    // The vector of vectors, and one of 80 bytes for each.
    check(&document, "tests::keeps", "allocations", "more", 3, 4);
    check(&document, "tests::keeps", "allocated-bytes", "more", 2 * (24 + 80), 3 * (24 + 80));
    check(&document, "tests::keeps", "peak-heap", "more", 2 * (24 + 80), 3 * (24 + 80));
    let keeps = test(&document, "tests::keeps");
    assert_eq!(keeps["cross_check"]["kind"], "work-alone", "{keeps}");
    assert_eq!(keeps["metrics"]["time"]["change"], keeps["change"]);
    let of_maps = |metric: &str| test(&document, "tests::maps")["metrics"][metric]["verdict"].clone();
    for metric in ["allocations", "allocated-bytes", "peak-heap", "written-bytes"] {
        assert_eq!(of_maps(metric), "same", "{metric}: {document}");
    }
    // Events of the machine count too: a page that it reclaimed, or a wait for reading it again.
    for metric in ["page-faults", "context-switches"] {
        assert!(["same", "varies"].contains(&of_maps(metric).as_str().unwrap()), "{metric}: {document}");
    }
    assert_eq!(document["summary"]["gates"], serde_json::json!(["time"]));

    let decided = project.diff(&["--metric", "allocations"]).expect(100).json();
    assert_eq!(test(&decided, "tests::keeps")["verdict"], "slower");
    let text = project.perfunit(["diff", "HEAD~1", "--metric", "peak-heap,allocations"]).expect(100).stdout;
    assert!(text.contains("Worse  sample tests::keeps") && text.contains("allocations 3 → 4 (+33.3 %)"), "{text}");
    let text = project.perfunit(["diff", "HEAD~1"]).expect(0).stdout;
    assert!(text.contains("More work  sample tests::keeps: allocations 3 → 4 (+33.3 %)"), "{text}");
}

#[test]
fn bytes_read_and_written_are_those_of_the_test() {
    let project = Project::library(&source(2), &source(3));
    let document = project.diff(&["writes", "--all-tests"]).expect(0).json();
    let writes = test(&document, "tests::writes");
    let bytes = |metric: &str, side: &str| writes["metrics"][metric][side]["value"].as_f64();
    assert_eq!((bytes("read-bytes", "base"), bytes("read-bytes", "head")), (Some(300.0), Some(300.0)), "{writes}");
    assert_eq!(
        (bytes("written-bytes", "base"), bytes("written-bytes", "head")),
        (Some(1000.0), Some(1000.0)),
        "{writes}"
    );
}

#[test]
fn a_custom_allocator_is_reported_and_not_counted_as_zero() {
    let project = Project::library(&(OWN_ALLOCATOR.to_owned() + &source(2)), &(OWN_ALLOCATOR.to_owned() + &source(3)));
    let document = project.diff(&["keeps", "--metric", "allocations"]).expect(0).json();
    let keeps = test(&document, "tests::keeps");
    assert_eq!(keeps["metrics"]["allocations"]["unavailable"]["kind"], "own-allocator", "{keeps}");
    assert_eq!(keeps["metrics"]["allocations"]["base"], Value::Null);
    assert_eq!(keeps["metrics"]["page-faults"]["unavailable"], Value::Null, "{keeps}");
    assert_eq!((&keeps["verdict"], &keeps["reason"]["kind"]), (&"inconclusive".into(), &"metric-unknown".into()));
}

#[test]
fn instructions_come_from_callgrind_if_installed() {
    let project = Project::library(&source(2), &source(2).replace("0..40_000", "0..44_000"));
    let run =
        project.diff(&["--all-tests", "--instructions", "callgrind", "--metric", "instructions", "--skip", "writes"]);
    if !has_valgrind() {
        // A missing but requested tool is an error before anything is built.
        assert!(run.expect(102).stderr.contains("needs valgrind"));
        return;
    }
    let document = run.expect(100).json();
    for name in ["tests::keeps", "tests::maps"] {
        let instructions = &test(&document, name)["metrics"]["instructions"];
        assert_eq!(instructions["verdict"], "more", "{instructions}");
        // The test is almost only the loop, with four to ten instructions per round.
        let added = instructions["head"]["value"].as_f64().unwrap() - instructions["base"]["value"].as_f64().unwrap();
        assert!((16_000.0..=40_000.0).contains(&added), "{instructions}");
    }
    let equal = Project::library(&source(2), &(source(2) + "// Nothing.\n"));
    let document = equal.diff(&["--all-tests", "--instructions", "callgrind", "maps"]).expect(0).json();
    assert_eq!(test(&document, "tests::maps")["metrics"]["instructions"]["verdict"], "same", "{document}");
}

#[test]
fn an_unknown_metric_is_wrong_usage_and_the_nearest_one_is_named() {
    let project = Project::library(&source(2), &source(3));
    let stderr = project.perfunit(["diff", "--metric", "time,alocations"]).expect(2).stderr;
    assert!(stderr.contains("alocations") && stderr.contains("similar value exists: 'allocations'"), "{stderr}");
}

/// Returns a test that starts a program, which reads this many bytes, and a test that forks a process and waits for it
/// only in its last line.
fn starting(bytes: usize) -> String {
    format!(
        "pub const BYTES: usize = {bytes};\n\
         #[cfg(test)]\nmod tests {{\n    use std::process::Command;\n    \
         extern \"C\" {{\n        fn fork() -> i32;\n        fn _exit(status: i32) -> !;\n        \
         fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;\n    }}\n    \
         #[test]\n    fn starts() {{\n        \
         let count = super::BYTES.to_string();\n        \
         let run = Command::new(\"head\").args([\"-c\", &count, \"/dev/zero\"]).output().unwrap();\n        \
         assert_eq!(run.stdout.len(), super::BYTES);\n    }}\n    \
         #[test]\n    fn forks() {{\n        \
         let id = unsafe {{ fork() }};\n        \
         if id == 0 {{\n            \
         let sum = (0..super::BYTES).fold(0, |sum, byte| std::hint::black_box(sum ^ byte));\n            \
         unsafe {{ _exit((sum == 1) as i32) }}\n        }}\n        \
         assert_eq!(unsafe {{ waitpid(id, std::ptr::null_mut(), 0) }}, id);\n    }}\n}}\n"
    )
}

#[test]
fn metrics_of_started_processes_count_or_are_unknown() {
    let project = Project::library(&starting(1000), &starting(3000));
    let valgrind = has_valgrind();
    let counting: &[&str] = if valgrind { &["--instructions", "callgrind"] } else { &[] };
    let document = project.diff(&[&["--all-tests", "--metric", "allocations"], counting].concat()).expect(0).json();
    for name in ["tests::starts", "tests::forks"] {
        let found = test(&document, name);
        assert_eq!(found["metrics"]["allocations"]["unavailable"]["kind"], "starts-processes", "{found}");
        assert_eq!((&found["verdict"], &found["reason"]["kind"]), (&"inconclusive".into(), &"metric-unknown".into()));
    }
    if valgrind {
        // The forked process adds up the bytes.
        let counted = &test(&document, "tests::forks")["metrics"]["instructions"];
        assert_eq!(counted["verdict"], "more", "{counted}");
    }
    // The program reads as many bytes as the test reads from it, in addition to loading itself.
    let bytes = &test(&document, "tests::starts")["metrics"]["read-bytes"];
    let added = bytes["head"]["value"].as_f64().unwrap() - bytes["base"]["value"].as_f64().unwrap();
    assert!(added >= 4000.0, "{bytes}");
    assert_eq!(bytes["verdict"], "more", "{bytes}");
}

#[test]
fn memory_in_use_is_that_of_the_test_and_not_of_the_program() {
    let source = |table: usize, kept: usize| {
        format!(
            "pub static TABLE: [u8; {table}] = [7; {table}];\n\
             pub const KEPT: usize = {kept};\n\
             #[inline(never)]\n\
             pub fn mix(seed: u64) -> u64 {{\n    (0..5000).fold(seed, |state, round| std::hint::black_box(state ^ round << 3))\n}}\n\
             #[cfg(test)]\nmod tests {{\n    use std::hint::black_box;\n    \
             #[test]\n    fn reads_one_element() {{\n        \
             assert_ne!(super::mix(super::TABLE[black_box(999)].into()), 1);\n    }}\n    \
             #[test]\n    fn keeps() {{\n        \
             let kept = black_box(vec![super::TABLE[black_box(1)]; super::KEPT]);\n        \
             assert_ne!(super::mix(kept[black_box(1)].into()), 1);\n    }}\n}}\n"
        )
    };
    let verdicts = |base: String, head: String, code| {
        let project = Project::library(&base, &head).with_natural_layout();
        let document = project.diff(&["--all-tests", "--metric", "peak-rss"]).expect(code).json();
        ["tests::reads_one_element", "tests::keeps"].map(|name| {
            let metric = &test(&document, name)["metrics"]["peak-rss"];
            metric["verdict"].as_str().unwrap_or_else(|| panic!("{metric}")).to_owned()
        })
    };
    assert_eq!(verdicts(source(1000, 10_000), source(4_000_000, 10_000), 0), ["same", "same"]);
    let [one, keeps] = verdicts(source(1000, 10_000), source(1000, 6_000_000), 100);
    assert_eq!((one.as_str(), keeps.as_str()), ("same", "more"));
}
