//! Global state, and a table of function pointers.

use std::cell::Cell;
use std::sync::{Mutex, OnceLock};

static LOG: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Stores a value.
pub fn remember(value: u32) -> usize {
    let mut log = LOG.lock().unwrap();
    log.push(value * 3);
    log.len()
}

thread_local! {
    static DEPTH: Cell<u32> = Cell::new(5);
}

/// Increases the depth.
pub fn deeper() -> u32 {
    DEPTH.with(|depth| {
        depth.set(depth.get() + 2);
        depth.get()
    })
}

/// Initialized on first use.
pub fn primes() -> &'static [u32] {
    static PRIMES: OnceLock<Vec<u32>> = OnceLock::new();
    PRIMES.get_or_init(|| {
        let is_prime = |number: &u32| !(2..*number).any(|divisor| number % divisor == 0);
        (2..60).filter(is_prime).collect()
    })
}

fn double(value: i64) -> i64 {
    value * 2
}

fn negate(value: i64) -> i64 {
    0 - value
}

fn shift(value: i64) -> i64 {
    value + 40
}

/// Called through the table.
static OPERATIONS: [fn(i64) -> i64; 3] = [double, negate, shift];

/// Calls one of the operations.
pub fn operate(operation: usize, value: i64) -> i64 {
    OPERATIONS[operation % 3](value)
}
