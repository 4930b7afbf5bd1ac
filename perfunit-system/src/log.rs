//! What the tool does, step by step, for those who look for a fault: the stages as spans, and in them events for each
//! command that is started, each build that is reused and each test that is measured.

use perfunit_model::error::{Error, Result};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::fmt::time::uptime;

/// Names the level. Without it nothing is subscribed, and a span or an event costs a comparison.
const VARIABLE: &str = "PERFUNIT_LOG";

/// Prints spans and events to standard error from now on, if the environment asks for it.
pub fn start() -> Result<()> {
    let Some(level) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) else { return Ok(()) };
    let level = level.to_string_lossy();
    let filter: LevelFilter = level.parse().map_err(|_| {
        Error::usage(format!("invalid {VARIABLE} `{level}`")).hint("use error, warn, info, debug, trace or off")
    })?;
    let lines = tracing_subscriber::fmt().with_max_level(filter).with_target(false).with_timer(uptime());
    // Another subscriber would be that of a program that has us as a library: its own choice counts.
    let _ = lines.with_span_events(FmtSpan::CLOSE).with_writer(std::io::stderr).try_init();
    Ok(())
}
