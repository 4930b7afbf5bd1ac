//! Programs that manage a repository's hooks: they write the hooks themselves, from their own configuration, so ours has
//! to go there.

use super::script::{Stored, runs_us};
use crate::system::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    Husky,
    Lefthook,
    PreCommit,
    CargoHusky,
    RustyHook,
    Overcommit,
}

/// A hook manager at work in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Managing {
    pub manager: Manager,
    /// The file, relative to the top of the working tree, that it reads what to run from.
    pub configuration: PathBuf,
    /// Whether that file runs us already.
    pub runs_us: bool,
}

/// Each with what its configuration is called (the first is what we name if none is there), and what its hooks say.
const KNOWN: [(Manager, &[&str], &str); 6] = [
    (Manager::CargoHusky, &[".cargo-husky/hooks"], "cargo-husky"),
    (Manager::Husky, &[".husky"], "husky"),
    (
        Manager::Lefthook,
        &[
            "lefthook.yml",
            "lefthook.yaml",
            "lefthook.toml",
            "lefthook.json",
            ".lefthook.yml",
            ".lefthook.yaml",
            ".lefthook.toml",
        ],
        "lefthook",
    ),
    (Manager::PreCommit, &[".pre-commit-config.yaml", ".pre-commit-config.yml"], "pre-commit.com"),
    (Manager::RustyHook, &[".rusty-hook.toml", "rusty-hook.toml"], "rusty-hook"),
    (Manager::Overcommit, &[".overcommit.yml"], "overcommit"),
];

impl Managing {
    /// The manager of a repository's hooks, by its files and by the text of the hook that is there.
    pub fn find(root: &Path, hook: Option<&str>) -> Option<Managing> {
        let by_hook = |(_, _, word): &&(Manager, &[&str], &str)| hook.is_some_and(|text| text.contains(word));
        let by_file = |(_, names, _): &&(Manager, &[&str], &str)| names.iter().any(|name| root.join(name).exists());
        let (manager, names, _) = KNOWN.iter().find(by_hook).or_else(|| KNOWN.iter().find(by_file))?;
        let name = names.iter().find(|name| root.join(name).exists()).unwrap_or(&names[0]);
        let configuration = match manager {
            Manager::Husky | Manager::CargoHusky => Path::new(name).join("pre-push"),
            _ => PathBuf::from(name),
        };
        let text = fs::read(&root.join(&configuration)).unwrap_or_default();
        let runs_us = runs_us(&String::from_utf8_lossy(&text));
        Some(Managing { manager: *manager, configuration, runs_us })
    }
}

impl Manager {
    pub fn name(self) -> &'static str {
        match self {
            Self::Husky => "husky",
            Self::Lefthook => "lefthook",
            Self::PreCommit => "pre-commit",
            Self::CargoHusky => "cargo-husky",
            Self::RustyHook => "rusty-hook",
            Self::Overcommit => "overcommit",
        }
    }

    /// What to add to its configuration, to run the hook with these options.
    pub fn snippet(self, stored: &Stored) -> String {
        // These do not pass on what git says on standard input: the branch that is checked out is taken as the pushed one.
        let branch = || {
            let mut options = stored.options.clone();
            options.push("--branch".to_owned());
            Stored { options, ..stored.clone() }.command("")
        };
        match self {
            Self::Husky => format!("{}\n", stored.command("\"$@\"")),
            Self::CargoHusky => format!("#!/bin/sh\n{}\n", stored.command("\"$@\"")),
            Self::Lefthook => format!(
                "pre-push:\n  commands:\n    perfunit:\n      run: {}\n      use_stdin: true\n",
                yaml(&stored.command("{1} {2}"))
            ),
            Self::PreCommit => format!(
                "# `pre-commit install --hook-type pre-push` makes it a hook.\nrepos:\n  - repo: local\n    hooks:\n      \
                 - id: perfunit\n        name: tests that got slower\n        entry: {}\n        language: system\n        \
                 pass_filenames: false\n        always_run: true\n        stages: [pre-push]\n",
                yaml(&stored.command(""))
            ),
            Self::RustyHook => format!("[hooks]\npre-push = {}\n", toml::Value::from(branch())),
            Self::Overcommit => format!(
                "PrePush:\n  Perfunit:\n    enabled: true\n    description: 'Look for tests that got slower'\n    \
                 required_executable: 'cargo-perfunit'\n    command: ['sh', '-c', {}]\n",
                yaml(&branch())
            ),
        }
    }
}

/// A string of YAML in single quotes, in which nothing but the quote itself means anything.
fn yaml(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], hook: Option<&str>, expected: Option<(Manager, &str, bool)>) {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in files {
            fs::write(&root.path().join(file), text).unwrap();
        }
        let found = Managing::find(root.path(), hook);
        let found = found.as_ref().map(|found| (found.manager, found.configuration.to_str().unwrap(), found.runs_us));
        assert_eq!(found, expected);
    }

    #[test]
    fn managers_are_known_by_their_files_and_by_their_hooks() {
        check(&[], None, None);
        check(&[], Some("#!/bin/sh\nmake test\n"), None);
        check(&[(".husky/pre-commit", "x")], None, Some((Manager::Husky, ".husky/pre-push", false)));
        check(&[(".lefthook.yml", "x")], None, Some((Manager::Lefthook, ".lefthook.yml", false)));
        check(
            &[],
            Some("# File generated by pre-commit: https://pre-commit.com"),
            Some((Manager::PreCommit, ".pre-commit-config.yaml", false)),
        );
        check(
            &[],
            Some("# This hook was set by cargo-husky v1.5.0"),
            Some((Manager::CargoHusky, ".cargo-husky/hooks/pre-push", false)),
        );
        check(
            &[("rusty-hook.toml", "pre-push = \"cargo perfunit hook run --branch\"")],
            None,
            Some((Manager::RustyHook, "rusty-hook.toml", true)),
        );
        check(&[(".overcommit.yml", "x")], Some("lefthook run"), Some((Manager::Lefthook, "lefthook.yml", false)));
    }

    #[test]
    fn snippets_hold_the_stored_options() {
        let stored = Stored { options: vec!["--base".to_owned(), "it's".to_owned()], ..Stored::default() };
        for manager in KNOWN.map(|(manager, ..)| manager) {
            let snippet = manager.snippet(&stored);
            assert!(snippet.contains("cargo perfunit hook run --base"), "{snippet}");
        }
        let parsed: toml::Table = Manager::RustyHook.snippet(&stored).parse().unwrap();
        assert_eq!(parsed["hooks"]["pre-push"].as_str(), Some(r"cargo perfunit hook run --base 'it'\''s' --branch"));
        assert!(Manager::Husky.snippet(&stored).ends_with(" \"$@\"\n"));
    }
}
