//! Model of the protocol on the shared page, in every order that a processor with weak memory order allows.
//!
//! The tool writes a request, the fork server of each side sees it, the sides take turns, and the tool reads the results.
//! Everything but the request's number, the turn and the answers is read and written without order (`Relaxed`), as in
//! `page.rs`, `serve/seat.rs` and `serve/fork_server.rs`.

use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use loom::thread;

const SIDES: usize = 2;
const REPETITIONS: u32 = 7;

#[derive(Default)]
struct Page {
    asked: AtomicU32,
    turn: AtomicU32,
    repetitions: AtomicU32,
    times: [AtomicU32; SIDES],
    answered: [AtomicU32; SIDES],
}

/// Serves a request, if it is seen and the turn is this side's. The model tries all orders, so it need not wait for one.
fn serve(page: &Page, side: usize, end_of_turn: Ordering) {
    if page.asked.load(Acquire) == 0 || page.turn.load(Acquire) != side as u32 {
        return;
    }
    assert_eq!(page.repetitions.load(Relaxed), REPETITIONS);
    let before = side.checked_sub(1).map_or(10, |side| page.times[side].load(Relaxed));
    page.times[side].store(before + 1, Relaxed);
    page.turn.store(side as u32 + 1, end_of_turn);
    page.answered[side].store(1, Release);
}

/// Returns the number of orders in which the request was served.
fn serve_one_request(end_of_turn: Ordering) -> usize {
    let served = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&served);
    loom::model(move || {
        let page = Arc::new(Page::default());
        let sides = [0, 1].map(|side| {
            let page = Arc::clone(&page);
            thread::spawn(move || serve(&page, side, end_of_turn))
        });
        page.repetitions.store(REPETITIONS, Relaxed);
        page.asked.store(1, Release);
        if page.answered.iter().all(|answered| answered.load(Acquire) == 1) {
            assert_eq!([0, 1].map(|side| page.times[side].load(Relaxed)), [11, 12]);
            count.fetch_add(1, Relaxed);
        }
        for side in sides {
            side.join().unwrap();
        }
    });
    served.load(Relaxed)
}

#[test]
fn each_side_sees_the_request_and_the_turns_before_its_own() {
    assert!(serve_one_request(Release) > 0);
}

#[test]
#[should_panic(expected = "assertion `left == right` failed")]
fn the_model_shows_a_turn_that_ends_without_order() {
    serve_one_request(Relaxed);
}
