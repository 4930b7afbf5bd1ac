//! `async fn`s with probes.

#![deny(warnings)]

extern crate __perfunit_runtime;

use __perfunit_runtime::{events, note, Noted};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::future::Future;
use std::num::ParseIntError;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

#[track_caller]
fn check(expected: &str) {
    assert_eq!(events(), expected);
}

struct NoWaker;

impl Wake for NoWaker {
    fn wake(self: Arc<Self>) {}
}

fn poll<F: Future + ?Sized>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::new(NoWaker))))
}

fn run<F: Future>(future: F) -> F::Output {
    let mut future = Box::pin(future);
    loop {
        if let Poll::Ready(output) = poll(&mut future) {
            return output;
        }
    }
}

/// A future that is ready at the second poll.
struct Later(bool);

impl Future for Later {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

fn later() -> Later {
    Later(false)
}

#[perfunit_probe(1u64)]
async fn waits() {
    note("before");
    later().await;
    note("after");
}

#[perfunit_probe(2u64)]
async fn parses(text: &str) -> Result<u64, Box<dyn std::error::Error>> {
    if text.is_empty() {
        return Err("empty".into());
    }
    let number: u64 = text.parse()?;
    waits().await;
    Ok(number.into())
}

#[test]
fn probes_are_entered_at_each_poll() {
    let made = waits();
    check("");
    run(made);
    check("+1 before -1 +1 after -1");
    assert_eq!(run(parses("7")).unwrap(), 7);
    check("+2 +1 before -1 -2 +2 +1 after -1 -2");
}

#[test]
fn early_ends_leave() {
    assert_eq!(run(parses("")).unwrap_err().to_string(), "empty");
    assert!(run(parses("x")).unwrap_err().is::<ParseIntError>());
    check("+2 -2 +2 -2");
}

macro_rules! drops {
    ($name:ident, $($probe:tt)*) => {
        $($probe)*
        #[allow(unused_variables)]
        async fn $name(
            unused: Noted,
            (first, _): (Noted, Noted),
            _: Noted,
            mut used: Noted,
            ref mut borrowed: Noted,
            [one, ..]: [Noted; 2],
            whole @ Noted(_): Noted,
        ) -> u8 {
            let local = Noted("local");
            let temporary = |_| 3;
            used.0 = "used";
            borrowed.0 = "borrowed";
            later().await;
            let moved = one;
            temporary(&Noted("end"))
        }
    };
}

drops!(plain,);
drops!(with_probe, #[perfunit_probe(3u64)]);

#[test]
fn what_is_dropped_is_dropped_in_the_same_order() {
    macro_rules! call {
        ($name:ident) => {
            $name(
                Noted("unused"),
                (Noted("first"), Noted("second")),
                Noted("nameless"),
                Noted("?"),
                Noted("?"),
                [Noted("one"), Noted("two")],
                Noted("whole"),
            )
        };
    }
    let without_probe = |text: String| text.replace("+3 ", "").replace("-3 ", "").replace(" -3", "");
    run(call!(plain));
    let expected = events();
    assert_eq!(expected.split(' ').count(), 11, "{}", expected);
    run(call!(with_probe));
    let inside = events();
    assert!(inside.starts_with("+3 -3 +3 ") && inside.ends_with(" -3"), "{}", inside);
    assert_eq!(without_probe(inside), expected);

    // Half way, and before the start.
    let (mut future, mut ours) = (Box::pin(call!(plain)), Box::pin(call!(with_probe)));
    assert!(poll(&mut future).is_pending());
    drop(future);
    let expected = events();
    assert!(poll(&mut ours).is_pending());
    drop(ours);
    assert_eq!(without_probe(events()), expected);
    drop(call!(plain));
    let expected = events();
    drop(call!(with_probe));
    assert_eq!(events(), expected);
}

struct Pair {
    left: Noted,
    right: Noted,
}

impl Pair {
    async fn plain(self, cell: RefCell<u8>) -> u8 {
        note(self.right.0);
        *cell.borrow()
    }

    #[perfunit_probe(4u64)]
    async fn with_probe(self, cell: RefCell<u8>) -> u8 {
        note(self.right.0);
        *cell.borrow()
    }

    #[perfunit_probe(5u64)]
    async fn changes(&mut self, by: &'static str) -> &mut Noted {
        later().await;
        self.left.0 = by;
        &mut self.left
    }

    #[perfunit_probe(6u64)]
    async fn boxed(mut self: Box<Self>) -> &'static str {
        self.left.0 = "boxed";
        self.left.0
    }

    #[perfunit_probe(7u64)]
    async fn pinned(mut self: Pin<&mut Self>) -> &str {
        self.as_mut().left.0 = "pinned";
        self.get_mut().left.0
    }
}

fn pair() -> Pair {
    Pair { left: Noted("left"), right: Noted("right") }
}

#[test]
fn methods() {
    run(pair().plain(RefCell::new(1)));
    check("right left right");
    assert_eq!(run(pair().with_probe(RefCell::new(1))), 1);
    check("+4 right left right -4");
    let mut pair = pair();
    run(pair.changes("changed")).0 = "again";
    assert_eq!(run(Pin::new(&mut pair).pinned()), "pinned");
    assert_eq!(run(Box::new(pair).boxed()), "boxed");
    check("+5 -5 +5 -5 +7 -7 +6 boxed right -6");
}

trait Source {
    fn required(&self) -> u8;

