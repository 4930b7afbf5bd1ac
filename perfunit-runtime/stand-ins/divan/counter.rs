//! divan's counters, which become a throughput.

use perfunit_runtime::__private::bench::{unit, works_through};
use std::mem::{size_of, size_of_val};

pub trait Counter: Sized {
    /// Returns unit and amount of a run.
    #[doc(hidden)]
    fn of_run(&self) -> (u32, u64);
}

/// A counter, or a number of items.
pub trait IntoCounter {
    type Counter: Counter;

    fn into_counter(self) -> Self::Counter;
}

impl<C: Counter> IntoCounter for C {
    type Counter = C;

    fn into_counter(self) -> C {
        self
    }
}

/// Records a counter; if there are several, the last one counts.
#[doc(hidden)]
pub fn count(counter: impl IntoCounter) {
    let (unit, amount) = counter.into_counter().of_run();
    works_through(unit, amount);
}

/// A number that can be a count.
pub trait CountUInt: Copy {
    #[doc(hidden)]
    fn amount(self) -> u64;
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(
            impl CountUInt for $number {
                fn amount(self) -> u64 {
                    self as u64
                }
            }

            impl IntoCounter for $number {
                type Counter = ItemsCount;

                fn into_counter(self) -> ItemsCount {
                    ItemsCount::new(self)
                }
            }
        )*
    };
}

numbers! { u8 u16 u32 u64 u128 usize }

macro_rules! counters {
    ($($name:ident: $unit:ident)*) => {
        $(
            #[derive(Clone, Copy, Debug)]
            pub struct $name(u64);

            impl Counter for $name {
                fn of_run(&self) -> (u32, u64) {
                    (unit::$unit, self.0)
                }
            }

            impl $name {
                pub fn new<N: CountUInt>(count: N) -> Self {
                    Self(count.amount())
                }
            }

            impl<N: CountUInt> From<N> for $name {
                fn from(count: N) -> Self {
                    Self(count.amount())
                }
            }
        )*
    };
}

counters! { BytesCount: BYTES CharsCount: CHARS CyclesCount: CYCLES ItemsCount: ELEMENTS }

/// Constructors for a number of values of a type.
macro_rules! of_types {
    ($($name:ident)*) => {
        impl BytesCount {
            $(pub const fn $name(many: usize) -> Self {
                Self::of_many::<$name>(many)
            })*
        }
    };
}

of_types! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 }

impl BytesCount {
    pub const fn of<T>() -> Self {
        Self(size_of::<T>() as u64)
    }

    pub const fn of_many<T>(many: usize) -> Self {
        Self((size_of::<T>() * many) as u64)
    }

    pub fn of_val<T: ?Sized>(value: &T) -> Self {
        Self(size_of_val(value) as u64)
    }

    pub fn of_iter<T, I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::of_many::<T>(values.into_iter().count())
    }

    pub fn of_str<S: ?Sized + AsRef<str>>(text: &S) -> Self {
        Self::of_val(text.as_ref())
    }

    pub fn of_slice<T, S: ?Sized + AsRef<[T]>>(slice: &S) -> Self {
        Self::of_val(slice.as_ref())
    }
}

impl CharsCount {
    pub fn of_str<S: ?Sized + AsRef<str>>(text: &S) -> Self {
        Self(text.as_ref().chars().count() as u64)
    }
}

impl ItemsCount {
    pub fn of_iter<T, I: IntoIterator<Item = T>>(values: I) -> Self {
        Self(values.into_iter().count() as u64)
    }
}
