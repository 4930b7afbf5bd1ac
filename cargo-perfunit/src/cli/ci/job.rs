//! Ready jobs for continuous integration: the text of the file that a service reads.
//!
//! All jobs have in common that base and head are measured by the same job, that only commits are
//! compared, and that what they say is said by the exit code as well.

use clap::ValueEnum;
use std::num::NonZeroUsize;

/// Services that run jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Service {
    /// GitHub Actions: `.github/workflows/perfunit.yml`.
    Github,
    /// GitLab CI: `.gitlab-ci.yml`, or a file to include there.
    Gitlab,
    /// Any other: a shell script, `ci/perfunit.sh`.
    Generic,
}

/// A job to write.
#[derive(Debug, Clone)]
pub struct Job {
    pub service: Service,
    /// Among how many machines the tests are shared out; one if absent.
    pub shards: Option<NonZeroUsize>,
    /// The default branch of the repository.
    pub branch: String,
    /// The project's folder, relative to the top of the repository with `/`; empty for the top itself.
    pub folder: String,
}

/// Of what GitHub caches: the newest of the same lock file is taken.
const KEY: &str = "perfunit-@VERSION@-${{ runner.os }}-${{ runner.arch }}-${{ steps.toolchain.outputs.key }}-\
    ${{ hashFiles('**/Cargo.lock') }}-${{ github.sha }}";
/// The options of `diff` in all jobs.
const OPTIONS: &str = " --profile ci";

impl Service {
    /// Where its file lies, relative to the top of the repository.
    pub fn path(self) -> &'static str {
        match self {
            Self::Github => ".github/workflows/perfunit.yml",
            Self::Gitlab => ".gitlab-ci.yml",
            Self::Generic => "ci/perfunit.sh",
        }
    }
}

impl Job {
    /// The text of the file.
    pub fn render(&self) -> String {
        let one = self.shards.is_none();
        let (frame, parts): (&str, &[(&str, &str)]) = match self.service {
            Service::Github => (
                if one { include_str!("github.yml") } else { include_str!("github-shards.yml") },
                &[
                    ("BASE", include_str!("github-base.yml")),
                    ("PREPARE", include_str!("github-prepare.yml")),
                    ("CACHED", include_str!("github-cached.yml")),
                    ("COMMENT", include_str!("github-comment.yml")),
                ],
            ),
            Service::Gitlab => (
                if one { include_str!("gitlab.yml") } else { include_str!("gitlab-shards.yml") },
                &[("SETTINGS", include_str!("gitlab-settings.yml")), ("INSTALL", include_str!("gitlab-install.yml"))],
            ),
            Service::Generic => (
                if one { include_str!("generic.sh") } else { include_str!("generic-shards.sh") },
                &[("INSTALL", include_str!("generic-install.sh"))],
            ),
        };
        let mut text = frame.to_owned();
        for (name, part) in parts {
            text = text.replace(&format!("@{name}@\n"), part);
        }
        let count = self.shards.map_or(1, NonZeroUsize::get);
        let list: Vec<String> = (1..=count).map(|shard| shard.to_string()).collect();
        let below =
            |name: &str| if self.folder.is_empty() { name.to_owned() } else { format!("{}/{name}", self.folder) };
        let manifest =
            if self.folder.is_empty() { String::new() } else { format!(" --manifest-path {}", below("Cargo.toml")) };
        let values = [
            (" @OPTIONS@", format!("{OPTIONS}{manifest}")),
            (" @MANIFEST@", manifest),
            ("@KEY@", KEY.to_owned()),
            ("@VERSION@", env!("CARGO_PKG_VERSION").to_owned()),
            ("@REPOSITORY@", env!("CARGO_PKG_REPOSITORY").to_owned()),
            ("@BRANCH@", self.branch.clone()),
            ("@SHARDS@", count.to_string()),
            ("@LIST@", list.join(", ")),
            ("@TARGET@", below("target")),
            ("@LOCK@", below("Cargo.lock")),
        ];
        values.iter().fold(text, |text, (name, value)| text.replace(name, value))
    }
}

#[cfg(test)]
mod tests;
