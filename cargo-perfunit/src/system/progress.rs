//! What is running and how long it will take: one line on stderr, gone when the work is done. Nothing without a terminal.

use crate::system::term::Terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// Work of unknown length: `    Building base: Compiling serde`.
    pub fn spinner(terminal: Terminal, word: &str) -> Self {
        let bar = new(terminal, None);
        set_style(&bar, "{prefix:>12.cyan.bold} {msg} [{elapsed}]");
        bar.set_prefix(word.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// `total` pieces of work: `   Measuring [====>   ] 12/37 parser::tests::line, 14 s left`.
    pub fn bar(terminal: Terminal, word: &str, total: usize) -> Self {
        let bar = new(terminal, Some(total as u64));
        set_style(&bar, "{prefix:>12.cyan.bold} [{bar:25}] {pos}/{len} {wide_msg}");
        bar.set_prefix(word.to_owned());
        Self(bar)
    }

    /// What is being done now.
    pub fn message(&self, message: impl Into<String>) {
        self.0.set_message(message.into());
    }

    /// One piece is done.
    pub fn advance(&self) {
        self.0.inc(1);
    }

    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

fn new(terminal: Terminal, total: Option<u64>) -> ProgressBar {
    // indicatif itself draws nothing where stderr is no terminal.
    let target = if terminal.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(8) };
    ProgressBar::with_draw_target(total, target)
}

fn set_style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
}
