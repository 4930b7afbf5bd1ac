//! `cargo perfunit calibrate`.

use crate::calibrate::{self, Options};
use crate::error::{ExitCode, Result};
use crate::report::calibration::{self, Document};
use crate::report::text::TextOptions;
use crate::system::term::{self, Terminal};

/// Where the figures come from.
#[derive(Debug, Clone, Copy)]
pub enum CalibrateRequest {
    /// Measure them, and keep them as the machine's profile.
    Make(Options),
    /// Those that were kept.
    Show,
}

/// Calibrates, or shows the last calibration.
pub fn calibrate(request: CalibrateRequest, json: bool, terminal: Terminal) -> Result<ExitCode> {
    let CalibrateRequest::Make(options) = request else {
        print(&calibrate::kept()?, json);
        return Ok(ExitCode::Success);
    };
    let document = Document::from(&calibrate::calibrate(&options, terminal)?);
    print(&document, json);
    if document.interrupted {
        return Ok(ExitCode::Interrupted);
    }
    match calibrate::keep(&calibration::json(&document)) {
        Ok(path) => terminal.status("Kept", &format!("as this machine's profile, {}", path.display())),
        // The figures are on the screen; that they cannot be kept makes them no worse.
        Err(error) => terminal.warning(&format!("the profile is not kept: {}", error.message())),
    }
    Ok(ExitCode::Success)
}

fn print(document: &Document, json: bool) {
    let options = TextOptions { width: term::width(), verbose: false, unicode: term::unicode() };
    term::print(&if json { calibration::json(document) } else { calibration::render(document, &options) });
}
