//! `cargo perfunit show-config`.

use crate::config::{self, Resolved};
use crate::error::ExitCode;
use crate::report::settings;
use crate::system::term;

/// What to print of the configuration.
#[derive(Debug)]
pub enum ConfigView {
    /// The settings in force, for people.
    Text(Box<Resolved>),
    /// The same as JSON.
    Json(Box<Resolved>),
    /// The JSON schema of the file.
    Schema,
}

pub fn show_config(view: &ConfigView) -> ExitCode {
    term::print(&match view {
        ConfigView::Text(resolved) => settings::text(resolved),
        ConfigView::Json(resolved) => settings::json(resolved),
        ConfigView::Schema => config::schema(),
    });
    ExitCode::Success
}
