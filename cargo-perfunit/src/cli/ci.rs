//! `cargo perfunit ci`.

use super::comparing::{folder, real};
use crate::ci::Service;
use crate::commands::{self, CiInit, CiOutput};
use crate::error::{ExitCode, Result};
use crate::system::term::Terminal;
use clap::{Args, Subcommand, ValueEnum};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Arguments of `ci`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit ci init github            a workflow for pull requests
  cargo perfunit ci init gitlab            a job for merge requests
  cargo perfunit ci init generic           a shell script for any other service
  cargo perfunit ci init github --print    only show it

What the jobs do, and why, is told in docs/ci.md.
")]
pub struct CiArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: CiCommand,
}

/// What can be done for CI.
#[derive(Debug, Subcommand)]
pub enum CiCommand {
    /// Write a job that compares each pull request with its base, and fails for tests that got slower.
    ///
    /// The file is written below the top of the repository, and never over another one without --force.
    Init(InitArguments),
}

/// Arguments of `ci init`.
#[derive(Debug, Args)]
pub struct InitArguments {
    /// The service that runs it.
    #[arg(value_enum)]
    pub service: CiService,
    /// Share the tests out among N machines, and join what they find.
    #[arg(long, value_name = "N")]
    pub shards: Option<NonZeroUsize>,
    /// Print the file instead of writing it.
    #[arg(long, conflicts_with = "force")]
    pub print: bool,
    /// Overwrite a file that is there.
    #[arg(long)]
    pub force: bool,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

/// Services that run jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CiService {
    /// GitHub Actions: `.github/workflows/perfunit.yml`.
    Github,
    /// GitLab CI: `.gitlab-ci.yml`, or a file to include there.
    Gitlab,
    /// Any other: a shell script, `ci/perfunit.sh`.
    Generic,
}

impl CiArguments {
    /// Does what was asked for.
    pub fn run(&self) -> Result<ExitCode> {
        let CiCommand::Init(init) = &self.command;
        let manifest = init.manifest_path.as_deref().map(real).transpose()?;
        let request = CiInit {
            folder: manifest.as_deref().and_then(Path::parent).map_or_else(folder, |parent| Ok(parent.to_owned()))?,
            manifest,
            service: match init.service {
                CiService::Github => Service::Github,
                CiService::Gitlab => Service::Gitlab,
                CiService::Generic => Service::Generic,
            },
            shards: init.shards.filter(|shards| shards.get() > 1),
            output: match init {
                InitArguments { print: true, .. } => CiOutput::Print,
                InitArguments { force: true, .. } => CiOutput::Overwrite,
                _ => CiOutput::Write,
            },
        };
        commands::ci_init(&request, Terminal::default())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Arguments;
    use super::*;
    use crate::ci::Job;
    use clap::Parser;

    /// The command lines in a job that run us, with values for what the service fills in.
    fn commands(text: &str) -> Vec<String> {
        let starts = ["- cargo perfunit ", "run: cargo perfunit ", "exec cargo perfunit ", "cargo perfunit "];
        let line = |line: &str| {
            let command = starts.iter().find_map(|start| line.trim().strip_prefix(start))?;
            let command = command.split(" || ").next().unwrap_or_default();
            let filled = ["$SHARD", "$shard", "$CI_NODE_INDEX"]
                .iter()
                .fold(command.to_owned(), |line, name| line.replace(name, "1"));
            Some(filled.replace("$CI_NODE_TOTAL", "4").replace('"', ""))
        };
        text.lines().filter_map(line).collect()
    }

    #[test]
    fn the_commands_in_jobs_are_understood() {
        for service in [Service::Github, Service::Gitlab, Service::Generic] {
            for (folder, shards) in
                [("", None), ("rust/app", None), ("", NonZeroUsize::new(4)), ("rust/app", NonZeroUsize::new(4))]
            {
                let text = Job { service, shards, folder: folder.to_owned() }.render();
                let commands = commands(&text);
                // Shards are measured by one command and merged by another.
                assert_eq!(commands.len(), if shards.is_some() { 2 } else { 1 }, "{text}");
                for command in commands {
                    let line = ["cargo perfunit"].into_iter().chain(command.split_whitespace());
                    Arguments::try_parse_from(line).unwrap_or_else(|error| panic!("{command}: {error}"));
                }
            }
        }
    }
}
