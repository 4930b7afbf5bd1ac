//! Man pages for the tool and for each subcommand, including nested ones.

use super::facts::{ENVIRONMENT, FILES};
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};
use perfunit_model::error::ExitCode;
use std::io;

/// Name of the executable, which names pages and scripts.
pub const BINARY: &str = "cargo-perfunit";
/// Beginning of the examples in a long help; the page has a section for them.
const EXAMPLES: &str = "Examples:\n";

/// A page to write to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManPage {
    pub file: String,
    pub roff: String,
}

/// Returns the pages of a command and of all its subcommands.
pub fn man_pages(command: Command) -> Vec<ManPage> {
    let words = command.get_bin_name().unwrap_or(BINARY).to_owned();
    let mut root = rename(command).bin_name(words).disable_help_subcommand(true);
    root.build();
    let names: Vec<String> = tree(&root).into_iter().map(title).collect();
    tree(&root).into_iter().map(|command| page(command, &names)).collect()
}

/// Returns the command under its executable's name: pages and scripts are named by one word, not two.
pub fn rename(command: Command) -> Command {
    command.name(BINARY).display_name(BINARY).bin_name(BINARY)
}

/// Returns a command and its subcommands, as shown in the help.
fn tree(command: &Command) -> Vec<&Command> {
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    std::iter::once(command).chain(shown.flat_map(tree)).collect()
}

fn title(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

fn page(command: &Command, names: &[String]) -> ManPage {
    let source = format!("{BINARY} {}", env!("CARGO_PKG_VERSION"));
    // Options hidden in `-h` are in the page too.
    let shown = command.clone().mut_args(|argument| argument.hide_short_help(false));
    let man = Man::new(shown).source(source).manual("cargo-perfunit manual");
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = describe(&man, command, &mut text);
    let mut roff = Roff::new();
    examples(&mut roff, command);
    list(&mut roff, "EXIT STATUS", ExitCode::ALL.map(|code| ((code as u8).to_string(), code.meaning())));
    list(&mut roff, "ENVIRONMENT", ENVIRONMENT.iter().map(|(name, meaning)| ((*name).to_owned(), *meaning)));
    list(&mut roff, "FILES", FILES.iter().map(|(path, meaning)| ((*path).to_owned(), *meaning)));
    see_also(&mut roff, &title(command), names);
    let text = String::from_utf8_lossy(&text).into_owned() + &roff.to_roff();
    ManPage { file: man.get_filename(), roff: text }
}

fn describe(man: &Man, command: &Command, text: &mut Vec<u8>) -> io::Result<()> {
    man.render_title(text)?;
    man.render_name_section(text)?;
    let usage = command.clone().render_usage().to_string();
    let mut synopsis = Roff::new();
    synopsis.control("SH", ["SYNOPSIS"]).text([bold(usage.trim_start_matches("Usage: "))]);
    synopsis.to_writer(text)?;
    man.render_description_section(text)?;
    man.render_options_section(text)?;
    if tree(command).len() > 1 {
        man.render_subcommands_section(text)?;
    }
    Ok(())
}

/// Writes the examples of the long help line by line; sections follow for the rest.
fn examples(roff: &mut Roff, command: &Command) {
    let after = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let Some(examples) = after.trim().strip_prefix(EXAMPLES) else { return };
    roff.control("SH", ["EXAMPLES"]).control("nf", []);
    for line in examples.lines().map_while(|line| line.strip_prefix("  ")) {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
}

/// Writes a section of words with their meaning.
fn list<'a>(roff: &mut Roff, heading: &str, entries: impl IntoIterator<Item = (String, &'a str)>) {
    roff.control("SH", [heading]);
    for (name, meaning) in entries {
        roff.control("TP", []).text([bold(name)]).text([roman(meaning)]);
    }
}

fn see_also(roff: &mut Roff, own: &str, names: &[String]) {
    let others = names.iter().filter(|name| *name != own);
    let mut line: Vec<Inline> = others.flat_map(|name| [bold(name), roman("(1), ")]).collect();
    if let Some(last) = line.last_mut() {
        *last = roman("(1)");
    }
    roff.control("SH", ["SEE ALSO"]).text(line);
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;

    fn pages() -> Vec<ManPage> {
        let install = Command::new("install").about("Put it there").after_long_help("Examples:\n  scales install\n");
        let hook = Command::new("hook").about("All about hooks").subcommand(install);
        let rare = Arg::new("rare").long("rare").hide_short_help(true).help("Hardly needed").env("PERFUNIT_RARE");
        man_pages(Command::new("cargo perfunit").bin_name("cargo perfunit").arg(rare).subcommand(hook))
    }

    #[test]
    fn each_subcommand_has_a_page_named_like_its_executable() {
        let files: Vec<String> = pages().into_iter().map(|page| page.file).collect();
        assert_eq!(files, ["cargo-perfunit.1", "cargo-perfunit-hook.1", "cargo-perfunit-hook-install.1"]);
    }

    #[test]
    fn a_page_says_what_the_help_does_not() {
        for page in pages() {
            for heading in
                ["NAME", "SYNOPSIS", "DESCRIPTION", "\"EXIT STATUS\"", "ENVIRONMENT", "FILES", "\"SEE ALSO\""]
            {
                assert!(page.roff.contains(&format!(".SH {heading}\n")), "{}: no {heading}:\n{}", page.file, page.roff);
            }
        }
    }

    #[test]
    fn rare_options_are_described_with_their_variable() {
        let roff = &pages()[0].roff;
        assert!(roff.contains("Hardly needed") && roff.contains("PERFUNIT_RARE"), "{roff}");
    }

    #[test]
    fn examples_keep_their_lines() {
        let roff = &pages()[2].roff;
        assert!(roff.contains(".SH EXAMPLES\n.nf\nscales install\n.fi\n"), "{roff}");
        assert!(roff.contains("cargo perfunit hook install"), "{roff}");
    }
}
