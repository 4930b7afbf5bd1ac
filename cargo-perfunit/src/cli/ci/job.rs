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
    /// Write all steps instead of using our action, where there is one.
    pub inline: bool,
    /// Leave comments to a second workflow, which may comment on pull requests from forks, too.
    pub forks: bool,
    /// The default branch of the repository.
    pub branch: String,
    /// The project's folder with `/`, relative to the root of the repository; empty for the root.
    pub folder: String,
}

/// The workflow that comments on pull requests from forks.
pub const FORKS_PATH: &str = ".github/workflows/perfunit-comment.yml";
/// Our action, by its major version.
const ACTION: &str = "cargo-perfunit/cargo-perfunit@v0";
const FORKS_ACTION: &str = "cargo-perfunit/cargo-perfunit/comment@v0";
/// Scripts that the steps of workflows run, by the names that stand for them.
const SCRIPTS: [(&str, &str); 5] = [
    ("@github-toolchain.sh@", include_str!("github-toolchain.sh")),
    ("@github-install.sh@", include_str!("github-install.sh")),
    ("@github-valgrind.sh@", include_str!("github-valgrind.sh")),
    ("@github-comment.sh@", include_str!("github-comment.sh")),
    ("@github-forks.sh@", include_str!("github-forks.sh")),
];
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
        let is_short = one && !self.inline;
        let upload_or_comment =
            if self.forks { include_str!("github-upload.yml") } else { include_str!("github-comment.yml") };
        let commenting = if self.forks { "" } else { include_str!("github-commenting.yml") };
        let with = self.inputs();
        let (frame, parts): (&str, &[(&str, &str)]) = match self.service {
            Service::Github if is_short => {
                (include_str!("github.yml"), &[("COMMENTING", commenting), ("WITH", with.as_str())])
            }
            Service::Github => (
                if one { include_str!("github-inline.yml") } else { include_str!("github-shards.yml") },
                &[
                    ("BASE", include_str!("github-base.yml")),
                    ("PREPARE", include_str!("github-prepare.yml")),
                    ("CACHED", include_str!("github-cached.yml")),
                    ("COMMENT", upload_or_comment),
                    ("COMMENTING", commenting),
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
        self.filled_in(frame, parts)
    }

    /// Returns the text of the workflow that comments on pull requests from forks.
    pub fn render_forks(&self) -> String {
        let short = format!("      - uses: {FORKS_ACTION}\n");
        let is_long = self.inline || self.shards.is_some();
        let steps = if is_long { include_str!("github-forks-inline.yml") } else { short.as_str() };
        self.filled_in(include_str!("github-forks.yml"), &[("STEPS", steps)])
    }

    /// Returns the inputs of our action.
    fn inputs(&self) -> String {
        let manifest = (!self.folder.is_empty()).then(|| format!("manifest-path: {}", self.below("Cargo.toml")));
        let target = (!self.folder.is_empty()).then(|| format!("target-dir: {}", self.below("target")));
        let inputs = manifest.into_iter().chain(target).chain(self.forks.then(|| "comment: artifact".to_owned()));
        let lines: Vec<String> = inputs.map(|input| format!("          {input}\n")).collect();
        if lines.is_empty() { String::new() } else { format!("        with:\n{}", lines.concat()) }
    }

    /// Returns a path in the project's folder.
    fn below(&self, name: &str) -> String {
        if self.folder.is_empty() { name.to_owned() } else { format!("{}/{name}", self.folder) }
    }

    fn filled_in(&self, frame: &str, parts: &[(&str, &str)]) -> String {
        let text = parts.iter().fold(frame.to_owned(), |text, (name, part)| text.replace(&format!("@{name}@\n"), part));
        let text = SCRIPTS.iter().fold(text, |text, (name, script)| with_script(&text, name, script));
        let count = self.shards.map_or(1, NonZeroUsize::get);
        let list: Vec<String> = (1..=count).map(|shard| shard.to_string()).collect();
        let manifest = if self.folder.is_empty() {
            String::new()
        } else {
            format!(" --manifest-path {}", self.below("Cargo.toml"))
        };
        let output = if self.forks { " --output \"$RUNNER_TEMP/perfunit\"" } else { "" };
        let values = [
            (" @OPTIONS@", format!("{OPTIONS}{manifest}")),
            (" @MANIFEST@", manifest),
            (" @OUTPUT@", output.to_owned()),
            ("@KEY@", KEY.to_owned()),
            ("@ACTION@", ACTION.to_owned()),
            ("@VERSION@", env!("CARGO_PKG_VERSION").to_owned()),
            ("@REPOSITORY@", env!("CARGO_PKG_REPOSITORY").to_owned()),
            ("@BRANCH@", self.branch.clone()),
            ("@SHARDS@", count.to_string()),
            ("@LIST@", list.join(", ")),
            ("@TARGET@", self.below("target")),
            ("@LOCK@", self.below("Cargo.lock")),
        ];
        values.iter().fold(text, |text, (name, value)| text.replace(name, value))
    }
}

/// Returns a text with a script in the place of the line that names it, as far to the right as that line.
fn with_script(text: &str, name: &str, script: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| match line.split_once(name) {
        Some((indent, "\n")) if indent.trim().is_empty() => {
            script.lines().map(|line| format!("{indent}{line}\n")).collect::<Vec<_>>().concat()
        }
        _ => line.to_owned(),
    });
    lines.collect()
}

#[cfg(test)]
mod tests;
