//! Null edits of functions that tests execute: statements at the start of a body that do the same in both versions.
//!
//! They use only paths of `core`, for crates without `std`. All values are opaque, so that nothing can be computed at
//! compile time. Branch conditions are read from a static. `black_box` would write to the stack and read it again,
//! which takes a few cycles depending on the slot and register, and so would be different work.

use super::edits::{self, Edit, Place};
use super::nulls::{Kind, Null};
use fastrand::Rng;
use perfunit_model::Sides;
use std::fmt::Write;
use std::ops::RangeInclusive;

/// Padding of head in bytes; a short jump skips all of them.
const PADDINGS: [usize; 7] = [10, 18, 26, 34, 42, 50, 58];
/// Padding of base in bytes.
const BASE_PADDING: usize = 2;

/// Numbers of arms that are never taken. From four arms on there is a jump table, and the executed code does not depend
/// on their number.
const FEW_ARMS: RangeInclusive<usize> = 5..=7;
const MANY_ARMS: RangeInclusive<usize> = 8..=24;

/// Expression that is always 0, which the compiler cannot know.
const ZERO: &str = "{ #[used] static ZERO: core::sync::atomic::AtomicU8 = core::sync::atomic::AtomicU8::new(0); \
                    ZERO.load(core::sync::atomic::Ordering::Relaxed) }";

/// Returns every kind of edit at the start of every function, in a random order with all kinds equally frequent.
pub fn edits(sites: &[Edit], random: &mut Rng) -> Vec<Null> {
    let is_function = |edit: &&Edit| {
        let is_start = matches!(edit.kind, edits::Kind::Function | edits::Kind::Generic | edits::Kind::TraitMethod);
        is_start && edit.place == Place::Source
    };
    let functions: Vec<&Edit> = sites.iter().filter(is_function).collect();
    // The jump is written in x86-64 assembly.
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

/// Swaps the sides at random, because neither growing nor shrinking may affect the verdict.
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

/// Uses a label of one digit other than 0 and 1, which would be read as binary numbers.
fn padding(bytes: usize) -> String {
    format!(
        " unsafe {{ core::arch::asm!(\"jmp 2f\", \".skip {bytes}, 0x90\", \"2:\", \
         options(nomem, nostack, preserves_flags)) }}"
    )
}

/// Returns a branch that is never taken, which the compiler cannot know.
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

/// Returns arms that compute different values, because equal ones would be merged.
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

/// Returns a loop with this many steps in its body.
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
