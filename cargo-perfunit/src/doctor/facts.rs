//! Facts that the system reports. Reading only; `judge` interprets them.

use perfunit_build::{Linkers, build_sample};
use perfunit_measure as measure;
use perfunit_measure::{kernel, no_counter};
use perfunit_model::error::{Error, Result, apart};
use perfunit_model::{MeasuringLinker, NoCounter, NoLayout, Untraceable};
use perfunit_project::cargo::Cargo;
use perfunit_select::trace;
use perfunit_system::{os, temporary};
use std::path::Path;
use std::process::{Command, Stdio};

/// Prefix of our temporary folders.
pub const SCRATCH: &str = "perfunit-doctor-";

/// Facts about the system.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// Operating system and processor architecture, named like Rust names them.
    pub platform: (String, String),
    /// The processor's name.
    pub cpu: String,
    /// First line of `rustc -vV`, or the error.
    pub toolchain: std::result::Result<String, Error>,
    /// Result of linking; `None` without a toolchain.
    pub linking: Option<Linking>,
    /// Cores that this process may use.
    pub allowed: Vec<usize>,
    /// Number of cores in the machine.
    pub online: usize,
    /// True if processes can be pinned to a core.
    pub pinning: bool,
    /// True if address space randomization can be disabled.
    pub fixed_addresses: bool,
    /// Reason why processes cannot be traced, if so.
    pub tracing: std::result::Result<(), Untraceable>,
    /// The hypervisor, in a virtual machine.
    pub virtual_machine: Option<String>,
    /// Fraction of the time since boot that the host gave to other machines.
    pub steal: f64,
    /// CPU limit of the control group, in cores.
    pub limit: Option<f64>,
    /// Governor of the frequency.
    pub governor: Option<String>,
    /// True if the processor may exceed its nominal frequency.
    pub turbo: Option<bool>,
    /// True if two cores share execution units.
    pub smt: Option<bool>,
    /// Reason why instructions cannot be counted, if so.
    pub counters: std::result::Result<(), NoCounter>,
    pub valgrind: Option<String>,
}

/// Result of linking a small program with a custom order of functions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Linking {
    Ordered(MeasuringLinker),
    /// Links only in the linker's own order.
    Plain(NoLayout),
    Failed(String),
}

pub fn read(folder: &Path) -> Facts {
    let cpuinfo = kernel::read("/proc/cpuinfo").unwrap_or_default();
    let (allowed, pinning) = measure::usable_cores();
    let core = allowed.last().copied().unwrap_or(0);
    let online = kernel::read("/sys/devices/system/cpu/online").map_or(0, |list| kernel::parse_list(&list).len());
    let toolchain = Cargo::find(folder);
    Facts {
        platform: (std::env::consts::OS.to_owned(), std::env::consts::ARCH.to_owned()),
        cpu: kernel::cpu_name(&cpuinfo),
        linking: toolchain.as_ref().ok().map(|cargo| linking(cargo, folder)),
        toolchain: toolchain.map(|cargo| cargo.rustc_release().to_owned()),
        online: online.max(allowed.len()),
        allowed,
        pinning,
        fixed_addresses: measure::can_fix_addresses(),
        tracing: trace::available(),
        virtual_machine: virtual_machine(&cpuinfo, &dmi("sys_vendor"), &dmi("product_name")),
        steal: steal(&kernel::ticks().values().copied().collect::<Vec<_>>()),
        limit: kernel::processor_limit(),
        governor: cpu_file(&format!("cpu{core}/cpufreq/scaling_governor")),
        turbo: turbo(cpu_file("intel_pstate/no_turbo").as_deref(), cpu_file("cpufreq/boost").as_deref()),
        smt: cpu_file("smt/active").map(|active| active == "1"),
        counters: counters(),
        valgrind: valgrind(),
    }
}

