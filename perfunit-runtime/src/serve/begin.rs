//! Steps before a body's first call: pads, the panic hook, page faults, the processor's features, the turn, and the
//! cage.

use super::batch::call;
use super::seat::{keep_message, leave, Seat};
use crate::cage::{self, Time};
use crate::page::{state, SideArea, COLD, METER, NOTHING, PILOT};
use crate::readings::Gauges;
use crate::{clock, gauges, maps, sys};
use std::hint::black_box;
use std::panic::set_hook;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// True if the body is a generated workload.
static CAGED: AtomicBool = AtomicBool::new(false);

/// Marks the body as a generated workload.
pub fn cage() {
    CAGED.store(true, Relaxed);
}

/// Takes all steps before the first call, except entering the cage.
pub fn begin(seat: &'static Seat) {
    let area = seat.area();
    if area.state.load(Relaxed) != state::STARTING {
        return;
    }
    install_hook(seat);
    clock::set_idle_clock(seat.page.idle_clock.load(Relaxed));
    // Allocated in the thread that runs the test, because it shifts this thread's malloc arena.
    std::mem::forget(black_box(Vec::<u8>::with_capacity(seat.page.heap_pad.load(Relaxed) as usize)));
    for time in &area.times {
        time.store(0, Relaxed);
    }
    if seat.page.flags.load(Relaxed) & COLD != 0 {
        maps::populate_files();
    }
    detect_features();
    if seat.page.flags.load(Relaxed) & METER == 0 {
        seat.wait_turn();
    } else {
        // Readings are not timed, so both sides may count at the same time.
        let gauges = seat.gauges.get_or_init(|| Gauges::open(seat.page, area, seat.counters));
        // Read twice, because the first reading touches memory that is not touched again.
        for _ in 0..2 {
            gauges.read(area, NOTHING, &mut || call(seat, &|_| true));
        }
    }
    if seat.page.flags.load(Relaxed) & PILOT != 0 {
        area.threads_ns.store(gauges::other_threads_cpu_ns(), Relaxed);
    }
    area.state.store(state::FIRST_CALL, Release);
}

/// Makes std detect and cache the processor's features. Otherwise the first code that queries them (e.g. memchr) would
/// pay for it: 10 us or more in a virtual machine.
fn detect_features() {
    #[cfg(target_arch = "x86_64")]
    black_box(std::arch::is_x86_feature_detected!("avx512f"));
    #[cfg(target_arch = "aarch64")]
    black_box(std::arch::is_aarch64_feature_detected!("sve"));
}

/// Puts a generated workload into the cage, before its first call. Not where instructions are counted, because each
/// call then needs system calls for the counter or callgrind.
pub fn lock_in(seat: &Seat) {
    if !CAGED.load(Relaxed) || seat.gauges.get().is_some_and(Gauges::leave_the_cage) {
        return;
    }
    sys::keep_files_open();
    if !cage::enter(Time::Open) {
        keep_message(seat.area(), "the kernel refuses to restrict the process");
        leave(seat, state::FAILED_FIRST);
    }
}

/// Records the processor time of the threads that the first call started.
pub fn note_threads(area: &SideArea) {
    let before = area.threads_ns.load(Relaxed);
    area.threads_ns.store(gauges::other_threads_cpu_ns().saturating_sub(before), Relaxed);
}

/// Records whether the test started processes, which readings do not include. In the cage no process can be started,
/// and looking for children is forbidden.
pub fn note_processes(seat: &Seat) {
    let started = gauges::has_waited_for_processes() || !CAGED.load(Relaxed) && sys::has_children();
    seat.area().starts_processes.store(u32::from(started), Relaxed);
}

/// Replaces the default panic hook, whose printing would be most of a panicking test's time, with one that keeps the
/// message.
fn install_hook(seat: &'static Seat) {
    let expected = seat.should_panic;
    let area = seat.area();
    set_hook(Box::new(move |info| {
        if expected || area.message_len.load(Relaxed) != 0 {
            return;
        }
        let payload = info.payload();
        let message = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("panicked with a value that is not a string");
        // A place in the standard library tells nothing, and its path is long.
        let place = info.location().filter(|location| !location.file().starts_with("/rustc/"));
        let place = place.map_or(String::new(), |location| format!(" ({}:{})", location.file(), location.line()));
        keep_message(area, &format!("{message}{place}"));
    }));
}
