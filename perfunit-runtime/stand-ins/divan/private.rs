//! Functions that the expansion of `#[divan::bench]` calls.

pub use crate::counter::count;
pub use core;

use crate::Bencher;
use perfunit_runtime::__private::bench;
use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

type List = fn(&mut Benches);

static LISTS: Mutex<Vec<List>> = Mutex::new(Vec::new());

/// Registers benchmarks, before `main`.
pub fn add(list: List) {
    LISTS.lock().unwrap_or_else(PoisonError::into_inner).push(list);
}

pub fn run_all() {
    let lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut benches = Benches { path: String::new(), ignored: false };
    lists.into_iter().for_each(|list| list(&mut benches));
}

/// The benchmarks of a function.
pub struct Benches {
    path: String,
    ignored: bool,
}

impl Benches {
    pub fn begin(&mut self, module: &str, name: &str, ignored: bool) {
        (self.path, self.ignored) = (format!("{module}::{name}"), ignored);
    }

    fn is_wanted(&self, parts: &[String], arg: Option<&str>) -> bool {
        let parts = parts.iter().map(String::as_str).chain(arg);
        let name = std::iter::once(self.path.as_str()).chain(parts).collect::<Vec<_>>().join("::");
        if self.ignored {
            bench::is_wanted_if_ignored(&name)
        } else {
            bench::is_wanted(&name)
        }
    }

    pub fn plain(&mut self, parts: &[String], bench: impl FnOnce(Bencher<'_, '_>)) {
        if self.is_wanted(parts, None) {
            bench(Bencher::new());
        }
    }

    pub fn args<I: IntoIterator>(
        &mut self,
        parts: &[String],
        args: impl FnOnce() -> I,
        name: impl Fn(&I::Item) -> String,
        bench: impl Fn(Bencher<'_, '_>, &I::Item),
    ) {
        for arg in args() {
            if self.is_wanted(parts, Some(&name(&arg))) {
                bench(Bencher::new(), &arg);
            }
        }
    }
}

/// Returns a type's name without its modules.
pub fn type_name<T: ?Sized>() -> String {
    let mut name = std::any::type_name::<T>();
    while let Some((before, after)) = name.split_once("::") {
        if before.contains('<') {
            break;
        }
        name = after;
    }
    name.to_owned()
}

/// Returns a constant as part of a name.
pub fn text_of(constant: &impl ToString) -> String {
    constant.to_string()
}

/// Converts a value by `to_string` if it implements `ToString`, otherwise by `Debug`.
pub struct ToStringHelper<'a, T>(pub &'a T);

#[allow(clippy::to_string_trait_impl)]
impl<T: Debug> ToString for ToStringHelper<'_, T> {
    fn to_string(&self) -> String {
        format!("{:?}", self.0)
    }
}

impl<T: ToString> ToStringHelper<'_, T> {
    #[allow(clippy::inherent_to_string)]
    pub fn to_string(&self) -> String {
        self.0.to_string()
    }
}

/// Conversion of an element of `args` to the function's parameter.
pub trait Arg<T> {
    fn get(this: Self) -> T;
}

impl<T> Arg<T> for T {
    fn get(this: Self) -> T {
        this
    }
}

impl<'a, T: ?Sized + ToOwned> Arg<&'a T> for &'a Cow<'a, T> {
    fn get(this: Self) -> &'a T {
        this
    }
}

impl<'a> Arg<&'a str> for &'a String {
    fn get(this: Self) -> &'a str {
        this
    }
}

impl<T: Copy> Arg<T> for &T {
    fn get(this: Self) -> T {
        *this
    }
}

impl<T: Copy> Arg<T> for &&T {
    fn get(this: Self) -> T {
        **this
    }
}

impl<T: Copy> Arg<T> for &&&T {
    fn get(this: Self) -> T {
        ***this
    }
}
