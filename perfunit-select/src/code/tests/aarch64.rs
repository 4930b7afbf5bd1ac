//! Code for aarch64, compiled here for tests where the standard library for it is installed.

use super::support::{between, changed_by, changed_code, rust_object, rustc, same, unit};
use crate::code::elf::{Elf, Role};
use crate::code::unit::Kind;
use crate::code::{Comparison, What, decode};
use object::read::archive::ArchiveFile;
use object::{Architecture, Object as _, ObjectSection as _};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// One function for each way in which code refers to other code or data, and a test for each.
const STORY: &str = r#"
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
pub trait Shape { fn area(&self) -> u64; }
pub struct Square(pub u64);
pub struct Disc(pub u64);
impl Shape for Square { #[inline(never)] fn area(&self) -> u64 { self.0 * self.0 } }
impl Shape for Disc { #[inline(never)] fn area(&self) -> u64 { self.0 * 3 } }
#[inline(never)] pub fn sum(shapes: &[Box<dyn Shape>]) -> u64 { shapes.iter().map(|shape| shape.area()).sum() }
#[inline(never)] pub fn largest<T: PartialOrd + Copy>(list: &[T]) -> T {
    let mut best = list[0];
    for one in list { if *one > best { best = *one } }
    best
}
thread_local! { static CALLS: Cell<u64> = const { Cell::new(7) }; }
#[inline(never)] pub fn calls() -> u64 { CALLS.set(CALLS.get() + 1); CALLS.get() }
static TABLE: [u64; 4] = [11, 22, 33, 44];
#[inline(never)] pub fn looked_up(at: usize) -> u64 { TABLE[at & 3] }
static TOTAL: AtomicU64 = AtomicU64::new(0);
#[inline(never)] pub fn total(more: u64) -> u64 { TOTAL.fetch_add(more, SeqCst) + more }
#[inline(never)] pub fn command(code: u8, x: u64) -> u64 {
    match code {
        0 => x.rotate_left(3), 1 => x / 7, 2 => x * 11, 3 => x ^ 99, 4 => x + 1000, 5 => x % 13, 6 => x.swap_bytes(),
        7 => x.count_ones() as u64, 8 => x >> 9, 9 => calls() + x, 10 => total(x), _ => looked_up(x as usize),
    }
}
#[inline(never)] pub fn checked(x: u64) -> u64 { assert!(x < 1000, "too large"); x.rotate_left(3) ^ 17 }
mod tests {
    use std::hint::black_box;
    #[test] fn by_vtable() { assert_eq!(super::sum(&black_box(vec![Box::new(super::Square(3)) as Box<dyn super::Shape>])), 9); }
    #[test] fn of_discs() { assert_eq!(super::sum(&black_box(vec![Box::new(super::Disc(3)) as Box<dyn super::Shape>])), 9); }
    #[test] fn generic() { assert_eq!(super::largest(black_box(&[1_u32, 5, 2])), 5); }
    #[test] fn of_a_thread() { assert_eq!(super::calls(), 8); }
    #[test] fn by_table() { assert_eq!(super::looked_up(black_box(2)), 33); }
    #[test] fn atomic() { assert_eq!(super::total(black_box(2)), 2); }
    #[test] fn by_jump_table() { assert_eq!(super::command(black_box(4), black_box(2)), 1002); }
    #[test] fn panics() { assert_eq!(super::checked(black_box(1)), 25); }
}
"#;
const TESTS: [&str; 8] = [
    "tests::by_vtable",
    "tests::of_discs",
    "tests::generic",
    "tests::of_a_thread",
    "tests::by_table",
    "tests::atomic",
    "tests::by_jump_table",
    "tests::panics",
];

/// Compiles a test crate for aarch64; says so and returns nothing if the standard library for it is not installed.
fn compile(source: &str, arguments: &[&str]) -> Option<Vec<u8>> {
    libraries()?;
    Some(rust_object(source, &[&["--test", "--target", TARGET], arguments].concat()))
}

