//! Stubs of `linux` for unsupported systems. Functions that a correct verdict needs return errors, and their types have
//! no values; functions that only observe or clean up find nothing.

use super::{Counted, Traceable};
use perfunit_model::SystemCall;
use perfunit_model::error::Result;
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

pub const OUT_OF_TIME: i32 = 0;
pub const OUT_OF_CAGE: i32 = 0;

pub fn count_system_calls(
    processes: Vec<Traceable<'_>>,
    _mark: i32,
    _is_over: impl FnMut() -> bool,
) -> Result<Vec<io::Result<Counted>>> {
    Ok(processes.iter().map(|_| refuse()).collect())
}

pub fn system_call_name(number: u64) -> String {
    format!("system call {number}")
}

pub fn system_call(number: u32) -> SystemCall {
    SystemCall::Other { number }
}

fn refuse<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A type without values.
#[derive(Debug)]
enum Never {}

pub fn anonymous_file(_name: &CStr) -> io::Result<File> {
    refuse()
}

#[derive(Debug)]
pub struct SharedMemory(Never);

impl SharedMemory {
    pub fn new(_name: &CStr, _length: usize) -> io::Result<Self> {
        refuse()
    }

    pub fn clear(&self) -> io::Result<()> {
        match self.0 {}
    }

    pub fn file(&self) -> &File {
        match self.0 {}
    }

    pub fn address(&self) -> NonNull<u8> {
        match self.0 {}
    }
}

pub fn page_size() -> usize {
    0
}

#[derive(Debug)]
pub struct Inherited(Never);

impl Inherited {
    pub fn copy(_file: &File) -> io::Result<Self> {
        refuse()
    }

    pub fn number(&self) -> i32 {
        match self.0 {}
    }
}

pub fn path_of(_file: &File) -> PathBuf {
    PathBuf::new()
}

#[derive(Debug)]
pub struct Folder(Never);

impl Folder {
    pub const PLACE: &str = "";

    pub fn open(_path: &Path) -> io::Result<Self> {
        refuse()
    }

    pub fn hand_over(&self) -> io::Result<Inherited> {
        match self.0 {}
    }
}

#[derive(Debug)]
pub struct FixedAddresses(Never);

impl FixedAddresses {
    pub fn switch_on() -> io::Result<Self> {
        refuse()
    }
}

#[derive(Debug)]
pub struct NoCoreFiles(Never);

impl NoCoreFiles {
    pub fn switch_on() -> io::Result<Self> {
        refuse()
    }
}

pub fn own_cores() -> Option<BTreeSet<usize>> {
    None
}

pub fn keep_on(_cores: impl IntoIterator<Item = usize>) -> io::Result<()> {
    refuse()
}

pub fn keep_child_on(_core: usize, _child: &Child) -> io::Result<()> {
    refuse()
}

pub fn childrens_time() -> Duration {
    Duration::ZERO
}

pub fn time_with_children(_id: u32) -> Duration {
    Duration::ZERO
}

#[derive(Debug)]
pub struct EndOf(Never);

impl EndOf {
    pub fn child(_child: &Child) -> Option<Self> {
        None
    }

    pub fn wait_for_one<'a>(_ends: impl Iterator<Item = &'a Self>, left: Duration) {
        std::thread::sleep(left.min(Duration::from_millis(1)));
    }
}

pub fn wait_for_change(_word: &AtomicU32, _value: u32, left: Duration) {
    std::thread::sleep(left);
}

pub fn announce_change(_word: &AtomicU32) {}

pub fn is_over(_child: &Child) -> bool {
    false
}

pub fn reap(_child: &Child) -> io::Result<(ExitStatus, Duration)> {
    refuse()
}

pub fn kill_process(_id: u32) -> bool {
    false
}

pub fn pause(_id: u32, _paused: bool) {}

pub fn run_when_idle() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn runs_when_idle(_id: u32) -> bool {
    false
}

pub fn processor_clock(_id: u32) -> i32 {
    0
}

pub fn kill_adopted(_id: u32) {}

pub fn end_group(_leader: u32) {}

pub fn own_group() -> u32 {
    0
}

pub fn kill_own_group() {}

pub fn ignore_signals() {}

pub fn end_by(_number: i32) {}

pub fn signal_name(_number: i32) -> Option<&'static str> {
    None
}

pub fn adopt_orphans() {}

pub fn children() -> BTreeSet<u32> {
    BTreeSet::new()
}

pub fn processes_with(_variable: &str) -> Vec<u32> {
    Vec::new()
}

pub fn die_with_parent() -> io::Result<()> {
    refuse()
}

pub fn bind_to_us(_command: &mut Command) {}

pub fn open_file_limit() -> Option<u64> {
    None
}

pub fn user() -> u32 {
    0
}

pub fn is_writable(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|data| !data.permissions().readonly())
}

pub fn free_space(_folder: &Path) -> Option<u64> {
    None
}

pub fn count_instructions() -> io::Result<()> {
    refuse()
}
