//! Texts in the bytes of an executable.

/// Whether `needle` is somewhere in an executable's bytes.
pub fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    find(haystack, needle).is_some()
}

/// Position of `needle`; looks for its first byte first, which is quick enough for executables of many megabytes.
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
