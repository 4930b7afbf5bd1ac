//! Whether the processor's performance counters are there and may be used.

use crate::measure::no_counter;
use crate::system::os;
use std::io::ErrorKind;

/// Whether instructions of our own can be counted, or why not.
pub fn available() -> Result<(), String> {
    let Err(error) = os::count_instructions() else { return Ok(()) };
    let whose = if error.kind() == ErrorKind::PermissionDenied { "not for us" } else { "none" };
    Err(format!("{whose}: {}", no_counter(&error)))
}
