//! Requests of the tool to this process, passed by environment variables that are equally long on both sides.

use crate::page::{
    CLOCK_VARIABLE, CORES_VARIABLE, LIST_VARIABLE, METER_VARIABLE, PRELOAD_VARIABLE, SEED_VARIABLE, SERVE_VARIABLE,
    STREAM_VARIABLE, TEST_VARIABLE,
};
use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A request of the tool.
pub enum Request {
    /// Write the tests' names and attributes to this file.
    List(PathBuf),
    /// Serve a test.
    Serve {
        /// Name as libtest prints it.
        test: String,
    },
    /// Fork a child for each test that the page requests, see `next_test`.
    ForkServer,
}

/// Returns the request, or `None` in an ordinary `cargo test`.
pub fn request() -> Option<Request> {
    if let Some(path) = env::var_os(LIST_VARIABLE) {
        return Some(Request::List(path.into()));
    }
    let _page = page_descriptor()?;
    Some(env::var(TEST_VARIABLE).map_or(Request::ForkServer, |test| Request::Serve { test }))
}

/// Returns the side's index and the descriptor of the page.
pub(crate) fn page_descriptor() -> Option<(usize, i32)> {
    let value = env::var(SERVE_VARIABLE).ok()?;
    let (side, descriptor) = value.split_once(':')?;
    let side: usize = side.parse().ok()?;
    (side < 2).then_some((side, descriptor.parse().ok()?))
}

/// Removes the request from the environment, so that child processes behave as usual. The library that reports cores
/// stays, because programs started by a test are kept on the same core and must not notice that either.
pub(crate) fn forget() {
    for variable in [SERVE_VARIABLE, TEST_VARIABLE, STREAM_VARIABLE, CLOCK_VARIABLE] {
        env::remove_var(variable);
    }
    if take(METER_VARIABLE) {
        forget_first_library();
    }
    if take(SEED_VARIABLE) && env::var_os(CORES_VARIABLE).is_none() {
        forget_first_library();
    }
}

/// Removes a variable and returns whether it was set.
fn take(variable: &str) -> bool {
    let is_set = env::var_os(variable).is_some();
    env::remove_var(variable);
    is_set
}

/// Returns the address of the counters of the library in `meter`, if it is loaded.
pub(crate) fn counters() -> Option<usize> {
    address(METER_VARIABLE)
}

/// Returns the address of the streams of the library in `seeds`, if it is loaded.
pub(crate) fn streams() -> Option<usize> {
    address(STREAM_VARIABLE)
}

/// Returns the address of the state of the clock that the test reads, if a library replaces libc's clock.
pub(crate) fn clock() -> Option<usize> {
    address(CLOCK_VARIABLE)
}

fn address(variable: &str) -> Option<usize> {
    usize::from_str_radix(&env::var(variable).ok()?, 16).ok().filter(|address| *address != 0)
}

/// Removes the first library, which is ours; libraries of the user stay.
fn forget_first_library() {
    let libraries = env::var_os(PRELOAD_VARIABLE).unwrap_or_default();
    match libraries.as_bytes().iter().position(|byte| *byte == b':') {
        Some(end) => env::set_var(PRELOAD_VARIABLE, OsStr::from_bytes(&libraries.as_bytes()[end + 1..])),
        None => env::remove_var(PRELOAD_VARIABLE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_loads_stays_and_our_library_goes() {
        // One test, because all tests of a process share its environment.
        let check = |loaded: Option<&str>, cores: bool, seed: bool, meter: bool, left: Option<&str>| {
            let variables = [
                (PRELOAD_VARIABLE, loaded),
                (CORES_VARIABLE, cores.then_some("3,1")),
                (SEED_VARIABLE, seed.then_some("ab")),
                (METER_VARIABLE, meter.then_some("00ff")),
            ];
            for (name, value) in variables {
                match value {
                    Some(value) => env::set_var(name, value),
                    None => env::remove_var(name),
                }
            }
            assert_eq!(counters(), meter.then_some(0xff));
            forget();
            let found = env::var(PRELOAD_VARIABLE).ok();
            env::remove_var(PRELOAD_VARIABLE);
            assert_eq!(found.as_deref(), left);
            assert!(env::var_os(SEED_VARIABLE).is_none() && env::var_os(METER_VARIABLE).is_none());
        };
        check(Some("/ours.so"), false, true, false, None);
        check(Some("/ours.so:/theirs.so /more.so:/last.so"), false, true, false, Some("/theirs.so /more.so:/last.so"));
        check(Some("/meter.so:/ours.so:/theirs.so"), false, true, true, Some("/theirs.so"));
        check(Some("/meter.so"), false, false, true, None);
        check(Some("/theirs.so"), false, false, false, Some("/theirs.so"));
        check(None, false, false, false, None);
        check(Some("/ours.so:/theirs.so"), true, true, false, Some("/ours.so:/theirs.so"));
        check(Some("/meter.so:/ours.so"), true, false, true, Some("/ours.so"));
    }
}
