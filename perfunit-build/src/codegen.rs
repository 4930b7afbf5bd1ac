//! The code generation options in rustc's arguments, however they are spelled.

use perfunit_system::os::unix::ffi::OsStrExt;
use std::ffi::{OsStr, OsString};

/// An argument, with the word behind it if that is a code generation option's value.
pub(super) struct Argument<'a> {
    pub words: &'a [OsString],
    /// The code generation option that it is: `name=value`, or a name alone.
    pub codegen: Option<&'a OsStr>,
}

/// The arguments in their order.
pub(super) fn arguments(all: &[OsString]) -> impl Iterator<Item = Argument<'_>> {
    let mut rest = all;
    std::iter::from_fn(move || {
        let first = rest.first()?.as_bytes();
        let (length, codegen) = match first {
            b"-C" | b"--codegen" => (rest.len().min(2), rest.get(1).map(OsString::as_os_str)),
            b"-g" => (1, Some(OsStr::new("debuginfo=2"))),
            b"-O" => (1, Some(OsStr::new("opt-level=3"))),
            _ => (1, first.strip_prefix(b"--codegen=").or_else(|| first.strip_prefix(b"-C")).map(OsStr::from_bytes)),
        };
        let (words, after) = rest.split_at(length);
        rest = after;
        Some(Argument { words, codegen })
    })
}

/// Names and values of the code generation options, in their order; of two of one name the later counts.
pub(super) fn options(all: &[OsString]) -> impl Iterator<Item = (&str, &OsStr)> {
    arguments(all).filter_map(|argument| Some(split(argument.codegen?)))
}

/// The name, and the value if it has one.
pub(super) fn split(option: &OsStr) -> (&str, &OsStr) {
    let bytes = option.as_bytes();
    let end = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
    let value = bytes.get(end + 1..).unwrap_or_default();
    (std::str::from_utf8(&bytes[..end]).unwrap_or_default(), OsStr::from_bytes(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_counts_in_every_spelling() {
        let line = "--test -C a=1 -Cb=x=y --codegen c --codegen=d=2 -g src/lib.rs -O -C";
        let all: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let found: Vec<_> = options(&all).map(|(name, value)| format!("{name} {}", value.display())).collect();
        assert_eq!(found, ["a 1", "b x=y", "c ", "d 2", "debuginfo 2", "opt-level 3"]);
        let words: Vec<OsString> = arguments(&all).flat_map(|argument| argument.words).cloned().collect();
        assert_eq!(words, all);
    }
}
