//! Parses the tool's log (`PERFUNIT_LOG=debug`): the time of each span, and the processes started in it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Spans by their names from the outermost to the innermost, separated by `:`, without the span of the whole
/// comparison.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Spans {
    pub stages: BTreeMap<String, Stage>,
}

/// Part of a span outside of its inner spans.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Stage {
    pub seconds: f64,
    /// Number of processes started.
    pub processes: usize,
}

impl Spans {
    pub fn read(log: &str) -> Self {
        let mut this = Self::default();
        for line in log.lines() {
            let Some((spans, said)) = split(line) else { continue };
            if said.starts_with("started ") || said.starts_with("run ") {
                this.stage(&spans).processes += 1;
            }
            let Some(seconds) = said.strip_prefix("close time.busy=").and_then(seconds) else { continue };
            this.stage(&spans).seconds += seconds;
            if let Some((_, outer)) = spans.split_last().filter(|(_, outer)| !outer.is_empty()) {
                this.stage(outer).seconds -= seconds;
            }
        }
        this
    }

    fn stage(&mut self, spans: &[&str]) -> &mut Stage {
        self.stages.entry(spans.get(1..).unwrap_or_default().join(":")).or_default()
    }
}

/// Splits a line into the names of its spans and the message.
fn split(line: &str) -> Option<(Vec<&str>, &str)> {
    let mut words = line.split_whitespace();
    words.next()?.strip_suffix('s')?.parse::<f64>().ok()?;
    let level = words.next()?;
    let rest = line.split_once(level)?.1.trim_start();
    let (spans, said) = rest.split_once(": ")?;
    Some((spans.split(':').map(|span| span.split('{').next().unwrap_or(span)).collect(), said))
}

/// Parses a `Duration` as printed.
fn seconds(text: &str) -> Option<f64> {
    let text = text.split_whitespace().next()?;
    let units = [("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    units.iter().find_map(|(unit, scale)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * scale))
}