/// Returns the folder of the standard library for aarch64.
fn libraries() -> Option<PathBuf> {
    let output = rustc().args(["--print=target-libdir", "--target", TARGET]).output().unwrap();
    let folder = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    if !folder.is_dir() {
        println!("skipped: code for {TARGET} cannot be compiled: rustup target add {TARGET}");
        return None;
    }
    Some(folder)
}

/// Compares the story with an edited copy.
fn compare_edit(from: &str, to: &str) -> Option<Comparison> {
    assert!(STORY.contains(from), "{from}");
    let head = STORY.replace(from, to);
    let (base, head) = (unit(STORY, &compile(STORY, &[])?), unit(&head, &compile(&head, &[])?));
    Some(between(&[&base], &[&head], &TESTS))
}

/// Checks that exactly these tests reach the edited code.
#[track_caller]
fn check(from: &str, to: &str, expected: &[&str]) {
    let Some(comparison) = compare_edit(from, to) else { return };
    for test in TESTS {
        let name = test.trim_start_matches("tests::");
        if expected.contains(&name) { drop(changed_code(&comparison, test).clone()) } else { same(&comparison, test) }
    }
}

#[test]
fn only_tests_that_reach_an_edit_are_changed() {
    check("self.0 * self.0", "self.0 * self.0 + 1", &["by_vtable"]);
    check("self.0 * 3", "self.0 * 5", &["of_discs"]);
    check("*one > best", "*one >= best", &["generic"]);
    check("Cell::new(7)", "Cell::new(8)", &["of_a_thread", "by_jump_table"]);
    check("33, 44", "33, 45", &["by_table", "by_jump_table"]);
    check("AtomicU64::new(0)", "AtomicU64::new(1)", &["atomic", "by_jump_table"]);
    check("fetch_add(more, SeqCst)", "fetch_sub(more, SeqCst)", &["atomic", "by_jump_table"]);
    check("too large", "too great", &["panics"]);
}

#[test]
fn shifted_lines_and_renamed_code_change_nothing() {
    check("#[inline(never)]", "// A comment.\n\n#[inline(never)]\n", &[]);
    check("best", "greatest", &[]);
    check("looked_up", "found_in_the_table", &[]);
}

#[test]
fn entries_of_a_jump_table_are_compared_although_they_have_no_relocation() {
    let Some(mut object) = compile(STORY, &[]) else { return };
    let base = unit(STORY, &object);
    let (at, size) = {
        let file = object::File::parse(&*object).unwrap();
        let is_table = |section: &object::Section<'_, '_>| {
            let name = section.name().unwrap();
            name.starts_with(".rodata.") && name.contains("command") && section.relocations().next().is_none()
        };
        file.sections().find(is_table).and_then(|section| section.file_range()).expect("a jump table")
    };
    assert!(size >= 11, "{size}");
    object[at as usize + 4] ^= 1;
    let comparison = between(&[&base], &[&unit(STORY, &object)], &TESTS);
    let code = &changed_code(&comparison, "tests::by_jump_table").frontier[0];
    assert_eq!(code.name, "story::command");
    assert!(matches!(code.what, What::Data(_)), "{:?}", code.what);
    same(&comparison, "tests::by_table");
}

/// Two functions with a stretch in common, which the compiler moves to a function of its own.
const OUTLINED: &str = r#"
unsafe extern "C" { safe fn step(x: u64) -> u64; }
macro_rules! steps { ($x:expr) => { step(step(step(step(step(step($x ^ 1) + 2) ^ 3) + 4) ^ 5) + 6) } }
#[inline(never)] pub fn one(x: u64) -> u64 { steps!(x * 3) + 100 }
#[inline(never)] pub fn two(x: u64) -> u64 { steps!(x * 5) + 200 }
mod tests {
    use std::hint::black_box;
    #[test] fn of_one() { assert_ne!(super::one(black_box(1)), 0); }
    #[test] fn of_two() { assert_ne!(super::two(black_box(1)), 0); }
}
"#;

