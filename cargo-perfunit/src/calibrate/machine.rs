//! What the figures depend on besides the code.

use perfunit_measure::{Bench, kernel};
use perfunit_model::Circumstances;
use perfunit_system::date;
use std::time::SystemTime;

/// What could be seen before measuring.
pub struct Machine {
    date: String,
    cpu: String,
    kernel: String,
    /// Load average over a minute, once the builds are done.
    pub load_before: Option<f64>,
}

impl Machine {
    pub fn look() -> Self {
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            date: date::utc(SystemTime::now()),
            cpu: kernel::cpu_name(&kernel::read("/proc/cpuinfo").unwrap_or_default()),
            kernel: format!("Linux {}", kernel.trim()),
            load_before: load(),
        }
    }

    /// With what is known at the end.
    pub fn circumstances(self, rustc: &str, bench: &Bench) -> Circumstances {
        Circumstances {
            date: self.date,
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            rustc: rustc.to_owned(),
            cpu: self.cpu,
            kernel: self.kernel,
            core: bench.core(),
            paired_address_space: bench.paired_address_space,
            load_before: self.load_before,
            load_after: load(),
        }
    }
}

/// Processes that wanted to run over the last minute, ours included.
pub fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok())
}
