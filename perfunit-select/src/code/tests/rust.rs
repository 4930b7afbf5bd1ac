//! Edits of Rust code.

use super::support::{between, changed_by, changed_code, edit, programs, rust, same};
use crate::code::compare::NotFound;
use crate::code::{Code, What};
use perfunit_model::Side;

/// Two tests with a function each, and a function that both use.
const TWO: &str = r#"
#[inline(never)]
fn shared(x: u64) -> u64 { assert!(x < 1000, "too large"); x.rotate_left(3) ^ 17 }
#[inline(never)]
fn first(x: u64) -> u64 { shared(x) + 100 }
#[inline(never)]
fn second(x: u64) -> u64 { shared(x) + 200 }

mod tests {
    use std::hint::black_box;
    #[test]
    fn one() { assert_eq!(super::first(black_box(1)), 125); }
    #[test]
    fn two() { assert_eq!(super::second(black_box(2)), 201); }
}
"#;

const BOTH: [&str; 2] = ["tests::one", "tests::two"];

#[test]
fn tests_that_can_start_programs_are_known() {
    let unit = rust(
        r#"
        #[inline(never)] fn run(program: &str) -> bool { std::process::Command::new(program).status().is_ok() }
        unsafe extern "C" { fn execv(path: *const i8, arguments: *const *const i8) -> i32; }
        mod tests {
            #[test] fn by_std() { let way: fn(&str) -> bool = super::run; assert!(!std::hint::black_box(way)("/none")); }
            #[test] fn by_the_c_library() { assert!(unsafe { super::execv(c"".as_ptr(), [std::ptr::null()].as_ptr()) } < 0); }
            #[test] fn not_at_all() { assert_eq!("a".repeat(3).len(), 3); }
        }"#,
    );
    let names = ["tests::by_std", "tests::by_the_c_library", "tests::not_at_all"].map(str::to_owned);
    let program = programs(&[&unit], &[]).base;
    let found = crate::code::starting(&program, &names.clone().into());
    assert_eq!(found, [names[0].clone(), names[1].clone()].into());
}

