//! The operating system: files, processes, terminal, Ctrl-C, cache, archives, and dates.

pub mod archive;
pub mod browser;
pub mod bug;
pub mod cache;
pub mod date;
pub mod fs;
pub mod idle;
pub mod interrupt;
pub mod json;
pub mod log;
pub mod os;
pub mod process;
pub mod progress;
pub mod temporary;
pub mod term;
