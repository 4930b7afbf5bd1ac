//! A process that forks a child for each test that the tool asks for, and itself runs none.
//!
//! A child is a fresh process as far as tests can tell: it has the memory of a process that has just begun its main function,
//! and shares no thread, no lock and no random number with its siblings. It costs a tenth of starting the program, which
//! takes the dynamic linker, page faults, and copies of pages.
//!
//! Pages that base and head do not have in common are others in each child, as their places in physical memory must vary
//! between the pairs of a test: copies that the server keeps, so that other tests get them, too, or the child's own.

use super::forked::has_other_threads;
use super::seat::{self, Seat};
use crate::memory::{close_copy, Settled};
use crate::page::NO_COPY;
use crate::streams::Streams;
use crate::sys::{self, Forked};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// What a server leaves to its children.
struct Server {
    seat: Seat,
    settled: Option<Settled>,
}

/// Forks a child for each request. Returns in the children, with the name of the test to serve.
pub fn next_test() -> String {
    let Some((seat, settled)) = seat::open(false) else { sys::exit_now(2) };
    // A box, because a static with this type would move what lies behind it in the program.
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

/// Ends a server that cannot fork. The tool sees that it is gone.
fn unable(server: &Server) -> ! {
    server.seat.area().cannot_fork.store(1, Release);
    tell(server);
    sys::exit_now(0)
}

/// Makes a child what a fresh process is.
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
