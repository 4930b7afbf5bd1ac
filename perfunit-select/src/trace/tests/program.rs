// A program that the stories start: it calls the function in question, does not call it, or does not end.

use std::sync::atomic::{AtomicUsize, Ordering};

static CALLS: AtomicUsize = AtomicUsize::new(0);

/// The function in question.
#[unsafe(no_mangle)]
#[inline(never)]
fn target() {
    CALLS.fetch_add(1, Ordering::SeqCst);
}

/// Another function in question, never called.
#[unsafe(no_mangle)]
#[inline(never)]
fn bystander() {
    CALLS.fetch_add(2, Ordering::SeqCst);
}

fn main() {
    let kept = [target as usize, bystander as usize];
    assert!(std::hint::black_box(kept).iter().all(|address| *address != 0));
    match std::env::args().nth(1).as_deref() {
        Some("calls") => std::thread::spawn(target).join().unwrap(),
        Some("threads") => {
            let threads: Vec<_> = (0..3).map(|_| std::thread::spawn(|| std::hint::black_box(1))).collect();
            threads.into_iter().for_each(|thread| drop(thread.join().unwrap()));
        }
        Some("endless") => std::thread::sleep(std::time::Duration::from_secs(600)),
        _ => {}
    }
}