    #[perfunit_probe(8u64)]
    async fn by_default(&self, more: u8) -> u8 {
        later().await;
        self.required() + more
    }

    async fn implemented(self) -> Option<Box<dyn Display>>;
}

impl Source for u8 {
    fn required(&self) -> u8 {
        *self
    }

    #[perfunit_probe(9u64)]
    async fn implemented(self) -> Option<Box<dyn Display>> {
        if self == 0 {
            return None;
        } else if self == 1 {
            return Some(Box::new("one"));
        }
        Some(Box::new(self))
    }
}

#[test]
fn methods_of_traits() {
    assert_eq!(run(3u8.by_default(4)), 7);
    let shown: Vec<String> = (0..3).filter_map(|i: u8| Some(run(i.implemented())?.to_string())).collect();
    assert_eq!(shown, ["one", "2"]);
    check("+8 -8 +8 -8 +9 -9 +9 -9 +9 -9");
}

#[perfunit_probe(10u64)]
async fn coerces(way: u8) -> Box<dyn Fn(u8) -> u8 + Send> {
    match way {
        0 => return Box::new(|byte| byte.wrapping_add(1)),
        1 => return Box::new(move |byte| byte.wrapping_add(way)),
        _ => {}
    }
    later().await;
    Box::new(|byte| byte.count_ones() as u8)
}

#[perfunit_probe(11u64)]
async fn collects<T: Ord + Clone>(values: &[T]) -> BTreeMap<T, usize> {
    values.iter().cloned().zip(0..).collect()
}

#[perfunit_probe(12u64)]
async fn borrows<'a, 'b: 'a>(left: &'a mut Vec<&'b str>, right: &'b str) -> (&'a [&'b str], impl Display + 'b) {
    later().await;
    left.push(right);
    (left, right.len())
}

#[perfunit_probe(13u64)]
async fn some_error(
    text: &str,
    values: impl IntoIterator<Item = u8>,
) -> Result<impl Debug + Iterator<Item = u8>, Box<dyn std::error::Error + Send + Sync>> {
    let number: u8 = text.parse()?;
    if number == 0 {
        Err("zero")?;
    }
    let values: Vec<_> = values.into_iter().collect();
    Ok(values.into_iter().map(|value| value).collect::<Vec<_>>().into_iter())
}

#[perfunit_probe(14u64)]
async fn nothing_but_a_trait(flag: bool) -> impl Display {
    if flag {
        return 1;
    }
    2
}

#[perfunit_probe(15u64)]
async fn closure() -> impl Fn(&str) -> usize {
    |text| text.len()
}

#[perfunit_probe(16u64)]
async fn returns() -> usize {
    return "x".len();
}

#[perfunit_probe(17u64)]
async fn unfinished() -> usize {
    todo!()
}

