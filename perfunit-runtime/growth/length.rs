//! Lengths of arguments of any type.
//!
//! Four traits have a method of the same name. Method lookup tries `&&&Of<T>` before `&&Of<T>`, and so on, so the
//! compiler takes the first trait that applies.

use crate::counter::{set_work, work};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// An argument.
pub struct Of<'a, T>(pub &'a T);

/// A type with a length.
pub trait Length {
    fn length(&self) -> usize;
}

/// Length of a type that implements [`Length`].
pub trait Len {
    fn perfunit_length(&self) -> Option<usize>;
}

impl<T: Length> Len for &&&Of<'_, T> {
    #[inline]
    fn perfunit_length(&self) -> Option<usize> {
        Some(self.0.length())
    }
}

/// Length of a type that can be read as bytes: `T: AsRef<[u8]>`.
pub trait LenOfBytes {
    fn perfunit_length(&self) -> Option<usize>;
}

impl<T: AsRef<[u8]>> LenOfBytes for &&Of<'_, T> {
    #[inline]
    fn perfunit_length(&self) -> Option<usize> {
        ask(|| self.0.as_ref().len())
    }
}

/// Length of a type that can be read as text: `T: AsRef<str>`.
pub trait LenOfText {
    fn perfunit_length(&self) -> Option<usize>;
}

impl<T: AsRef<str>> LenOfText for &Of<'_, T> {
    #[inline]
    fn perfunit_length(&self) -> Option<usize> {
        ask(|| self.0.as_ref().len())
    }
}

thread_local! {
    /// True while this thread executes project code in order to get a length.
    static ASKS: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread currently executes project code in order to get a length.
pub fn asks() -> bool {
    ASKS.with(Cell::get)
}

/// Calls project code that returns a length. The work of this call is not counted. Returns `None` if such a call is
/// already in progress, because the called code may have probes itself.
#[inline]
fn ask(length: impl FnOnce() -> usize) -> Option<usize> {
    /// Restores the thread's state when dropped, also during unwinding.
    struct Before(u64);

    impl Drop for Before {
        fn drop(&mut self) {
            set_work(self.0);
            ASKS.with(|asks| asks.set(false));
        }
    }

    if ASKS.with(|asks| asks.replace(true)) {
        return None;
    }
    let _before = Before(work());
    Some(length())
}

/// Fallback for all other types, which have no length.
pub trait NoLen {
    fn perfunit_length(&self) -> Option<usize>;
}

impl<T> NoLen for Of<'_, T> {
    #[inline]
    fn perfunit_length(&self) -> Option<usize> {
        None
    }
}

macro_rules! by_len {
    ($([$($parameters:tt)*] $type:ty),* $(,)?) => {$(
        impl<$($parameters)*> Length for $type {
            #[inline]
            fn length(&self) -> usize {
                self.len()
            }
        }
    )*};
}

by_len!(
    [T] [T], [T, const N: usize] [T; N], [T] Vec<T>, [T] VecDeque<T>, [T] LinkedList<T>, [T] BinaryHeap<T>, [] str, [] String,
    [] OsStr, [] OsString, [K, V, S] HashMap<K, V, S>, [T, S] HashSet<T, S>, [K, V] BTreeMap<K, V>, [T] BTreeSet<T>,
);

macro_rules! by_reference {
    ($($type:ty),*) => {$(
        impl<T: Length + ?Sized> Length for $type {
            #[inline]
            fn length(&self) -> usize {
                (**self).length()
            }
        }
    )*};
}

by_reference!(&T, &mut T, Box<T>, Rc<T>, Arc<T>);

impl<T: Length + ToOwned + ?Sized> Length for Cow<'_, T> {
    #[inline]
    fn length(&self) -> usize {
        (**self).length()
    }
}

impl<T: Length> Length for Option<T> {
    #[inline]
    fn length(&self) -> usize {
        self.as_ref().map_or(0, Length::length)
    }
}

impl Length for Path {
    #[inline]
    fn length(&self) -> usize {
        self.as_os_str().len()
    }
}

impl Length for PathBuf {
    #[inline]
    fn length(&self) -> usize {
        self.as_os_str().len()
    }
}
