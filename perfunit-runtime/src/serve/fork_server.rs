//! A process that forks a child for each requested test and runs no test itself.
//!
//! For a test, a child is like a new process: its memory is that of a process at the beginning of its main function,
//! and it shares no thread, lock or random numbers with its siblings. It costs a tenth of starting the program, which
//! involves the dynamic linker, page faults and copies of pages.
//!
//! Pages that base and head do not share are different in each child, because their placement in physical memory must
//! vary between the pairs of a test. They are copies that the server keeps for other tests too, or the child's own.

use super::first_calls::has_other_threads;
use super::seat::{self, Seat};
use crate::memory::{close_copy, Settled};
use crate::page::NO_COPY;
use crate::streams::Streams;
use crate::sys::{self, Forked};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// State that children take over from their server.
struct Server {
    seat: Seat,
    settled: Option<Settled>,
}

/// Forks a child for each request. Returns only in the children, with the name of the test to serve.
pub fn next_test() -> String {
    let Some((seat, settled)) = seat::open(false) else { sys::exit_now(2) };
    // A box, because a static of this type would move the data after it.
    let server: &'static Server = Box::leak(Box::new(Server { seat, settled }));
    let (page, area) = (server.seat.page, server.seat.area());
    if has_other_threads() {
        unable(server);
    }
    let streams = Streams::find(server.seat.streams);
    let (mut answered, mut ended) = (0, None);
    let mut copies = Vec::new();
    loop {
        let asked = page.asked.load(Acquire);
        if asked == answered {
            sys::futex_wait(&page.asked, asked);
            continue;
        }
        ended.take().map(sys::wait_for);
        let number = page.copy.load(Relaxed);
        if number != NO_COPY && number as usize == copies.len() {
            copies.extend(server.settled.as_ref().and_then(Settled::copy));
        }
        match sys::fork_process() {
            Forked::Child => return begin(server, streams, &copies),
            Forked::Refused => unable(server),
            Forked::Parent(id) => {
                area.status.store(sys::see_end_of(id), Relaxed);
                ended = Some(id);
            }
        }
        answered = asked;
        area.answered.store(asked, Release);
        tell(server);
    }
}

fn tell(server: &Server) {
    server.seat.page.ended.fetch_add(1, Release);
    sys::futex_wake(&server.seat.page.ended);
}

/// Ends a server that cannot fork. The tool notices that it is gone.
fn unable(server: &Server) -> ! {
    server.seat.area().cannot_fork.store(1, Release);
    tell(server);
    sys::exit_now(0)
}

/// Prepares a child to be like a new process. Returns the name of the test.
fn begin(server: &'static Server, streams: Option<Streams>, copies: &[i32]) -> String {
    sys::die_with_parent();
    let (page, area) = (server.seat.page, server.seat.area());
    if let Some(streams) = streams {
        streams.start(page.seed.load(Relaxed));
    }
    let copy = copies.get(page.copy.load(Relaxed) as usize).copied();
    if server.settled.as_ref().is_some_and(|settled| settled.renew(copy)) {
        area.settled.store(1, Relaxed);
    }
    for copy in copies {
        close_copy(*copy);
    }
    seat::take_after(&server.seat);
    page.name()
}
