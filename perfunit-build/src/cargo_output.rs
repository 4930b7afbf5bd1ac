//! What cargo says on stderr while it builds: how far it is, and why it failed.

use perfunit_model::guesses::{NOT_COMPILED, OF_TEST_CODE, PROGRESS_VERBS};
use perfunit_system::progress::Progress;
use std::io::{BufRead, BufReader, ErrorKind};
use std::process::ChildStderr;

/// Shows what cargo compiles in the progress line and keeps all else that it says, in case the build fails.
pub(super) fn follow(stderr: ChildStderr, progress: &Progress) -> String {
    let mut output = String::new();
    // Cargo draws its progress bar anew with carriage returns, and ends it with a line only when there is something to say.
    let pieces = Pieces(BufReader::new(stderr));
    for drawn in pieces {
        let plain = anstream::adapter::strip_str(&drawn).to_string();
        if let Some(message) = compiling(plain.trim()) {
            progress.message(message);
        }
        match plain.trim() {
            bar if left(bar).is_some() => {}
            "" => output.extend(drawn.ends_with('\n').then_some('\n')),
            _ => output.push_str(drawn.trim_start_matches("\u{1b}[K").trim_end_matches('\r')),
        }
    }
    output
}

/// What a stream says up to each carriage return or line feed, with it.
struct Pieces<R>(R);

impl<R: BufRead> Iterator for Pieces<R> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let mut piece = Vec::new();
        loop {
            let read = match self.0.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read.unwrap_or_default(),
            };
            let end = read.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let used = end.map_or(read.len(), |end| end + 1);
            piece.extend_from_slice(&read[..used]);
            self.0.consume(used);
            if end.is_some() || used == 0 {
                return (!piece.is_empty()).then(|| String::from_utf8_lossy(&piece).into_owned());
            }
        }
    }
}

/// What a line of cargo says about how far the build is.
fn compiling(line: &str) -> Option<String> {
    let verb = || PROGRESS_VERBS.iter().any(|verb| line.starts_with(verb));
    left(line).or_else(|| verb().then(|| line.split(" (").next().unwrap_or(line).to_owned()))
}

/// `12/37: serde, syn` of cargo's progress bar.
fn left(line: &str) -> Option<String> {
    let (_, rest) = line.strip_prefix("Building [")?.split_once("] ")?;
    rest.contains('/').then(|| rest.to_owned())
}

/// Cargo ends with a line like: could not compile `demo` (lib test) due to 1 previous error.
pub(super) fn only_tests(output: &str) -> bool {
    let plain = anstream::adapter::strip_str(output).to_string();
    let mut failures = plain.lines().filter(|line| line.contains(NOT_COMPILED)).peekable();
    failures.peek().is_some() && failures.all(|line| OF_TEST_CODE.iter().any(|test| line.contains(test)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_s_own_progress_is_shown() {
        assert_eq!(compiling("Building [====>      ] 12/37: serde, syn").as_deref(), Some("12/37: serde, syn"));
        assert_eq!(compiling("Compiling serde v1.0.0 (/x)").as_deref(), Some("Compiling serde v1.0.0"));
        assert_eq!(compiling("error: could not compile `demo`"), None);
    }

    #[test]
    fn a_progress_bar_is_seen_before_its_line_ends() {
        let said = "Building [=>  ] 1/2: a\rBuilding [==> ] 2/2: b\r\u{1b}[K   Compiling b\nwarning: \u{e4}";
        let pieces: Vec<String> = Pieces(BufReader::with_capacity(3, said.as_bytes())).collect();
        let expected =
            ["Building [=>  ] 1/2: a\r", "Building [==> ] 2/2: b\r", "\u{1b}[K   Compiling b\n", "warning: \u{e4}"];
        assert_eq!(pieces, expected);
    }

    #[test]
    fn failures_of_test_targets_are_told_from_failures_of_the_code() {
        assert!(only_tests("error: could not compile `demo` (lib test) due to 1 previous error\n"));
        assert!(only_tests("error: could not compile `demo` (test \"it\") due to 2 previous errors\n"));
        assert!(only_tests("error: could not compile `demo` (bench \"it\") due to 2 previous errors\n"));
        assert!(only_tests("error: could not compile `demo` (bin \"demo\" test) due to 2 previous errors\n"));
        assert!(!only_tests("error: could not compile `demo` (lib) due to 1 previous error\n"));
        assert!(!only_tests("error: failed to select a version for `x`\n"));
    }
}
