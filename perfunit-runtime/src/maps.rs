//! Memory mappings of this process, as listed by the kernel.

use crate::sys::{self, Advice};

/// A private, readable mapping that is not the kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    pub start: usize,
    pub length: usize,
    /// `Write` if the mapping is writable, otherwise `Read`.
    pub advice: Advice,
    /// True if a file backs the mapping.
    pub of_file: bool,
}

/// Returns all mappings, sorted by address.
pub fn mappings() -> Vec<Mapping> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().filter_map(mapping).collect()
}

/// Populates the pages of all mapped files, so that a cold call does not pay for page faults of its own code.
pub fn populate_files() {
    for mapping in mappings().into_iter().filter(|mapping| mapping.of_file) {
        sys::populate(mapping.start, mapping.length, Advice::Read);
    }
}

/// Parses a line of `/proc/self/maps`. Returns `None` for mappings that are shared, the kernel's, or not readable.
fn mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
    let access = fields.next()?;
    let name = fields.nth(3).unwrap_or_default();
    if name.starts_with("[v") || !access.starts_with('r') || !access.ends_with('p') {
        return None;
    }
    let advice = if access.starts_with("rw") { Advice::Write } else { Advice::Read };
    Some(Mapping { start, length: end - start, advice, of_file: name.starts_with('/') })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<(Advice, bool)>) {
        let expected = expected.map(|(advice, of_file)| Mapping { start: 0x555_5000, length: 0x2000, advice, of_file });
        assert_eq!(mapping(line), expected, "{line}");
    }

    #[test]
    fn private_mappings_that_can_be_read_are_looked_at() {
        check("5555000-5557000 rw-p 00002000 fe:01 7 /a/b", Some((Advice::Write, true)));
        check("5555000-5557000 rw-p 00000000 00:00 0 ", Some((Advice::Write, false)));
        check("5555000-5557000 rw-p 00000000 00:00 0 [stack]", Some((Advice::Write, false)));
        check("5555000-5557000 r-xp 00002000 fe:01 7 /a/b c", Some((Advice::Read, true)));
        check("5555000-5557000 rw-s 00000000 00:01 9 /memfd:perfunit (deleted)", None);
        check("5555000-5557000 ---p 00000000 00:00 0 ", None);
        check("5555000-5557000 r-xp 00000000 00:00 0 [vdso]", None);
    }
}
