//! A stand-in of the runtime that records what probes do: `+1` and `-1` when function 1 is entered and left. It also
//! counts the values made opaque, and runs the bodies of tests.

use std::cell::{Cell, RefCell};

thread_local! {
    static EVENTS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static OPAQUE: Cell<usize> = const { Cell::new(0) };
}

/// Records an event of the test.
pub fn note(event: &str) {
    EVENTS.with(|events| events.borrow_mut().push(event.to_owned()));
}

/// Returns the events since the last call, separated by spaces.
pub fn events() -> String {
    EVENTS.with(|events| events.take().join(" "))
}

/// Returns the number of values made opaque so far in this thread.
pub fn opaque() -> usize {
    OPAQUE.get()
}

/// A value that records its drop.
pub struct Noted(pub &'static str);

impl Drop for Noted {
    fn drop(&mut self) {
        note(self.0);
    }
}

pub mod __private {
    pub use core;

    pub fn black_box<T>(value: T) -> T {
        super::OPAQUE.set(super::OPAQUE.get() + 1);
        value
    }

    pub fn run<T>(_: &'static str, body: fn() -> T) -> T {
        body()
    }

    use super::note;
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    pub struct Site {
        key: u64,
    }

    pub struct Guard {
        key: u64,
    }

    impl Site {
        pub const fn new(key: u64) -> Self {
            Site { key }
        }

        pub fn enter(&'static self) -> Guard {
            note(&format!("+{}", self.key));
            Guard { key: self.key }
        }
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            note(&format!("-{}", self.key));
        }
    }

    struct Probed<F> {
        site: &'static Site,
        future: F,
    }

    pub fn probed<F: Future>(site: &'static Site, future: F) -> impl Future<Output = F::Output> {
        Probed { site, future }
    }

    impl<F: Future> Future for Probed<F> {
        type Output = F::Output;

        fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
            let _guard = self.site.enter();
            // SAFETY: the future stays where it is, inside its pinned owner.
            unsafe { self.map_unchecked_mut(|probed| &mut probed.future) }.poll(context)
        }
    }
}
