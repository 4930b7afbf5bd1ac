//! CI jobs as files for the services that run them.
//!
//! All jobs measure base and head on one machine, compare commits only, and report failures by their exit code.

use clap::ValueEnum;
use std::num::NonZeroUsize;

/// CI services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Service {
    /// GitHub Actions: `.github/workflows/perfunit.yml`.
    Github,
    /// GitLab CI: `.gitlab-ci.yml`, or a file to include there.
    Gitlab,
    /// Any other: a shell script, `ci/perfunit.sh`.
    Generic,
}

/// A job file.
#[derive(Debug, Clone)]
pub struct Job {
    pub service: Service,
    /// Number of machines that divide the tests; one if absent.
    pub shards: Option<NonZeroUsize>,
    /// The default branch of the repository.
    pub branch: String,
    /// The project's folder with `/`, relative to the root of the repository; empty for the root.
    pub folder: String,
}

/// Key of GitHub's cache. GitHub restores the newest entry with the same lock file.
const KEY: &str = "perfunit-@VERSION@-${{ runner.os }}-${{ runner.arch }}-${{ steps.toolchain.outputs.key }}-\
    ${{ hashFiles('**/Cargo.lock') }}-${{ github.sha }}";
/// The options of `diff` in all jobs.
const OPTIONS: &str = " --profile ci";

impl Service {
    /// Returns the path of the job file, relative to the root of the repository.
    pub fn path(self) -> &'static str {
        match self {
            Self::Github => ".github/workflows/perfunit.yml",
            Self::Gitlab => ".gitlab-ci.yml",
            Self::Generic => "ci/perfunit.sh",
        }
    }
}

impl Job {
    /// Renders the job file.
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
