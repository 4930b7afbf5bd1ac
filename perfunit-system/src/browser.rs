//! Opens pages in the desktop's browser.

use super::process;
use perfunit_model::error::{Error, Result};
use std::path::Path;
use std::process::{Command, Stdio};

/// Programs that open a file in the preferred application: on Linux, in WSL, on macOS.
const OPENERS: [&str; 3] = ["xdg-open", "wslview", "open"];

/// Opens a page in the browser.
pub fn open(page: &Path) -> Result<()> {
    let page = std::path::absolute(page).unwrap_or_else(|_| page.to_owned());
    for opener in OPENERS {
        let mut command = Command::new(opener);
        // The browser may inherit the streams and outlive this process.
        command.arg(&page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match process::output(&mut command) {
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => {
                let why = output.status;
                return Err(Error::setup(format!("`{opener}` failed to open a browser: {why}")).hint(by_hand(&page)));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(Error::setup(format!("cannot run `{opener}`: {error}")).hint(by_hand(&page)));
            }
        }
    }
    Err(Error::setup(format!("cannot open a browser: none of {} is in PATH", OPENERS.join(", "))).hint(by_hand(&page)))
}

fn by_hand(page: &Path) -> String {
    format!("open the report yourself: {}", page.display())
}