#[test]
fn types_are_inferred_as_before() {
    assert_eq!((run(coerces(0))(6), run(coerces(1))(6), run(coerces(2))(6)), (7, 7, 2));
    assert_eq!(run(collects(&["b", "a"])), vec![("a", 1), ("b", 0)].into_iter().collect());
    let mut list = vec!["x"];
    let (all, size) = run(borrows(&mut list, "yy"));
    assert_eq!((all, size.to_string()), (&["x", "yy"][..], "2".to_string()));
    assert_eq!(run(some_error("3", vec![1, 2])).unwrap().sum::<u8>(), 3);
    assert_eq!(run(some_error("0", vec![])).unwrap_err().to_string(), "zero");
    assert_eq!(run(nothing_but_a_trait(true)).to_string(), "1");
    assert_eq!((run(closure())("text"), run(returns())), (4, 1));
    events();
    assert!(std::panic::catch_unwind(|| run(unfinished())).is_err());
    check("+17 -17");
}

#[perfunit_probe(18u64)]
async fn forever() -> ! {
    loop {
        later().await;
    }
}

#[perfunit_probe(19u64)]
async fn never() -> ! {
    later().await;
    panic!("expected")
}

enum Void {}

#[perfunit_probe(20u64)]
async fn void(flag: bool) -> Result<Void, u8> {
    if flag {
        return Err(1);
    }
    Err(2)
}

#[test]
fn functions_that_never_return() {
    assert!(poll(&mut Box::pin(forever())).is_pending());
    check("+18 -18");
    assert!(std::panic::catch_unwind(|| run(async {
        never().await;
    }))
    .is_err());
    check("+19 -19 +19 -19");
    assert!(matches!(run(void(true)), Err(1)));
}

#[perfunit_probe(21u64)]
async unsafe fn reads(byte: *const u8) -> u8 {
    #![allow(unused_variables)]
    use std::ptr::read;
    macro_rules! again {
        ($of:expr) => {
            // SAFETY: the caller's duty.
            unsafe { read($of) }
        };
    }
    let unused = 0;
    again!(byte)
}

#[perfunit_probe(22u64)]
async fn configured(#[cfg(any())] gone: u8, #[cfg(all())] (kept, _): (u8, u8), #[allow(unused)] mut other: u8) -> u8 {
    let __perfunit_arg1 = 1;
    kept + __perfunit_arg1
}

#[perfunit_probe(23u64)]
fn recurses(depth: u8) -> Pin<Box<dyn Future<Output = u8> + Send>> {
    Box::pin(async move {
        if depth == 0 {
            return 0;
        }
        recurses(depth - 1).await + 1
    })
}

#[perfunit_probe(24u64)]
fn made<'a>(text: &'a str) -> impl Future<Output = Result<usize, ParseIntError>> + Send + 'a {
    async move { Ok(text.parse::<usize>()? + 1) }
}

#[perfunit_probe(25u64)]
fn not_only_made() -> Pin<Box<dyn Future<Output = ()>>> {
    note("making");
    Box::pin(async { note("polled") })
}

#[test]
fn shapes() {
    // SAFETY: the pointer refers to a value.
    assert_eq!(run(unsafe { reads(&3) }), 3);
    assert_eq!(run(configured((1, 0), 2)), 2);
    events();
    assert_eq!(run(recurses(1)), 1);
    assert_eq!(run(made("3")), Ok(4));
    check("+23 +23 -23 -23 +24 -24");
    run(not_only_made());
    check("+25 making -25 polled");
}

#[perfunit_probe(26u64)]
async fn crosses_threads<T: Send + Clone>(ref value: Arc<T>, _: Cell<u8>, text: &mut String) -> Vec<T> {
    let copied = (**value).clone();
    later().await;
    text.push('x');
    vec![copied]
}

#[test]
fn futures_stay_send() {
    fn send<F: Future + Send>(future: F) -> F {
        future
    }
    let mut text = String::new();
    assert_eq!(run(send(crosses_threads(Arc::new(3), Cell::new(0), &mut text))), [3]);
    let result = std::thread::spawn(|| run(async { parses_all(&["1", "2"]).await })).join().unwrap();
    assert_eq!(result.unwrap(), [1, 2]);
}

#[perfunit_probe(27u64)]
async fn parses_all(texts: &[&str]) -> Result<Vec<u8>, ParseIntError> {
    let mut all = Vec::new();
    for text in texts {
        later().await;
        all.push(text.parse()?);
    }
    Ok(all)
}

#[macro_use(perfunit_probe)]
extern crate perfunit_macros as __perfunit_probes;
