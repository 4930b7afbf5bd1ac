//! How long an argument is, whatever its type: of four traits with the same method the compiler takes the first that applies,
//! because it looks for methods of `&&&Of<T>` before those of `&&Of<T>`, and so on.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// An argument.
pub struct Of<'a, T>(pub &'a T);

/// What has a length.
pub trait Length {
    fn length(&self) -> usize;
}

/// The length of what has one.
pub trait Len {
    fn perfunit_length(&self) -> Option<usize>;
}

impl<T: Length> Len for &&&Of<'_, T> {
    #[inline]
    fn perfunit_length(&self) -> Option<usize> {
        Some(self.0.length())
    }
}

/// The length of what can be read as bytes: `T: AsRef<[u8]>`.
pub trait LenOfBytes {
    fn perfunit_length(&self) -> Option<usize>;
}

impl<T: AsRef<[u8]>> LenOfBytes for &&Of<'_, T> {
    #[inline]
    fn perfunit_length(&self) -> Option<usize> {
        Some(self.0.as_ref().len())
    }
}

/// The length of what can be read as text: `T: AsRef<str>`.
pub trait LenOfText {
    fn perfunit_length(&self) -> Option<usize>;
}

impl<T: AsRef<str>> LenOfText for &Of<'_, T> {
    #[inline]
    fn perfunit_length(&self) -> Option<usize> {
        Some(self.0.as_ref().len())
    }
}

/// Anything else.
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
