//! Functions with probes, in code that is valid in every edition.

#![forbid(unsafe_op_in_unsafe_fn)]
#![deny(warnings)]

extern crate __perfunit_runtime;

use __perfunit_runtime::{events, note, Noted};
use std::cell::RefCell;
use std::fmt::{Debug, Display};
use std::panic::{catch_unwind, Location};
use std::pin::Pin;

#[track_caller]
fn check(expected: &str) {
    assert_eq!(events(), expected);
}

#[perfunit_probe(1u64)]
fn outer(left: u8) -> u8 {
    note("before");
    let sum = inner(left) + inner(left);
    note("after");
    sum
}

/// Documented.
#[perfunit_probe(2u64)]
#[must_use]
#[inline(always)]
pub(crate) fn inner(depth: u8) -> u8 {
    if depth == 0 {
        return 1;
    }
    1 + inner(depth - 1)
}

#[test]
fn calls_nest() {
    assert_eq!(outer(1), 4);
    check("+1 before +2 +2 -2 -2 +2 +2 -2 -2 after -1");
}

#[perfunit_probe(3u64)]
fn fails(text: &str) -> Result<u8, std::num::ParseIntError> {
    let number = text.parse::<u8>()?;
    note("parsed");
    Ok(number)
}

#[test]
fn early_ends_leave() {
    assert!(fails("x").is_err());
    check("+3 -3");
    assert_eq!(fails("7"), Ok(7));
    check("+3 parsed -3");
}

#[perfunit_probe(4u64)]
fn panics() -> ! {
    let _local = Noted("local");
    panic!("expected")
}

#[test]
fn panics_leave() {
    assert!(catch_unwind(|| panics()).is_err());
    check("+4 local -4");
}

#[perfunit_probe(5u64)]
fn keeps_drop_order(_argument: Noted) {
    let _local = Noted("local");
    note("body");
}

#[test]
fn locals_are_dropped_inside_and_arguments_after() {
    keeps_drop_order(Noted("argument"));
    check("+5 body local -5 argument");
}

// Does not compile in any edition if the body is nested in other statements.
#[perfunit_probe(6u64)]
fn temporaries_borrow_arguments(cell: RefCell<u8>) -> u8 {
    *cell.borrow()
}

#[perfunit_probe(7u64)]
fn temporaries_of_the_end<'a>(lock: &'a RefCell<Vec<u8>>, more: RefCell<Vec<u8>>) -> usize {
    lock.borrow().len() + more.borrow().iter().map(|byte| usize::from(*byte)).sum::<usize>()
}

#[test]
fn last_expressions_keep_their_temporaries() {
    assert_eq!(temporaries_borrow_arguments(RefCell::new(3)), 3);
    assert_eq!(temporaries_of_the_end(&RefCell::new(vec![1]), RefCell::new(vec![2, 3])), 6);
    check("+6 -6 +7 -7");
}

#[perfunit_probe(8u64)]
fn generic<'a, T: Debug, const N: usize>(
    parts: &'a [T; N],
    mut shown: impl FnMut(String),
) -> impl Iterator<Item = &'a T> + 'a
where
    T: PartialEq + 'a,
    [T; N]: Sized,
{
    shown(format!("{}", N));
    parts.iter().filter(move |part| **part != parts[0])
}

#[perfunit_probe(9u64)]
fn coerced(name: bool) -> Box<dyn Display> {
    if name {
        return Box::new("name");
    }
    Box::new(1)
}

#[test]
fn types_are_free() {
    let mut shown = String::new();
    assert_eq!(generic(&[1, 2, 3], |text| shown = text).count(), 2);
    assert_eq!(shown, "3");
    assert_eq!(generic(&["a", "b"], drop).count(), 1);
    assert_eq!(coerced(true).to_string() + &coerced(false).to_string(), "name1");
    check("+8 -8 +8 -8 +9 -9 +9 -9");
}

#[perfunit_probe(10u64)]
unsafe fn reads(byte: *const u8) -> u8 {
    // SAFETY: the caller's duty.
    unsafe { *byte }
}

#[perfunit_probe(11u64)]
extern "C" fn foreign(byte: u8, then: extern "C" fn(u8) -> u8) -> u8 {
    then(byte) + 1
}

#[perfunit_probe(12u64)]
extern "C" fn doubled(byte: u8) -> u8 {
    byte * 2
}

#[perfunit_probe(13u64)]
#[track_caller]
fn where_am_i() -> u32 {
    Location::caller().line()
}

#[cfg(target_arch = "x86_64")]
#[perfunit_probe(14u64)]
#[target_feature(enable = "sse4.2")]
unsafe fn with_feature(value: u32) -> u32 {
    value.count_ones()
}

#[test]
fn qualifiers_and_attributes_stay() {
    // SAFETY: the pointer refers to a value, and all our machines have the feature.
    assert_eq!(unsafe { reads(&7) }, 7);
    assert_eq!(foreign(2, doubled), 5);
    assert_eq!(where_am_i(), line!());
    check("+10 -10 +11 +12 -12 -11 +13 -13");
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as above.
    assert_eq!(unsafe { with_feature(3) }, 2);
}

