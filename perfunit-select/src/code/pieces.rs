//! Entries of mergeable sections. The linker merges equal entries, so an entry is identified by its content alone.

use std::ops::Range;

/// Returns the range of the entry that contains this offset; `None` outside of the content.
pub(super) fn piece_at(content: &[u8], size: u64, strings: bool, offset: u64) -> Option<Range<usize>> {
    let size = usize::try_from(size).ok()?;
    let offset = usize::try_from(offset).ok().filter(|offset| *offset < content.len())?;
    let entry = offset / size;
    if !strings {
        return Some(entry * size..(entry + 1) * size);
    }
    let is_end = |entry: usize| content[entry * size..(entry + 1) * size].iter().all(|byte| *byte == 0);
    let start = (0..entry).rev().find(|before| is_end(*before)).map_or(0, |before| before + 1);
    let end =
        (entry..content.len() / size).find(|after| is_end(*after)).map_or(content.len() / size, |after| after + 1);
    Some(start * size..end * size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_the_size_of_the_section_s_entries() {
        let content = [0_u8; 32];
        assert_eq!(piece_at(&content, 16, false, 0), Some(0..16));
        assert_eq!(piece_at(&content, 16, false, 31), Some(16..32));
        assert_eq!(piece_at(&content, 16, false, 32), None);
    }

    #[test]
    fn a_string_ends_with_its_nul() {
        let content = b"one\0two\0";
        assert_eq!(piece_at(content, 1, true, 0), Some(0..4));
        assert_eq!(piece_at(content, 1, true, 3), Some(0..4));
        assert_eq!(piece_at(content, 1, true, 6), Some(4..8));
        assert_eq!(piece_at(content, 1, true, 8), None);
        let wide = b"a\0b\0\0\0c\0\0\0";
        assert_eq!(piece_at(wide, 2, true, 2), Some(0..6));
        assert_eq!(piece_at(wide, 2, true, 6), Some(6..10));
    }
}
