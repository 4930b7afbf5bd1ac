//! Functions with counted work, and their activations.

use crate::counter::work;
use crate::length::asks;
use perfunit_runtime::growth::{table, Call};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

/// Number of arguments with a recorded length, counted from the first.
const ARGUMENTS: usize = 4;

const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

thread_local! {
    /// Work of other functions' activations that ended inside the current one.
    static INSIDE: Cell<u64> = const { Cell::new(0) };
    /// Key of the function in the current activation.
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

/// A function with a probe; each has one static.
pub struct Site {
    key: u64,
    mode: AtomicU8,
}

impl Site {
    pub const fn new(key: u64) -> Self {
        Self { key, mode: AtomicU8::new(UNKNOWN) }
    }

    /// Enters the function with arguments of these lengths. Dropping the guard leaves it.
    #[inline]
    pub fn enter(&'static self, lengths: &[Option<usize>]) -> Guard {
        if self.mode.load(Relaxed) == OFF || lengths.iter().all(Option::is_none) {
            return Guard { activation: None, stays: PhantomData };
        }
        Guard { activation: self.activation(lengths), stays: PhantomData }
    }

    #[inline(never)]
    fn activation(&'static self, lengths: &[Option<usize>]) -> Option<Activation> {
        if asks() {
            return None;
        }
        // The table may still appear: until then, `mode` stays unknown.
        let table = table()?;
        if self.mode.load(Relaxed) == UNKNOWN {
            self.mode.store(if table.wants(self.key) { ON } else { OFF }, Relaxed);
        }
        if self.mode.load(Relaxed) != ON {
            return None;
        }
        let mut known = [None; ARGUMENTS];
        let measured = lengths.iter().zip(0..).filter_map(|(length, argument)| Some((argument, (*length)? as u64)));
        known.iter_mut().zip(measured).for_each(|(known, measured)| *known = Some(measured));
        let outside = INSIDE.with(|inside| inside.replace(0));
        let caller = CURRENT.with(|current| current.replace(self.key));
        Some(Activation { key: self.key, lengths: known, caller, outside, before: work() })
    }
}

/// Leaves the function when dropped, also during unwinding. It stays in the thread that created it.
pub struct Guard {
    activation: Option<Activation>,
    stays: PhantomData<*const ()>,
}

struct Activation {
    key: u64,
    /// Index and length of each recorded argument.
    lengths: [Option<(u32, u64)>; ARGUMENTS],
    /// Function of the enclosing activation.
    caller: u64,
    /// Value of `INSIDE` for the enclosing activation when this one began.
    outside: u64,
    /// Work of the thread when this activation began.
    before: u64,
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        if let Some(activation) = &self.activation {
            activation.leave();
        }
    }
}

impl Activation {
    #[inline(never)]
    fn leave(&self) {
        let work = work().wrapping_sub(self.before);
        CURRENT.with(|current| current.set(self.caller));
        let of_others = INSIDE.with(Cell::get);
        // Recursive calls count as the function's own work.
        let for_caller = if self.caller == self.key { of_others } else { work };
        INSIDE.with(|inside| inside.set(self.outside.wrapping_add(for_caller)));
        let own = work.saturating_sub(of_others);
        let Some(table) = table() else { return };
        let call = Call { key: self.key, work, own };
        for (argument, length) in self.lengths.iter().flatten() {
            table.add(&call, *argument, *length);
        }
    }
}