#[test]
fn numbers_of_outlined_functions_mean_nothing() {
    let outlined = |source: &str| compile(source, &["-Copt-level=s", "-Cllvm-args=--enable-machine-outliner=always"]);
    let Some(object) = outlined(OUTLINED) else { return };
    let text = String::from_utf8_lossy(&object);
    assert!(text.contains("OUTLINED_FUNCTION_0"), "the compiler outlines nothing");
    let base = unit(OUTLINED, &object);
    // Other functions with a stretch in common, in front of these, move all numbers.
    let more = r#"
        unsafe extern "C" { safe fn leap(x: u64) -> u64; }
        macro_rules! leaps { ($x:expr) => { leap(leap(leap(leap(leap(leap($x / 9) * 8) - 7) * 6) - 5) * 4) } }
        #[unsafe(no_mangle)] pub fn three(x: u64) -> u64 { leaps!(x % 3) - 100 }
        #[unsafe(no_mangle)] pub fn four(x: u64) -> u64 { leaps!(x % 5) - 200 }
    "#;
    let head = format!("{more}{OUTLINED}");
    let comparison = between(&[&base], &[&unit(&head, &outlined(&head).unwrap())], &["tests::of_one", "tests::of_two"]);
    same(&comparison, "tests::of_one");
    same(&comparison, "tests::of_two");
    let head = OUTLINED.replace("+ 4", "+ 40");
    let comparison = between(&[&base], &[&unit(&head, &outlined(&head).unwrap())], &["tests::of_one", "tests::of_two"]);
    changed_code(&comparison, "tests::of_one");
    let head = OUTLINED.replace("+ 200", "+ 201");
    let comparison = between(&[&base], &[&unit(&head, &outlined(&head).unwrap())], &["tests::of_one", "tests::of_two"]);
    same(&comparison, "tests::of_one");
    changed_by(&comparison, "tests::of_two", &[("story::two", What::Code)]);
}

/// The code of one file as objdump prints it.
#[derive(Default)]
struct Reference {
    functions: usize,
    /// Addresses or offsets, words, mnemonics, and targets of jumps.
    instructions: Vec<(u64, u32, String, Option<u64>)>,
    /// Positions of instructions with a relocation, for which objdump prints the symbol as target.
    relocated: BTreeSet<usize>,
    /// Offsets and names of relocations, by section.
    relocations: BTreeMap<String, Vec<(u64, String)>>,
}

impl Reference {
    fn parse(text: &str) -> Self {
        let (mut reference, mut section) = (Self::default(), String::new());
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("Disassembly of section ") {
                name.trim_end_matches(':').clone_into(&mut section);
            } else if line.ends_with(">:") {
                reference.functions += 1;
            } else if let Some((offset, kind)) = line.trim().split_once(": R_AARCH64_") {
                let kind = kind.split_whitespace().next().unwrap().to_owned();
                let offset = u64::from_str_radix(offset, 16).unwrap();
                reference.relocated.insert(reference.instructions.len() - 1);
                reference.relocations.entry(section.clone()).or_default().push((offset, kind));
            } else if let Some((address, rest)) = line.split_once(":\t") {
                let mut columns = rest.split('\t');
                let (Ok(address), Some(word)) = (u64::from_str_radix(address.trim(), 16), columns.next()) else {
                    continue;
                };
                let (Ok(word), Some(mnemonic)) = (u32::from_str_radix(word.trim(), 16), columns.next()) else {
                    continue;
                };
                let operands = columns.next().unwrap_or_default();
                let operands = operands.split(" <").next().unwrap_or_default();
                let last = operands.rsplit(", ").next().unwrap_or_default();
                let jumps = mnemonic == "b"
                    || mnemonic.starts_with("b.")
                    || mnemonic.starts_with("cb")
                    || mnemonic.starts_with("tb");
                let jumps = jumps && mnemonic != "tbl" && mnemonic != "tbx";
                let target =
                    last.split(' ').next().and_then(|text| u64::from_str_radix(text, 16).ok()).filter(|_| jumps);
                assert_eq!(target.is_some(), jumps, "{line}");
                reference.instructions.push((address, word, mnemonic.trim().to_owned(), target));
            }
        }
        reference
    }
}

