//! How a file differs between two commits, line by line.

use super::{Repository, problem};
use git2::{DiffOptions, Patch};
use perfunit_model::error::Result;
use std::path::Path;

/// Unchanged lines shown around a change.
const CONTEXT: u32 = 3;

/// A line of a unified diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    /// With its sign.
    pub text: String,
    /// Its number in head; of a line that is gone, that of the one that follows it there.
    pub line: usize,
}

impl Repository {
    /// The differences of a file, with the lines around them; nothing for a file that is no text or does not differ.
    pub fn file_diff(&self, base: &str, head: &str, path: &str) -> Result<Vec<DiffLine>> {
        let failed = || problem::failed(format!("compare {path}"));
        let trees = (self.commit(base)?.tree(), self.commit(head)?.tree());
        let (base, head) = (trees.0.map_err(failed())?, trees.1.map_err(failed())?);
        let mut options = DiffOptions::new();
        options.pathspec(path).disable_pathspec_match(true).context_lines(CONTEXT);
        let diff = self.inner.diff_tree_to_tree(Some(&base), Some(&head), Some(&mut options)).map_err(failed())?;
        if diff.deltas().len() == 0 {
            return Ok(Vec::new());
        }
        let Some(differences) = Patch::from_diff(&diff, 0).map_err(failed())? else { return Ok(Vec::new()) };
        let mut lines = Vec::new();
        for hunk in 0..differences.num_hunks() {
            let mut next = differences.hunk(hunk).map_err(failed())?.0.new_start() as usize;
            for index in 0..differences.num_lines_in_hunk(hunk).map_err(failed())? {
                let line = differences.line_in_hunk(hunk, index).map_err(failed())?;
                // Other origins are remarks about a missing line break at the end.
                let (' ' | '+' | '-') = line.origin() else { continue };
                let at = line.new_lineno().map_or(next, |number| number as usize);
                next = at + usize::from(line.new_lineno().is_some());
                let text = format!("{}{}", line.origin(), String::from_utf8_lossy(line.content()).trim_end());
                lines.push(DiffLine { text, line: at });
            }
        }
        Ok(lines)
    }

    /// A text file as a commit has it.
    pub fn text_at(&self, commit: &str, path: &str) -> Result<Option<String>> {
        let tree = self.commit(commit)?.tree().map_err(problem::failed(format!("read {path}")))?;
        let Ok(entry) = tree.get_path(Path::new(path)) else { return Ok(None) };
        let blob = self.inner.find_blob(entry.id()).ok();
        Ok(blob.and_then(|blob| String::from_utf8(blob.content().to_vec()).ok()))
    }
}

#[cfg(test)]
mod tests {
    use crate::git::fixture::Fixture;

    #[test]
    fn a_file_differs_in_lines_with_their_numbers_in_head() {
        let fixture = Fixture::new(&[("src/a.rs", "1\n2\n3\n4\n5\n6\n7\n8\n"), ("b", "1\n")]);
        let base = fixture.commit(&[("b", "2\n")]).to_string();
        let head = fixture.commit(&[("src/a.rs", "1\n2\n3\n4\nfive\nmore\n7\n8\n")]).to_string();
        let repository = fixture.open();
        let lines = repository.file_diff(&base, &head, "src/a.rs").unwrap();
        let lines: Vec<(usize, &str)> = lines.iter().map(|line| (line.line, line.text.as_str())).collect();
        let expected =
            [(2, " 2"), (3, " 3"), (4, " 4"), (5, "-5"), (5, "-6"), (5, "+five"), (6, "+more"), (7, " 7"), (8, " 8")];
        assert_eq!(lines, expected);
        assert_eq!(repository.file_diff(&base, &head, "b").unwrap(), []);
        assert_eq!(repository.text_at(&base, "b").unwrap().as_deref(), Some("2\n"));
        assert_eq!(repository.text_at(&base, "c").unwrap(), None);
    }
}
