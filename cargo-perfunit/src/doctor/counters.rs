//! Whether the processor's performance counters are there and may be used.

use perfunit_measure::no_counter;
use perfunit_model::NoCounter;
use perfunit_system::os;

/// Whether instructions of our own can be counted, or why not.
pub fn available() -> Result<(), NoCounter> {
    os::count_instructions().map_err(|error| no_counter(&error))
}
