//! The operating system: files, processes, terminal, Ctrl-C, the cache, archives; and words and dates as people write them.

pub mod archive;
pub mod browser;
pub mod cache;
pub mod date;
pub mod fs;
pub mod interrupt;
pub mod json;
pub mod log;
pub mod os;
pub mod process;
pub mod progress;
pub mod temporary;
pub mod term;
