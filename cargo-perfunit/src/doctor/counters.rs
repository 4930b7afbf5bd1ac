//! Whether the processor's performance counters are there and may be used.

use crate::measure::no_counter;
use crate::model::NoCounter;
use crate::system::os;

/// Whether instructions of our own can be counted, or why not.
pub fn available() -> Result<(), NoCounter> {
    os::count_instructions().map_err(|error| no_counter(&error))
}