/// Reads a file below the kernel's folder of cores, trimmed.
fn cpu_file(path: &str) -> Option<String> {
    kernel::read(Path::new("/sys/devices/system/cpu").join(path)).map(|text| text.trim().to_owned())
}

/// Reads a name from the firmware.
fn dmi(name: &str) -> String {
    kernel::read(Path::new("/sys/class/dmi/id").join(name)).unwrap_or_default().trim().to_owned()
}

/// Detects a virtual machine: by the processor on x86-64, elsewhere by the firmware's names.
fn virtual_machine(cpuinfo: &str, vendor: &str, product: &str) -> Option<String> {
    let flagged = cpuinfo
        .lines()
        .filter(|line| line.starts_with("flags"))
        .any(|line| line.split_whitespace().any(|flag| flag == "hypervisor"));
    let named = format!("{vendor} {product}").trim().to_owned();
    let virtual_names =
        ["QEMU", "KVM", "VMware", "VirtualBox", "Virtual Machine", "Xen", "Amazon EC2", "Google Compute"];
    let known = virtual_names.iter().any(|name| named.contains(name));
    (flagged || known).then(|| if named.is_empty() { "unknown hypervisor".to_owned() } else { named })
}

fn steal(cores: &[kernel::Ticks]) -> f64 {
    let (steal, all) = cores.iter().fold((0, 0), |(steal, all), core| (steal + core.steal, all + core.all()));
    steal as f64 / all.max(1) as f64
}

/// Returns true if turbo is on. Intel's driver has a switch for "off", all others have one for "on".
fn turbo(no_turbo: Option<&str>, boost: Option<&str>) -> Option<bool> {
    no_turbo.map(|off| off == "0").or_else(|| boost.map(|on| on == "1"))
}

fn valgrind() -> Option<String> {
    let output = Command::new("valgrind").arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !version.is_empty()).then_some(version)
}

/// Links a small program like the measured executables of a project in this folder.
fn linking(cargo: &Cargo, folder: &Path) -> Linking {
    let try_it = || -> Result<Linking> {
        let scratch = temporary::scratch(SCRATCH)?;
        let sample = build_sample(cargo, folder, scratch.path())?;
        let layouts = scratch.path().join("layouts");
        Ok(match apart(measure::layout::try_layout(&sample, &Linkers::of(cargo), &layouts))? {
            Ok(linker) => Linking::Ordered(linker),
            Err(why) => Linking::Plain(why),
        })
    };
    try_it().unwrap_or_else(|error| Linking::Failed(error.message().to_owned()))
}

/// Tries to count our own instructions.
fn counters() -> std::result::Result<(), NoCounter> {
    os::count_instructions().map_err(|error| no_counter(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_machines_are_told_by_the_processor_or_the_firmware() {
        let machine = |cpuinfo: &str, vendor: &str| virtual_machine(cpuinfo, vendor, "");
        assert_eq!(machine("flags\t: fpu hypervisor sse\n", "QEMU"), Some("QEMU".to_owned()));
        assert_eq!(machine("flags\t: fpu hypervisor\n", ""), Some("unknown hypervisor".to_owned()));
        assert_eq!(machine("Features\t: fp\n", "Amazon EC2"), Some("Amazon EC2".to_owned()));
        assert_eq!(machine("flags\t: fpu sse\n", "LENOVO"), None);
    }

    #[test]
    fn turbo_has_two_switches() {
        assert_eq!(turbo(Some("1"), None), Some(false));
        assert_eq!(turbo(Some("0"), Some("0")), Some(true));
        assert_eq!(turbo(None, Some("1")), Some(true));
        assert_eq!(turbo(None, None), None);
    }

    #[test]
    fn steal_is_a_share_of_all_cores() {
        let core = |steal| kernel::Ticks { busy: 50, idle: 50 - steal, steal };
        assert!((steal(&[core(10), core(0)]) - 0.05).abs() < 1e-12);
        assert!(steal(&[]).abs() < 1e-12);
    }
}
