//! Progress display: on a terminal, one line on stderr that disappears when the work is done; elsewhere (a pipe, the
//! log of a CI job), a plain line every few seconds, like cargo and nextest.

use crate::term::{self, Terminal};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Interval between two plain lines.
const EVERY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Progress {
    terminal: Terminal,
    bar: ProgressBar,
    state: Arc<Mutex<State>>,
    /// Plain lines, if stderr is not a terminal.
    log: Option<Log>,
}

/// Progress of the work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct State {
    word: String,
    /// Subject of the whole work, such as the side that is built.
    subject: String,
    message: String,
    done: usize,
    total: Option<usize>,
}

impl State {
    /// Formats the progress: `12/37 parser::tests::line, about 14 s left` or `base (main): Compiling serde`.
    fn text(&self) -> String {
        let count = self.total.map(|total| format!("{}/{total}", self.done)).unwrap_or_default();
        let joint = if self.subject.is_empty() || self.message.is_empty() { "" } else { ": " };
        format!("{count} {}{joint}{}", self.subject, self.message).trim().to_owned()
    }
}

impl Progress {
    /// Shows work of unknown length: `    Building base: Compiling serde`.
    pub fn spinner(terminal: Terminal, word: &str) -> Self {
        let progress = Self::new(terminal, word, None);
        progress.bar.enable_steady_tick(Duration::from_millis(200));
        progress
    }

    /// Shows work of `total` items: `   Measuring [====>   ] 12/37 parser::tests::line, 14 s left`.
    pub fn bar(terminal: Terminal, word: &str, total: usize) -> Self {
        Self::new(terminal, word, Some(total))
    }

    fn new(terminal: Terminal, word: &str, total: Option<usize>) -> Self {
        // indicatif draws nothing if stderr is not a terminal.
        let target = if terminal.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(8) };
        let bar = ProgressBar::with_draw_target(total.map(|total| total as u64), target);
        let template = match total {
            None => "{prefix:>12.cyan.bold} {msg} [{elapsed}]",
            Some(_) => "{prefix:>12.cyan.bold} [{bar:25}] {pos}/{len} {wide_msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(word.to_owned());
        let (subject, message) = (String::new(), String::new());
        let state = Arc::new(Mutex::new(State { word: word.to_owned(), subject, message, done: 0, total }));
        let log = (!terminal.quiet && !term::stderr_is_terminal()).then(|| Log::start(terminal, Arc::clone(&state)));
        Self { terminal, bar, state, log }
    }

    /// Sets the subject of the work once it starts. A log prints it at once.
    pub fn begin(&self, subject: impl Into<String>) {
        let state = self.change(|state| state.subject = subject.into());
        if self.log.is_some() {
            self.terminal.status(&state.word, &state.subject);
        }
    }

    /// Prints a message to waiting users.
    pub fn note(&self, word: &str, text: &str) {
        self.suspend(|| self.terminal.status(word, text));
    }

    /// Switches to other work of `total` items.
    pub fn proceed(&self, word: &str, total: usize) {
        self.bar.set_prefix(word.to_owned());
        self.bar.set_length(total as u64);
        self.bar.set_position(0);
        self.change(|state| {
            *state = State { word: word.to_owned(), total: Some(total), ..State::default() };
        });
    }

    /// Sets the current activity.
    pub fn message(&self, message: impl Into<String>) {
        self.change(|state| state.message = message.into());
    }

    /// Counts one item as done.
    pub fn advance(&self) {
        self.change(|state| state.done += 1);
        self.bar.inc(1);
    }

    /// Removes one item, which will be part of later work.
    pub fn put_off(&self) {
        let state = self.change(|state| state.total = state.total.map(|total| total.saturating_sub(1)));
        state.total.into_iter().for_each(|total| self.bar.set_length(total as u64));
    }

    /// Makes room for lines that stay.
    pub fn suspend(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn change(&self, change: impl FnOnce(&mut State)) -> State {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        let shown = State { total: None, ..state.clone() };
        self.bar.set_message(shown.text());
        state.clone()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
        if let Some(log) = self.log.take() {
            log.stop();
        }
    }
}

/// A thread that prints a line every few seconds until it is stopped.
#[derive(Debug)]
struct Log {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Log {
    fn start(terminal: Terminal, state: Arc<Mutex<State>>) -> Self {
        let (stop, stopped) = mpsc::channel();
        let started = Instant::now();
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                let state = state.lock().unwrap_or_else(PoisonError::into_inner).clone();
                terminal.status(&state.word, &format!("{} [{} s]", state.text(), started.elapsed().as_secs()));
            }
        });
        Self { stop, thread }
    }

    fn stop(self) {
        drop(self.stop);
        let _ = self.thread.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_what_and_where() {
        let check = |subject: &str, message: &str, total, expected: &str| {
            let (word, subject, message) = (String::new(), subject.to_owned(), message.to_owned());
            assert_eq!(State { word, subject, message, done: 3, total }.text(), expected);
        };
        check("base (main)", "Compiling serde", None, "base (main): Compiling serde");
        check("base (main)", "", None, "base (main)");
        check("", "a::b", Some(7), "3/7 a::b");
    }
}
