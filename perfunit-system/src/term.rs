//! The terminal: the only module that prints. Results go to stdout, notes to stderr; colours degrade by themselves.

use anstyle::{AnsiColor, Style};
use std::io::{IsTerminal as _, Write};

/// Verbosity and colour as the user chose them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terminal {
    /// `-q`: no notes, no progress.
    pub quiet: bool,
}

/// When to use colours.
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

/// Whether news is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Bad,
}

/// True if stderr is a terminal, on which a line can be drawn anew.
pub fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Fixes the choice for all later output.
pub fn set_color(choice: ColorChoice) {
    let choice = match choice {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// True if notes on stderr are coloured; for `--color` of the cargo that we run.
pub fn stderr_has_color() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

/// Columns of the terminal on stdout; 0 if it is none.
pub fn width() -> usize {
    terminal_size::terminal_size_of(std::io::stdout()).map_or(0, |(width, _)| width.0.into())
}

/// True if the locale can show µ and →.
pub fn unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    // Without a locale (CI) the reader is a log viewer, which can.
    locale.is_none_or(|value| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}

/// Text without colours, for files.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// Writes a result to stdout. A reader that went away (`| head`) is no error.
pub fn print(text: &str) {
    let mut stdout = anstream::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Asks who sits at a terminal; no where nobody does. Enter is yes.
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
    /// A status line in cargo's manner: `      Building base (1a2b3c4)`.
    pub fn status(self, word: &str, rest: &str) {
        self.line(Tone::Good, word, rest);
    }

    /// The same for good or bad news.
    pub fn line(self, tone: Tone, word: &str, rest: &str) {
        if !self.quiet {
            line(if tone == Tone::Good { AnsiColor::Green } else { AnsiColor::Red }, word, rest);
        }
    }

    /// A note that the user should see even though the run goes on.
    pub fn warning(self, text: &str) {
        if !self.quiet {
            let style = Style::new().bold().fg_color(Some(AnsiColor::Yellow.into()));
            eprint(&format!("{style}warning{style:#}: {text}\n"));
        }
    }
}

/// Why the run ended.
pub fn error(text: &str) {
    let style = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    eprint(&format!("{style}error{style:#}: {text}\n"));
}

/// Text of another program, as it is.
pub fn eprint(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

fn line(color: AnsiColor, word: &str, rest: &str) {
    let style = Style::new().bold().fg_color(Some(color.into()));
    eprint(&format!("{style}{word:>12}{style:#} {rest}\n"));
}
