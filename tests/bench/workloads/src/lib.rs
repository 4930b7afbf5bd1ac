//! Four functions with loops that take all the time, from half a microsecond to 25.

pub mod add;
pub mod allocate;
pub mod format;
pub mod mix;