#[test]
fn a_constant_in_the_form_of_a_source_location_is_data() {
    let base = r#"
        pub struct Plan { name: &'static str, rounds: u32, seed: u32 }
        #[inline(never)] fn plan() -> &'static Plan { &Plan { name: "mix.rs", rounds: 10, seed: 7 } }
        #[inline(never)] fn mix(plan: &Plan) -> u32 { plan.rounds ^ plan.seed ^ plan.name.len() as u32 }
        mod tests { #[test] fn mixes() { assert_ne!(super::mix(std::hint::black_box(super::plan())), 0); } }
    "#;
    changed_code(&edit(base, "rounds: 10", "rounds: 20", &["tests::mixes"]), "tests::mixes");
    // The compiled file has fewer lines.
    let far = base.replace("mix.rs", "story.rs");
    changed_code(&edit(&far, "rounds: 10", "rounds: 20", &["tests::mixes"]), "tests::mixes");
}

#[test]
fn comments_and_shifted_lines_change_nothing() {
    let comparison = edit(TWO, "#[inline(never)]", "// A comment.\n\n#[inline(never)]\n", &BOTH);
    for test in BOTH {
        same(&comparison, test);
    }
}

#[test]
fn a_constant_changes_the_tests_that_reach_its_function() {
    let comparison = edit(TWO, "+ 100", "+ 101", &BOTH);
    changed_by(&comparison, "tests::one", &[("story::first", What::Code)]);
    assert_eq!(changed_code(&comparison, "tests::one").path, ["tests::one", "story::first"]);
    same(&comparison, "tests::two");
}

#[test]
fn a_shared_function_changes_both_tests_and_the_path_leads_there() {
    let comparison = edit(TWO, "^ 17", "^ 18", &BOTH);
    for (test, function) in [("tests::one", "story::first"), ("tests::two", "story::second")] {
        changed_by(&comparison, test, &[("story::shared", What::Code)]);
        assert_eq!(changed_code(&comparison, test).path, [test, function, "story::shared"]);
    }
}

#[test]
fn a_test_s_own_body_is_the_test() {
    let comparison = edit(TWO, "125", "126", &BOTH);
    assert_eq!(changed_code(&comparison, "tests::one").path, ["tests::one"]);
    same(&comparison, "tests::two");
}

#[test]
fn renaming_a_function_changes_nothing() {
    let comparison = edit(TWO, "first", "renamed_and_longer", &BOTH);
    for test in BOTH {
        same(&comparison, test);
    }
}

#[test]
fn an_unrelated_function_and_test_change_nothing() {
    let more = "#[test]\n fn three() { assert_eq!(super::more(black_box(3)), 9); }\n#[test]\n fn one()";
    let head = TWO.replace("#[test]\n    fn one()", more) + "#[inline(never)] fn more(x: u64) -> u64 { x * 3 }";
    let comparison = between(&[&rust(TWO)], &[&rust(&head)], &["tests::one", "tests::three", "tests::four"]);
    same(&comparison, "tests::one");
    let Code::Unknown { why } = &comparison.tests["tests::three"] else { panic!("{comparison:?}") };
    assert_eq!(*why, NotFound::In(Side::Base));
    assert!(matches!(comparison.tests["tests::four"], Code::Unknown { .. }));
}

#[test]
fn a_message_is_a_constant_of_its_function() {
    let comparison = edit(TWO, "too large", "too great", &BOTH);
    let constant = What::Data("a constant".to_owned());
    changed_by(&comparison, "tests::one", &[("story::shared", constant)]);
}

#[test]
fn a_static_table_belongs_to_the_function_that_reads_it() {
    let base = r"
        static TABLE: [u32; 64] = { let mut table = [7; 64]; table[5] = 50; table };
        #[inline(never)] fn look_up(at: usize) -> u32 { TABLE[at % 64] }
        #[test] fn reads() { assert_eq!(look_up(std::hint::black_box(5)), 50); }
        #[test] fn does_not() { assert_eq!(std::hint::black_box(5), 5); }
    ";
    let comparison = edit(base, "[7; 64]", "[8; 64]", &["reads", "does_not"]);
    changed_by(&comparison, "reads", &[("story::look_up", What::Data("story::TABLE".to_owned()))]);
    same(&comparison, "does_not");
}

#[test]
fn an_impl_behind_a_vtable_is_its_own_frontier() {
    let base = r"
        trait Shape { fn area(&self) -> u64; }
        struct Square(u64);
        impl Shape for Square { fn area(&self) -> u64 { self.0 * self.0 } }
        #[inline(never)] fn make(side: u64) -> Box<dyn Shape> { Box::new(Square(side)) }
        #[test] fn calls() { assert_eq!(std::hint::black_box(make(3)).area(), 9); }
    ";
    let comparison = edit(base, "self.0 * self.0 }", "self.0 * self.0 + 1 }", &["calls"]);
    changed_by(&comparison, "calls", &[("<story::Square as story::Shape>::area", What::Code)]);
}

#[test]
fn a_drop_impl_is_reached_by_whoever_drops() {
    let base = r"
        use std::sync::atomic::{AtomicU32, Ordering};
        static DROPPED: AtomicU32 = AtomicU32::new(0);
        struct Noisy(u32);
        impl Drop for Noisy {
            #[inline(never)]
            fn drop(&mut self) { DROPPED.fetch_add(self.0, Ordering::Relaxed); }
        }
        #[test] fn drops() { drop(std::hint::black_box(Noisy(1))); }
        #[test] fn forgets() { std::mem::forget(std::hint::black_box(5)); }
    ";
    let comparison = edit(base, "fetch_add(self.0,", "fetch_sub(self.0,", &["drops", "forgets"]);
    let name = "<story::Noisy as core::ops::drop::Drop>::drop";
    changed_by(&comparison, "drops", &[(name, What::Code)]);
    same(&comparison, "forgets");
}

#[test]
fn one_instance_of_a_generic_changes_without_the_other() {
    let base = r"
        trait Step { const STEP: u64; }
        struct Small; struct Large;
        impl Step for Small { const STEP: u64 = 3; }
        impl Step for Large { const STEP: u64 = 3000; }
        #[inline(never)] fn walk<S: Step>(from: u64) -> u64 { from.wrapping_mul(S::STEP) }
        #[test] fn small() { assert_ne!(walk::<Small>(std::hint::black_box(1)), 0); }
        #[test] fn large() { assert_ne!(walk::<Large>(std::hint::black_box(1)), 0); }
    ";
    let comparison = edit(base, "3000", "3001", &["small", "large"]);
    changed_by(&comparison, "large", &[("story::walk::<story::Large>", What::Code)]);
    same(&comparison, "small");
}

#[test]
fn mutable_statics_are_not_mistaken_for_each_other() {
    let base = r"
        use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
        static HITS: AtomicU32 = AtomicU32::new(0);
        static MISSES: AtomicU32 = AtomicU32::new(0);
        #[inline(never)] fn hit() { HITS.fetch_add(1, Relaxed); }
        #[inline(never)] fn total() -> u32 { load(&HITS) * 2 + load(&MISSES) }
        #[inline(never)] fn load(counter: &AtomicU32) -> u32 { std::hint::black_box(counter).load(Relaxed) }
        #[test] fn counts() { hit(); assert_eq!(total(), 2); }
        #[test] fn reads() { assert_eq!(total(), 0); }
    ";
    let comparison = edit(base, "HITS.fetch_add", "MISSES.fetch_add", &["counts", "reads"]);
    changed_by(&comparison, "counts", &[("story::hit", What::Data("story::MISSES".to_owned()))]);
    same(&comparison, "reads");
}

#[test]
fn thread_locals_have_their_initial_value_compared() {
    let base = r"
        use std::cell::Cell;
        thread_local! { static DEPTH: Cell<u32> = const { Cell::new(77) }; }
        #[inline(never)] fn depth() -> u32 { DEPTH.with(Cell::get) }
        #[test] fn reads() { assert_ne!(depth(), 0); DEPTH.with(|depth| depth.set(1)); assert_eq!(depth(), 1); }
    ";
    let comparison = edit(base, "77", "78", &["reads"]);
    let changed = changed_code(&comparison, "reads");
    let depth = changed.frontier.iter().find(|code| code.name == "story::depth").expect("a frontier");
    assert!(matches!(&depth.what, What::Data(name) if name.contains("DEPTH")), "{changed:?}");
}

#[test]
fn a_jump_table_belongs_to_its_function() {
    let arms = |third: u32| {
        let arm = |at: u32| format!("{at} => step(x, {}),", if at == 3 { third } else { at * at + 11 });
        (0..12).map(arm).collect::<String>()
    };
    let source = |third: u32| {
        format!(
            "#[inline(never)] fn step(x: u32, y: u32) -> u32 {{ x ^ y }}
            #[inline(never)] fn choose(x: u32) -> u32 {{ match x {{ {} _ => x.pow(x) }} }}
            #[test] fn chooses() {{ assert_ne!(choose(std::hint::black_box(5)), 0); }}",
            arms(third)
        )
    };
    let comparison = between(&[&rust(&source(20))], &[&rust(&source(21))], &["chooses"]);
    let changed = changed_code(&comparison, "chooses");
    assert!(changed.frontier.iter().all(|code| code.name == "story::choose"), "{changed:#?}");
    let shifted = format!("\n\n{}", source(20));
    same(&between(&[&rust(&source(20))], &[&rust(&shifted)], &["chooses"]), "chooses");
}

#[test]
fn the_user_s_allocator_is_in_every_test() {
    let base = r"
        use std::alloc::{GlobalAlloc, Layout, System};
        struct Mine;
        unsafe impl GlobalAlloc for Mine {
            unsafe fn alloc(&self, layout: Layout) -> *mut u8 { unsafe { System.alloc(layout) } }
            unsafe fn dealloc(&self, at: *mut u8, layout: Layout) { unsafe { System.dealloc(at, layout) } }
        }
        #[global_allocator] static MINE: Mine = Mine;
        #[test] fn any() { assert_eq!(std::hint::black_box(1), 1); }
    ";
    let larger = "System.alloc(Layout::from_size_align_unchecked(layout.size() + 64, layout.align()))";
    let comparison = edit(base, "System.alloc(layout)", larger, &["any"]);
    let changed = changed_code(&comparison, "any");
    assert!(changed.frontier.iter().any(|code| code.name == "__rustc::__rust_alloc"), "{changed:#?}");
}

#[test]
fn names_of_all_lengths_are_found() {
    // Strings of 4, 8, 16 and 32 bytes get sections of their own.
    let names = ["abc", "abcd", "abcdefgh", "abcdefghijklmnop", "abcdefghijklmnopqrstuvwxyzabcdef"];
    let test = |name: &&str| format!("#[test] fn {name}() {{ assert_ne!(std::hint::black_box(1), 0) }}");
    let unit = rust(&names.iter().map(test).collect::<Vec<_>>().join("\n"));
    let comparison = between(&[&unit], &[&unit], &names);
    for name in names {
        same(&comparison, name);
    }
}
