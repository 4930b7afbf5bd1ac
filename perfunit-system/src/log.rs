//! A log for troubleshooting: stages are spans, and each started command, reused build and measured test is an event.

use perfunit_model::error::{Error, Result};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::fmt::time::uptime;

/// Environment variable with the level. Without it logging has no subscriber, and a span or event costs only a comparison.
const VARIABLE: &str = "PERFUNIT_LOG";

/// Starts printing spans and events to standard error, if the environment requests it.
pub fn start() -> Result<()> {
    let Some(level) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) else { return Ok(()) };
    let level = level.to_string_lossy();
    let filter: LevelFilter = level.parse().map_err(|_| {
        Error::usage(format!("invalid {VARIABLE} `{level}`")).hint("use error, warn, info, debug, trace or off")
    })?;
    // Without colors, also where another crate of the build asks for them.
    let lines = tracing_subscriber::fmt().with_ansi(false).with_max_level(filter).with_target(false);
    let lines = lines.with_timer(uptime());
    // An existing subscriber belongs to a program that uses us as a library, and takes precedence.
    let _ = lines.with_span_events(FmtSpan::CLOSE).with_writer(std::io::stderr).try_init();
    Ok(())
}
