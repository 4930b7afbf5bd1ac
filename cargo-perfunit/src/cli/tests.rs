//! Checks that command lines are accepted.

use super::ci::{Job, Service};
use super::*;
use crate::hook::{OnFailure, Stored, words_of};
use std::num::NonZeroUsize;

#[test]
fn the_command_line_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn the_range_of_a_log_comes_before_filters() {
    let Command::Log(log) = parse(["cargo-perfunit", "log", "v1..v2", "parse", "lex"].map(OsString::from)).command
    else {
        panic!("not log")
    };
    assert_eq!(log.common.base.as_deref(), Some("v1..v2"));
    assert_eq!(log.common.filter, ["parse", "lex"]);
}

#[test]
fn cargos_extra_word_is_dropped() {
    let typed = |line: &str| parse(line.split(' ').map(OsString::from));
    for line in ["cargo-perfunit perfunit diff main", "cargo-perfunit diff main"] {
        let Command::Diff(diff) = typed(line).command else { panic!("not diff") };
        assert_eq!(diff.common.base.as_deref(), Some("main"));
    }
}

#[test]
fn the_command_in_a_hook_is_understood() {
    let options = "--budget 1.5s --profile mine --base main --deny inconclusive --strict";
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    let stored = Stored { options: words(options), diff: words("--threshold 5%"), failure: OnFailure::Block };
    // Without `cargo`, because the first word is the program's name.
    Arguments::try_parse_from(words_of(&stored.command("origin url")).into_iter().skip(1)).unwrap();
}

/// Returns the commands in a job that run us, with example values for the service's variables.
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
            let (branch, folder) = ("main".to_owned(), folder.to_owned());
            let text = Job { service, shards, inline: true, forks: false, branch, folder }.render();
            let commands = commands(&text);
            // With shards, one command measures and another merges; on GitHub, one more builds the default branch.
            let expected = 1 + usize::from(shards.is_some()) + usize::from(service == Service::Github);
            assert_eq!(commands.len(), expected, "{text}");
            for command in commands {
                let line = ["cargo perfunit"].into_iter().chain(command.split_whitespace());
                Arguments::try_parse_from(line).unwrap_or_else(|error| panic!("{command}: {error}"));
            }
        }
    }
}

#[test]
fn guessed_options_are_understood_or_named() {
    let parse = |line: &str| Arguments::try_parse_from(["cargo perfunit"].into_iter().chain(line.split(' ')));
    let Command::Log(log) = parse("log -n 3").unwrap().command else { panic!("not `log`") };
    assert_eq!(log.max, Some(3));
    assert!(parse("report --format html").is_ok());
    let error = parse("report --html").unwrap_err().to_string();
    assert!(error.contains("unexpected argument '--html'") && error.contains("--format html"), "{error}");
}