#[derive(Default)]
struct Counter(u8);

trait Counts {
    const START: u8;
    type Step;
    fn required(&self) -> u8;

    #[perfunit_probe(15u64)]
    fn by_default(&self) -> u8 {
        self.required() + Self::START
    }

    #[perfunit_probe(16u64)]
    fn made() -> Self
    where
        Self: Sized + Default,
    {
        Self::default()
    }
}

impl Counts for Counter {
    const START: u8 = 1;
    type Step = u8;

    #[perfunit_probe(17u64)]
    fn required(&self) -> u8 {
        self.0
    }
}

impl Counter {
    #[perfunit_probe(18u64)]
    pub fn add(&mut self, (by, _): (u8, u8), Counter(more): Counter) -> &mut Self {
        self.0 += by + more;
        self
    }

    #[perfunit_probe(19u64)]
    fn into_inner(mut self) -> u8 {
        self.0 += 1;
        self.0
    }

    #[perfunit_probe(20u64)]
    fn boxed(self: Box<Self>) -> u8 {
        self.0
    }

    #[perfunit_probe(21u64)]
    fn pinned(mut self: Pin<&mut Self>) -> u8 {
        self.as_mut().0 += 1;
        self.0
    }
}

#[test]
fn methods() {
    let mut counter = Counter::made();
    counter.add((1, 9), Counter(2)).add((3, 9), Counter(0));
    assert_eq!((counter.by_default(), Pin::new(&mut counter).pinned()), (7, 7));
    assert_eq!((Box::new(counter).boxed(), Counter(1).into_inner()), (7, 2));
    check("+16 -16 +18 -18 +18 -18 +15 +17 -17 -15 +21 -21 +20 -20 +19 -19");
}

#[perfunit_probe(22u64)]
fn nests() -> u8 {
    #![allow(unused_variables)]
    //! Inner attributes come first.
    macro_rules! one {
        () => {
            1
        };
    }
    use std::cmp::max;
    const TWO: u8 = 2;
    #[perfunit_probe(23u64)]
    fn nested() -> u8 {
        static COUNT: u8 = 3;
        COUNT
    }
    let unused = 0;
    let closure = |byte| max(byte, nested());
    closure(one!()) + TWO
}

#[perfunit_probe(24u64)]
fn empty() {}

#[test]
fn bodies_keep_their_items_and_attributes() {
    assert_eq!(nests(), 5);
    empty();
    check("+22 +23 -23 -22 +24 -24");
}

macro_rules! function {
    ($(#[$meta:meta])* $visible:vis $name:ident($argument:ident: $of:ty) -> $result:ty $body:block) => {
        $(#[$meta])* #[perfunit_probe(25u64)] $visible fn $name($argument: $of) -> $result $body
    };
    (patterns $name:ident, $argument:pat => $of:ty, $value:expr) => {
        #[perfunit_probe(26u64)]
        fn $name($argument: $of) -> [u8; $value] { [$value; $value] }
    };
    (item $item:item) => {
        #[perfunit_probe(27u64)]
        $item
    };
}

function! { #[inline] #[doc = "x"] pub(crate) from_macro(value: u8) -> Option<u8> { let __perfunit_guard = 1; Some(value + __perfunit_guard) } }
function! { patterns from_parts, (_, _) => (u8, u8), 1 + 2 }
function! { item fn from_item() {} }

#[test]
fn functions_of_macros() {
    assert_eq!(from_macro(1), Some(2));
    assert_eq!(from_parts((1, 2)), [3, 3, 3]);
    from_item();
    check("+25 -25 +26 -26 +27 -27");
}

#[perfunit_probe(28u64)]
const fn constant() -> u8 {
    3
}

#[cfg(target_arch = "x86_64")]
#[perfunit_probe(29u64)]
#[unsafe(naked)]
extern "C" fn naked() -> u32 {
    std::arch::naked_asm!("mov eax, 5", "ret")
}

#[perfunit_probe(30u64)]
#[test]
fn tests_pass_through() {
    const THREE: u8 = constant();
    assert_eq!(THREE, constant());
    #[cfg(target_arch = "x86_64")]
    assert_eq!(naked(), 5);
    check("");
}

mod bare {
    #![no_implicit_prelude]
    #![forbid(unsafe_code)]

    // Except in edition 2015, names from `#[macro_use]` count as part of the prelude.
    #[::__perfunit_probes::perfunit_probe(31u64)]
    pub fn without_prelude(value: u8) -> u8 {
        value
    }

    #[allow(dead_code)]
    mod __perfunit_runtime {}
    #[allow(dead_code)]
    mod core {}
}

#[test]
fn names_need_no_prelude() {
    assert_eq!(bare::without_prelude(1), 1);
    check("+31 -31");
}

#[macro_use(perfunit_probe)]
extern crate perfunit_macros as __perfunit_probes;
