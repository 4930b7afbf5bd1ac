//! A trait object, an implementation of `Drop`, and a generic helper.

use std::sync::atomic::{AtomicU64, Ordering};

/// Used as `dyn`.
pub trait Shape {
    /// Differs between types.
    fn area(&self) -> u64;

    /// The same for all types except one.
    fn corners(&self) -> u64 {
        4
    }
}

/// Four equal sides.
pub struct Square(pub u64);
/// Three sides.
pub struct Triangle(pub u64, pub u64);
/// Missing in all lists of shapes.
pub struct Circle(pub u64);

impl Shape for Square {
    fn area(&self) -> u64 {
        self.0 * self.0
    }
}

impl Shape for Triangle {
    fn area(&self) -> u64 {
        self.0 * self.1 / 2
    }

    fn corners(&self) -> u64 {
        3
    }
}

impl Shape for Circle {
    fn area(&self) -> u64 {
        self.0 * self.0 * 22 / 7
    }

    fn corners(&self) -> u64 {
        0
    }
}

/// Calls through a vtable.
pub fn total(shapes: &[Box<dyn Shape>]) -> u64 {
    shapes.iter().map(|shape| shape.area() + shape.corners()).sum()
}

/// Number of dropped guards.
pub static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Counts when dropped.
pub struct Guard(pub u64);

impl Drop for Guard {
    fn drop(&mut self) {
        DROPPED.fetch_add(self.0 + 1, Ordering::Relaxed);
    }
}

/// Drops this many guards.
pub fn guarded(count: u64) -> u64 {
    for value in 0..count {
        let _guard = Guard(value);
    }
    count
}

/// Compiled once for each type.
pub fn clamp_all<T: PartialOrd + Copy>(values: &mut [T], low: T, high: T) {
    for value in values {
        if *value < low {
            *value = low;
        } else if *value > high {
            *value = high;
        }
    }
}
