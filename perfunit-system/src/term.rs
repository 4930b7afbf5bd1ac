//! The terminal: the only module that prints. Results go to stdout, notes to stderr. Colors are dropped where they are
//! not supported.

use anstyle::{AnsiColor, Style};
use perfunit_model::format::Glyphs;
use std::io::{IsTerminal as _, Write};

/// Verbosity chosen by the user.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terminal {
    /// True if `-q` suppresses notes and progress.
    pub quiet: bool,
}

/// When to use colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ColorChoice {
    /// If the stream is a terminal and the environment does not object (`NO_COLOR`, `CLICOLOR_FORCE`).
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Kind of a status line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Bad,
}

/// Checks whether stderr is a terminal, on which a line can be redrawn.
pub fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Sets the color choice for all later output.
pub fn set_color(choice: ColorChoice) {
    let choice = match choice {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// Checks whether notes on stderr have colors, to pass `--color` to cargo.
pub fn stderr_has_color() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

/// Returns the columns of the terminal on stdout; 0 if stdout is not a terminal.
pub fn width() -> usize {
    terminal_size::terminal_size_of(std::io::stdout()).map_or(0, |(width, _)| width.0.into())
}

/// Returns the characters that the locale can show.
pub fn glyphs() -> Glyphs {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    // Without a locale (CI), the output is read in a log viewer, which supports Unicode.
    let is_unicode = locale.is_none_or(|value| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    });
    if is_unicode { Glyphs::Unicode } else { Glyphs::Ascii }
}

/// Removes colors from text, for files.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// Writes a result to stdout. A closed pipe (`| head`) is not an error.
pub fn print(text: &str) {
    let mut stdout = anstream::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Asks the user a yes/no question on a terminal. Enter means yes; without a terminal the answer is no.
pub fn asks(question: &str) -> bool {
    if !std::io::stdin().is_terminal() || !stderr_is_terminal() {
        return false;
    }
    eprint(&format!("{question} [Y/n] "));
    let mut answer = String::new();
    let is_read = std::io::stdin().read_line(&mut answer).is_ok_and(|read| read > 0);
    is_read && matches!(answer.trim().to_ascii_lowercase().as_str(), "" | "y" | "yes")
}

impl Terminal {
    /// Prints a status line in cargo's style: `      Building base (1a2b3c4)`.
    pub fn status(self, word: &str, rest: &str) {
        self.line(Tone::Good, word, rest);
    }

    /// Prints a status line for good or bad news.
    pub fn line(self, tone: Tone, word: &str, rest: &str) {
        if !self.quiet {
            line(if tone == Tone::Good { AnsiColor::Green } else { AnsiColor::Red }, word, rest);
        }
    }

    /// Prints a warning, after which the run continues.
    pub fn warning(self, text: &str) {
        if !self.quiet {
            let style = Style::new().bold().fg_color(Some(AnsiColor::Yellow.into()));
            eprint(&format!("{style}warning{style:#}: {text}\n"));
        }
    }
}

/// Prints the error that ended the run.
pub fn error(text: &str) {
    let style = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    eprint(&format!("{style}error{style:#}: {text}\n"));
}

/// Prints the output of another program unchanged.
pub fn eprint(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

fn line(color: AnsiColor, word: &str, rest: &str) {
    let style = Style::new().bold().fg_color(Some(color.into()));
    eprint(&format!("{style}{word:>12}{style:#} {rest}\n"));
}
