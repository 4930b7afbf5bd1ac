//! The text of the hook.

use perfunit_system::cache;

const TEMPLATE: &str = include_str!("pre-push.sh");
/// Beginning of the hook's second line; a hash of all other lines follows.
const MARK: &str = "# cargo-perfunit hook 1 ";
/// Command that runs the check, in the hook and in the configuration of hook managers.
const RUN: &str = "cargo perfunit hook run";

/// Options of an installed hook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stored {
    /// Options of `hook run`.
    pub options: Vec<String>,
    pub diff: Vec<String>,
    /// Handling of a push that could not be checked.
    pub failure: OnFailure,
}

/// Handling of a push that could not be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// Let it through with a warning.
    #[default]
    Pass,
    Block,
}

impl Stored {
    /// Returns the hook's script.
    pub fn script(&self) -> String {
        let failure = match self.failure {
            OnFailure::Pass => "0",
            OnFailure::Block => "$code",
        };
        let template = TEMPLATE.replace("@FAILURE@", failure);
        let body = template.replace(&format!("{RUN} @OPTIONS@ \"$@\" @DIFF@"), &self.command("\"$@\""));
        let (first, rest) = body.split_once('\n').unwrap_or_default();
        format!("{first}\n{MARK}{}\n{rest}", cache::hash(body.as_bytes()))
    }

    /// Returns the shell command that checks a push; `given` are git's arguments.
    pub fn command(&self, given: &str) -> String {
        let mut words = vec![RUN.to_owned()];
        words.extend(self.options.iter().map(|option| quote(option)));
        words.extend(Some(given.to_owned()).filter(|given| !given.is_empty()));
        if !self.diff.is_empty() {
            words.push("--".to_owned());
            words.extend(self.diff.iter().map(|option| quote(option)));
        }
        words.join(" ")
    }
}

/// Author of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Ours, unchanged.
    Ours,
    /// Ours, but edited.
    Edited,
    Foreign,
}

/// Returns the author of a hook's text.
pub fn origin(text: &str) -> Origin {
    let mut lines = text.splitn(3, '\n');
    let (first, mark, rest) = (lines.next(), lines.next(), lines.next());
    if let (Some(first), Some(hash), Some(rest)) = (first, mark.and_then(|line| line.strip_prefix(MARK)), rest)
        && cache::hash(format!("{first}\n{rest}").as_bytes()) == hash
    {
        return Origin::Ours;
    }
    if text.contains(MARK) { Origin::Edited } else { Origin::Foreign }
}

/// Returns true if a hook or a hook manager's configuration runs our check.
pub fn runs_us(text: &str) -> bool {
    text.contains("perfunit hook run")
}

/// Returns the command in a hook's text that runs our check.
pub fn command_in(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.find(RUN).map(|at| line[at..].trim_end()))
}

/// Splits such a command into words like a shell; empty if it is invalid.
pub fn words_of(command: &str) -> Vec<String> {
    shlex::split(command).unwrap_or_default()
}

/// Quotes a word for the shell. The command line contains no NUL, the only character that cannot be quoted.
fn quote(word: &str) -> String {
    shlex::try_quote(word).unwrap_or_default().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(options: &[&str], diff: &[&str]) -> Stored {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Stored { options: words(options), diff: words(diff), failure: OnFailure::Pass }
    }

    #[test]
    fn the_hook_is_known_again_and_so_is_an_edited_one() {
        let script = sample(&["--budget", "60s"], &[]).script();
        assert!(script.starts_with("#!/bin/sh\n# cargo-perfunit hook 1 "), "{script}");
        assert!(!script.contains('@') || !script.contains("@OPTIONS@"), "{script}");
        assert_eq!(origin(&script), Origin::Ours);
        assert_eq!(origin(&script.replace("exit 0", "exit 1")), Origin::Edited);
        assert_eq!(origin("#!/bin/sh\nmake test\n"), Origin::Foreign);
        assert_eq!(origin(""), Origin::Foreign);
    }

    #[test]
    fn options_are_words_of_the_shell() {
        let script = sample(&["--base", "it's"], &["-E", "test(a b)"]).script();
        let command = command_in(&script).unwrap();
        assert_eq!(command, r#"cargo perfunit hook run --base "it's" "$@" -- -E 'test(a b)'"#);
        assert_eq!(words_of(command)[4..], ["--base", "it's", "$@", "--", "-E", "test(a b)"]);
        assert!(runs_us(&script));
        let plain = sample(&[], &["--threshold", "5%"]).command("{1} {2}");
        assert_eq!(plain, "cargo perfunit hook run {1} {2} -- --threshold '5%'");
    }

    #[test]
    fn the_shell_can_read_it() {
        for failure in [OnFailure::Pass, OnFailure::Block] {
            let script = Stored { failure, ..sample(&["--base", "a'b $c"], &["x y"]) }.script();
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("hook"), &script).unwrap();
            let checked = std::process::Command::new("sh").arg("-n").arg(folder.path().join("hook")).output().unwrap();
            assert!(checked.status.success(), "{script}\n{checked:?}");
        }
    }
}
