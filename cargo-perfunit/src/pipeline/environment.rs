//! What the figures depend on, for the report.

use super::options::Options;
use super::setup::Setup;
use crate::measure::Bench;
use crate::model::Environment;

/// Describes toolchain and machine; core and address space are those of the bench.
pub fn describe(setup: &Setup, options: &Options, bench: Option<&Bench>) -> Environment {
    Environment {
        rustc: setup.cargo.rustc_release().to_owned(),
        host: setup.cargo.host.clone(),
        profile: options.build.profile.clone(),
        cpu: cpu(),
        core: bench.map_or(0, |bench| bench.core),
        paired_address_space: bench.is_none_or(|bench| bench.paired_address_space),
        layout_controlled: false,
    }
}

/// The model of the CPU, as the kernel names it.
pub fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        text.lines()
            .find(|line| line.starts_with(name))
            .and_then(|line| line.split_once(':'))
            .map(|(_, value)| value.trim().to_owned())
    };
    field("model name").or_else(|| field("CPU part")).unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}
