//! The book in `docs/` matches the tool: each subcommand has a page with its current help, typed examples are
//! understood, and every page can be reached.

use crate::support::{Run, repository_root};
use cargo_perfunit::cli::{Arguments, ENVIRONMENT, FILES};
use clap::{CommandFactory, Parser};
use perfunit_model::error::ExitCode;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// If this variable is set, the tests write the missing text.
const UPDATE: &str = "PERFUNIT_UPDATE_BOOK";
/// Markers around the help of a page's subcommand.
const START: &str = "<!-- The help, written by tests/it/book.rs. -->\n";
const END: &str = "<!-- End of the help. -->\n";

fn docs() -> PathBuf {
    repository_root().join("docs")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Fails if anything is missing, and names it and the fix.
#[track_caller]
fn none(missing: &[String], how: &str) {
    assert!(missing.is_empty(), "{}\n{how}", missing.join("\n"));
}

/// Returns the command line's tree as users see it.
fn tree() -> clap::Command {
    let mut command = Arguments::command();
    command.build();
    command
}

/// Returns the subcommands that the help shows.
fn subcommands(command: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

/// Returns a subcommand and all subcommands below it.
fn family(command: &clap::Command) -> Vec<&clap::Command> {
    std::iter::once(command).chain(subcommands(command).flat_map(family)).collect()
}

/// Returns the output of `--help` at 100 columns, without values from the environment.
fn help(words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-perfunit"));
    command.args(words).arg("--help").env_clear();
    let text = Run::of(command).expect(0).stdout;
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Returns the help of a subcommand and of those below it, as shown on a page.
fn help_blocks(command: &clap::Command, words: &[&str]) -> String {
    let mut text = format!("```text\n$ cargo perfunit {} --help\n{}```\n", words.join(" "), help(words));
    for below in subcommands(command) {
        text += "\n";
        text += &help_blocks(below, &[words, &[below.get_name()]].concat());
    }
    text
}

/// Replaces the help on a page, or appends it if the page has none.
fn with_help(page: &str, help: &str) -> String {
    let block = format!("{START}\n{help}\n{END}");
    match (page.find(START), page.find(END)) {
        (Some(start), Some(end)) => format!("{}{block}{}", &page[..start], &page[end + END.len()..]),
        _ => format!("{}\n\n{block}", page.trim_end()),
    }
}

#[test]
fn every_subcommand_has_a_page_with_its_help() {
    let mut missing = Vec::new();
    for command in subcommands(&tree()) {
        let name = command.get_name();
        let path = docs().join(format!("commands/{name}.md"));
        let Ok(page) = fs::read_to_string(&path) else {
            missing.push(format!("docs/commands/{name}.md is not there: say what it is for, with examples"));
            continue;
        };
        let right = with_help(&page, &help_blocks(command, &[name]));
        if page != right && std::env::var_os(UPDATE).is_some() {
            fs::write(&path, &right).unwrap();
        } else if page != right {
            missing.push(format!("docs/commands/{name}.md has not the help that the tool prints"));
        }
        let own = page.split(START).next().unwrap();
        let typed = format!("cargo perfunit {name}");
        if !own.lines().any(|line| line.trim_start_matches("$ ").starts_with(&typed)) {
            missing.push(format!("docs/commands/{name}.md has no example"));
        }
    }
    none(&missing, &format!("the help is written by: {UPDATE}=1 cargo test --test it book"));
}

/// Returns the paths of all pages in `docs`.
fn pages() -> BTreeSet<String> {
    fn collect(folder: &Path, pages: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, pages);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.insert(path.strip_prefix(docs()).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    let mut pages = BTreeSet::new();
    collect(&docs(), &mut pages);
    pages.remove("SUMMARY.md");
    pages
}

/// Returns the link targets of a text, except those on other sites.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    targets.filter(|target| !target.contains("://"))
}

#[test]
fn the_summary_lists_every_page() {
    let path = docs().join("SUMMARY.md");
    let mut summary = read(&path);
    if std::env::var_os(UPDATE).is_some() {
        let listed = completed(&summary);
        if listed != summary {
            fs::write(&path, &listed).unwrap();
            summary = listed;
        }
    }
    let listed: BTreeSet<String> = links(&summary).map(str::to_owned).collect();
    assert_eq!(listed.len(), links(&summary).count(), "mdBook wants each page in docs/SUMMARY.md but once");
    let missing: Vec<String> = pages().symmetric_difference(&listed).cloned().collect();
    none(
        &missing,
        &format!("pages and docs/SUMMARY.md differ in these; it is written by: {UPDATE}=1 cargo test --test it book"),
    );
}

/// Adds missing pages to the summary: pages of subcommands in their part, all others in the part about using the tool.
fn completed(summary: &str) -> String {
    let tree = tree();
    let commands = subcommands(&tree).map(|command| format!("- [{0}](commands/{0}.md)\n", command.get_name()));
    let (before, _, after) = part(summary, "# Commands\n");
    let summary = format!("{before}\n{}{after}", commands.collect::<String>());
    let listed: BTreeSet<String> = links(&summary).map(str::to_owned).collect();
    let title = |page: &str| read(&docs().join(page)).lines().next().unwrap_or_default().replace("# ", "");
    let lacking = pages().into_iter().filter(|page| !listed.contains(page));
    let lacking: Vec<String> = lacking.map(|page| format!("- [{}]({page})\n", title(&page))).collect();
    let (before, entries, after) = part(&summary, "# Using it\n");
    format!("{before}{entries}{}{after}", lacking.concat())
}

/// Splits the summary at a part: the text up to and including its heading, its entries, and the rest.
fn part<'a>(summary: &'a str, heading: &str) -> (&'a str, &'a str, &'a str) {
    let start = summary.find(heading).unwrap_or_else(|| panic!("no {heading}")) + heading.len();
    let length = summary[start..].find("\n#").expect("a part behind it");
    (&summary[..start], &summary[start..start + length], &summary[start + length..])
}

#[test]
fn links_lead_to_a_heading_of_the_book() {
    let mut missing = Vec::new();
    for page in pages() {
        let text = read(&docs().join(&page));
        let folder = Path::new(&page).parent().unwrap();
        for link in links(&text) {
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let path = if target.is_empty() { PathBuf::from(&page) } else { folder.join(target) };
            let Ok(found) = fs::canonicalize(docs().join(path)) else {
                missing.push(format!("docs/{page}: {link} is not there"));
                continue;
            };
            if !found.starts_with(fs::canonicalize(docs()).unwrap()) {
                missing.push(format!("docs/{page}: {link} is outside of the book"));
            } else if !anchor.is_empty() && !anchors(&read(&found)).contains(anchor) {
                missing.push(format!("docs/{page}: {link} has no such heading"));
            }
        }
    }
    none(&missing, "links in the book must lead to its pages and headings, or to a site");
}

/// Returns the anchors of a page's headings: lowercase, without punctuation, with hyphens instead of spaces.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let title = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// Returns the commands typed in the documents and in the examples of the help, each with its place.
fn examples() -> Vec<(String, String)> {
    let documents = pages().into_iter().map(|page| format!("docs/{page}"));
    let mut examples = Vec::new();
    for path in documents.chain(["README.md", "examples/README.md", "CONTRIBUTING.md"].map(str::to_owned)) {
        let text = read(&repository_root().join(&path));
        let text = text.split(START).next().unwrap();
        let typed = text.lines().filter(|line| line.starts_with("$ ") || line.starts_with("cargo perfunit "));
        examples.extend(typed.map(|line| (path.clone(), line.trim_start_matches("$ ").to_owned())));
    }
    for command in family(&tree()) {
        let after = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        let typed = after.lines().filter_map(|line| line.strip_prefix("  ")?.split("  ").next());
        examples.extend(typed.map(|line| (format!("help of {}", command.get_name()), line.to_owned())));
    }
    examples
}

/// Replaces shell variables in a line by 1.
fn with_values(line: &str) -> String {
    let mut parts = line.split('$');
    let first = parts.next().unwrap_or_default().to_owned();
    let value =
        |part: &str| format!("1{}", part.trim_start_matches(|c: char| c.is_alphanumeric() || "_{}".contains(c)));
    first + &parts.map(value).collect::<Vec<_>>().concat()
}

/// Returns the words of a command line up to a redirection, a pipe or a comment.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    let end = words.iter().position(|word| ["#", ">", "|", "&&", "||", ";", "\\"].contains(&word.as_str()));
    words.truncate(end.unwrap_or(words.len()));
    words
}

#[test]
fn the_tool_understands_every_example() {
    let mut found = 0;
    let mut broken = Vec::new();
    for (place, line) in examples() {
        // Variables may be set in front of the command.
        let words = words(&with_values(&line));
        let words: Vec<&str> = words.iter().map(String::as_str).skip_while(|word| word.contains('=')).collect();
        let typed = match words.as_slice() {
            ["cargo", "perfunit", rest @ ..] | ["cargo-perfunit", rest @ ..] if !line.contains("<TAB>") => rest,
            _ => continue,
        };
        found += 1;
        if let Err(error) = Arguments::try_parse_from(std::iter::once(&"cargo perfunit").chain(typed))
            && error.use_stderr()
        {
            broken.push(format!("{place}: {line}\n{error}"));
        }
    }
    none(&broken, "the tool must understand the examples");
    assert!(found > 50, "only {found} examples");
}

#[test]
fn what_the_help_names_is_there() {
    let mut missing = Vec::new();
    for command in subcommands(&tree()) {
        let text = help(&[command.get_name()]);
        let named = text.split_whitespace().filter(|word| word.starts_with("docs/"));
        let paths = named.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        let gone = paths.filter(|path| !repository_root().join(path).exists());
        missing.extend(gone.map(|path| format!("{}: {path}", command.get_name())));
    }
    none(&missing, "pages named in the help must exist");
}

/// Returns the first cells of a page's tables, in backticks.
fn first_cells(page: &str) -> BTreeSet<String> {
    let text = read(&docs().join(page));
    let cells = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next().map(str::to_owned));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn the_man_pages_and_the_book_name_the_same_variables_and_files() {
    let names = ENVIRONMENT.iter().chain(FILES).flat_map(|(names, _)| names.split(", "));
    let names: BTreeSet<String> = names.map(str::to_owned).collect();
    let differ: Vec<String> = names.symmetric_difference(&first_cells("environment.md")).cloned().collect();
    none(&differ, "docs/environment.md and manual/facts.rs must list the same variables");
    let mut unnamed = BTreeSet::new();
    for command in family(&tree()) {
        let variables = command.get_arguments().filter_map(clap::Arg::get_env).map(|name| name.to_str().unwrap());
        unnamed.extend(variables.filter(|name| !names.contains(*name)).map(str::to_owned));
    }
    none(
        &unnamed.into_iter().collect::<Vec<_>>(),
        "options take these; add them to docs/environment.md and manual/facts.rs",
    );
}

#[test]
fn the_book_lists_every_exit_code() {
    let text = read(&docs().join("exit-codes.md"));
    let listed: Vec<u8> =
        text.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse().ok()).collect();
    assert_eq!(listed, ExitCode::ALL.map(|code| code as u8), "docs/exit-codes.md and error.rs");
}
