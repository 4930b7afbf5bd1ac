//! Searches in the bytes of an executable.

/// Checks whether `needle` occurs in an executable.
pub fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    find(haystack, needle).is_some()
}

/// Returns the position of `needle`. Searches for the first byte, which is fast enough for executables of many
/// megabytes.
pub(super) fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(offset) = haystack[from..].iter().position(|byte| *byte == needle[0]) {
        let start = from + offset;
        if haystack[start..].starts_with(needle) {
            return Some(start);
        }
        from = start + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_found_wherever_it_is() {
        assert!(contains(b"\x7fELF..perfunit-harness=1;\0", b"perfunit-harness=1;"));
        assert!(!contains(b"perfunit-harness=perfunit-harness=2;", b"perfunit-harness=1;"));
    }
}