/// Returns the objects of an archive, or the file itself.
fn objects(bytes: &[u8]) -> Vec<(String, &[u8])> {
    let Ok(archive) = ArchiveFile::parse(bytes) else { return vec![("file".to_owned(), bytes)] };
    let members = archive.members().map(|member| member.unwrap());
    let named =
        members.map(|member| (String::from_utf8_lossy(member.name()).into_owned(), member.data(bytes).unwrap()));
    named.filter(|(_, bytes)| bytes.starts_with(b"\x7fELF")).collect()
}

/// Compares with objdump: the standard library's objects, which have about 4,000 functions, and the files in
/// `PERFUNIT_AARCH64_FILES`, such as libraries that cargo compiled for aarch64.
#[test]
#[ignore = "needs aarch64-linux-gnu-objdump (binutils-aarch64-linux-gnu) or PERFUNIT_OBJDUMP, and takes minutes"]
fn instructions_and_relocations_are_those_that_objdump_reads() {
    let Some(folder) = libraries() else { return };
    let objdump = std::env::var("PERFUNIT_OBJDUMP").unwrap_or_else(|_| "aarch64-linux-gnu-objdump".to_owned());
    let libraries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = libraries.filter(|path| path.extension().is_some_and(|end| end == "rlib")).collect();
    files.extend(std::env::var("PERFUNIT_AARCH64_FILES").unwrap_or_default().split_whitespace().map(PathBuf::from));
    let scratch = tempfile::tempdir().unwrap();
    let (mut functions, mut instructions, mut jumps, mut relocations) = (0, 0, 0, 0);
    let mut mnemonics: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    let mut kinds: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        for (name, object) in objects(&bytes) {
            let path = scratch.path().join("object");
            std::fs::write(&path, object).unwrap();
            let output = Command::new(&objdump).args(["-d", "-r", "-M", "no-aliases"]).arg(&path).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let reference = Reference::parse(&String::from_utf8_lossy(&output.stdout));
            functions += reference.functions;
            for (position, (address, word, mnemonic, target)) in reference.instructions.into_iter().enumerate() {
                // Constants between functions.
                if mnemonic.starts_with('.') || mnemonic == "udf" {
                    continue;
                }
                let [own] = decode(Architecture::Aarch64, &word.to_le_bytes())[..] else { panic!("one instruction") };
                let jump = own.jump.map(|distance| address.wrapping_add(distance));
                let target = if reference.relocated.contains(&position) { target.and(jump) } else { target };
                assert_eq!(jump, target, "{name} {address:x}: {word:08x} {mnemonic}");
                instructions += 1;
                jumps += usize::from(jump.is_some());
                mnemonics.entry(own.operation).or_default().insert(mnemonic);
            }
            if let Ok(elf) = Elf::parse(object) {
                for section in elf.sections.iter().filter(|section| section.role == Role::Whole(Kind::Code)) {
                    let found = reference.relocations.get(section.name).map(Vec::as_slice).unwrap_or_default();
                    let found: Vec<_> = found.iter().filter(|(_, kind)| kind != "NONE").collect();
                    // Several sections can have one name.
                    let is_unique = elf.sections.iter().filter(|other| other.name == section.name).count() == 1;
                    assert!(!is_unique || found.len() == section.relocations.len(), "{name} {}", section.name);
                    for (own, (offset, kind)) in section.relocations.iter().zip(found).filter(|_| is_unique) {
                        assert_eq!(own.offset, *offset, "{name} {}", section.name);
                        kinds.entry(own.kind).or_default().insert(kind.clone());
                        relocations += 1;
                    }
                }
            }
        }
    }
    println!("{functions} functions, {instructions} instructions, {jumps} jumps, {relocations} relocations");
    println!("{} operations, {} kinds of relocations: {:?}", mnemonics.len(), kinds.len(), kinds.values());
    let confused: Vec<_> = mnemonics.iter().filter(|(_, names)| names.len() > 1).collect();
    assert!(confused.is_empty(), "{confused:x?}");
    assert!(kinds.values().all(|names| names.len() == 1), "{kinds:?}");
    assert!(functions >= 10_000, "{functions}");
}
