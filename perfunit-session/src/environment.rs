//! Describes the environment of a run for the report.

use super::options::Options;
use perfunit_measure::{Bench, kernel};
use perfunit_model::Environment;
use perfunit_project::cargo::Context;
use std::collections::BTreeMap;

/// Describes toolchain and machine. Core and address space come from the bench.
pub fn describe(context: &Context, options: &Options, bench: Option<&Bench>) -> Environment {
    Environment {
        rustc: context.rustc(),
        host: context.cargo.host.clone(),
        profile: options.build.profile.clone(),
        lto_off: None,
        cpu: kernel::cpu_name(&kernel::read("/proc/cpuinfo").unwrap_or_default()),
        core: bench.map_or(0, Bench::core),
        paired_address_space: bench.is_none_or(|bench| bench.paired_address_space),
        layouts: BTreeMap::new(),
    }
}
