//! The browser of the desktop.

use super::process;
use perfunit_model::error::{Error, Result};
use std::path::Path;
use std::process::{Command, Stdio};

/// What opens a file with the program that the user prefers: on Linux, in WSL, on macOS.
const OPENERS: [&str; 3] = ["xdg-open", "wslview", "open"];

/// Opens a page.
pub fn open(page: &Path) -> Result<()> {
    let page = std::path::absolute(page).unwrap_or_else(|_| page.to_owned());
    for opener in OPENERS {
        let mut command = Command::new(opener);
        // The browser may inherit these, and live longer than we.
        command.arg(&page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match process::output(&mut command) {
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => {
                let why = output.status;
                return Err(Error::setup(format!("`{opener}` opened no browser: {why}")).hint(by_hand(&page)));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(Error::setup(format!("cannot run `{opener}`: {error}")).hint(by_hand(&page)));
            }
        }
    }
    Err(Error::setup(format!("no browser to open: none of {} is in PATH", OPENERS.join(", "))).hint(by_hand(&page)))
}

fn by_hand(page: &Path) -> String {
    format!("the report is written: {}", page.display())
}
