//! Null edits of functions that tests execute: statements at the start of a body that do the same in both versions.
//!
//! Only paths of `core`, for crates without `std`. All values are opaque, so that nothing can be computed beforehand.
//! What decides a branch is read from a static: `black_box` writes to the stack and reads it again, which takes 0 or some
//! cycles by the slot and the register that the compiler takes, and so would be other work.

use super::edits::{self, Edit, Place};
use super::nulls::{Kind, Null};
use fastrand::Rng;
use perfunit_model::Sides;
use std::fmt::Write;
use std::ops::RangeInclusive;

/// Bytes that the padding of head may have; a short jump reaches over all of them.
const PADDINGS: [usize; 7] = [10, 18, 26, 34, 42, 50, 58];
/// Bytes that base's has.
const BASE_PADDING: usize = 2;

/// Arms that are never taken. From four on there is a table of addresses, and what is executed does not depend on how
/// many there are.
const FEW_ARMS: RangeInclusive<usize> = 5..=7;
const MANY_ARMS: RangeInclusive<usize> = 8..=24;

/// Always 0, which the compiler cannot know.
const ZERO: &str = "{ #[used] static ZERO: core::sync::atomic::AtomicU8 = core::sync::atomic::AtomicU8::new(0); \
                    ZERO.load(core::sync::atomic::Ordering::Relaxed) }";

/// Every kind of edit at the start of every function, in a random order in which all kinds come up equally often.
pub fn edits(sites: &[Edit], random: &mut Rng) -> Vec<Null> {
    let is_function = |edit: &&Edit| {
        let is_start = matches!(edit.kind, edits::Kind::Function | edits::Kind::Generic | edits::Kind::TraitMethod);
        is_start && edit.place == Place::Source
    };
    let functions: Vec<&Edit> = sites.iter().filter(is_function).collect();
    // The jump is written in the language of one machine.
    let padding = cfg!(target_arch = "x86_64").then_some(Kind::Padding);
    let others = [Kind::PanicMessage, Kind::MatchArms, Kind::ColdOrder, Kind::ColdBody];
    let kinds: Vec<Kind> = padding.into_iter().chain(others).collect();
    let mut orders: Vec<Vec<&Edit>> = kinds.iter().map(|_| functions.clone()).collect();
    for order in &mut orders {
        random.shuffle(order);
    }
    let mut drawn = Vec::with_capacity(functions.len() * kinds.len());
    for round in 0..functions.len() {
        for (kind, order) in kinds.iter().zip(&orders) {
            let Edit { path, line, changes, .. } = order[round];
            let Some((place, _)) = changes.first() else { continue };
            let inserted = either_way(statements(*kind, random), random);
            drawn.push(Null { kind: *kind, path: path.clone(), line: *line, at: place.start, inserted });
        }
    }
    drawn
}

/// Growing and shrinking must both leave the verdict alone.
fn either_way(small_and_large: Sides<String>, random: &mut Rng) -> Sides<String> {
    let Sides { base, head } = small_and_large;
    if random.bool() { Sides { base: head, head: base } } else { Sides { base, head } }
}

fn statements(kind: Kind, random: &mut Rng) -> Sides<String> {
    match kind {
        Kind::Padding => {
            let bytes = random.choice(PADDINGS).unwrap_or(PADDINGS[0]);
            Sides { base: padding(BASE_PADDING), head: padding(bytes) }
        }
        Kind::PanicMessage => Sides { base: never("core::panic!(\"a\");"), head: never(&message(random)) },
        Kind::MatchArms => Sides { base: arms(random.usize(FEW_ARMS)), head: arms(random.usize(MANY_ARMS)) },
        Kind::ColdOrder => {
            let (one, two) = (never(&message(random)), never(&work(random.usize(2..=12))));
            Sides { base: format!("{one}{two}"), head: format!("{two}{one}") }
        }
        _ => Sides { base: never(&work(1)), head: never(&work(random.usize(3..=30))) },
    }
}

/// A label of one digit that is neither 0 nor 1: those read as binary numbers.
fn padding(bytes: usize) -> String {
    format!(
        " unsafe {{ core::arch::asm!(\"jmp 2f\", \".skip {bytes}, 0x90\", \"2:\", \
         options(nomem, nostack, preserves_flags)) }}"
    )
}

/// A branch that is not taken, which only we know.
fn never(statements: &str) -> String {
    format!(" if {ZERO} != 0 {{ {statements} }}")
}

fn message(random: &mut Rng) -> String {
    let arguments = random.usize(1..=5);
    let mut text = "something that cannot be has come about all the same".to_owned();
    let mut values = String::new();
    for number in 0..arguments {
        let _ = write!(text, ", and value {number} was {{}}");
        let _ = write!(values, ", core::hint::black_box({number}u64)");
    }
    format!("core::panic!(\"{text}\"{values});")
}

/// Each arm computes something else: equal ones would become one.
fn arms(count: usize) -> String {
    let mut arms = String::from("0 => {} ");
    for arm in 1..=count {
        let (factor, shift) = (2 * arm + 1, arm % 7 + 1);
        let _ = write!(
            arms,
            "{arm} => {{ let value = core::hint::black_box({arm}u64); \
             core::hint::black_box(value.wrapping_mul({factor}) ^ (value >> {shift})); }} "
        );
    }
    format!(" match {ZERO} {{ {arms}_ => {{}} }}")
}

/// A loop whose body has so many steps.
fn work(steps: usize) -> String {
    let mut body = String::new();
    for step in 0..steps {
        let (factor, shift) = (2 * step + 3, step % 11 + 1);
        let _ = write!(body, "value = value.wrapping_mul({factor}) ^ (value >> {shift}); ");
    }
    format!(
        "let mut value = core::hint::black_box(1u64); \
         while value < core::hint::black_box(1000) {{ {body}}} core::hint::black_box(value);"
    )
}
