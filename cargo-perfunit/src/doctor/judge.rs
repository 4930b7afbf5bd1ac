//! What the figures mean: how good each is, why it matters, what to do. Pure.

use super::facts::{Facts, Linking};
use perfunit_model::checkup::{AgainstItself, CoreNoise, Finding, Level, Noise};
use perfunit_model::error::Error;
use perfunit_model::{NoCounter, Untraceable, Verdict};

/// From this share of stolen time on the host is worth a word.
const STEAL: f64 = 0.01;
/// From this share of lost time on measuring takes noticeably longer; verdicts hold even on a core that is shared by half.
const LOST: f64 = 0.1;
/// Spread of equal pieces of work that costs nothing but time, and that makes verdicts late or doubtful.
const SPREAD: [f64; 2] = [0.02, 0.1];
/// The same for the smallest change that the first pairs show; the second is the default threshold.
const DETECTABLE: [f64; 2] = [0.03, 0.1];

/// What the system says about itself.
pub fn facts(facts: &Facts) -> Vec<Finding> {
    let mut findings = vec![platform(&facts.platform), toolchain(&facts.toolchain)];
    findings.extend(facts.linking.as_ref().map(linker));
    findings.extend([
        tracing(facts.tracing),
        address_space(facts.fixed_addresses),
        pinning(facts.pinning),
        cores(facts.allowed.len(), facts.online),
        cpu_limit(facts.limit),
        virtual_machine(facts.virtual_machine.as_deref()),
        steal(facts.steal),
        governor(facts.governor.as_deref()),
        turbo(facts.turbo),
        smt(facts.smt),
        counters(&facts.counters),
        valgrind(facts.valgrind.as_deref()),
    ]);
    findings
}

pub fn noise(noise: &Noise) -> Vec<Finding> {
    let mut findings: Vec<Finding> = noise.cores.iter().map(quiet).collect();
    findings.extend(noise.work_spread.map(fixed_work));
    findings.extend(noise.against_itself.as_ref().map(against_itself));
    findings
}

fn finding(what: &'static str, value: impl Into<String>, level: Level, why: &'static str) -> Finding {
    Finding { what, value: value.into(), level, why, advice: None }
}

fn either(good: bool, otherwise: Level) -> Level {
    if good { Level::Ok } else { otherwise }
}

fn graded(value: f64, limits: [f64; 2]) -> Level {
    match value {
        value if value <= limits[0] => Level::Ok,
        value if value <= limits[1] => Level::Warn,
        _ => Level::Bad,
    }
}

fn percent(fraction: f64) -> String {
    let decimals = usize::from(fraction < 0.095);
    format!("{:.decimals$} %", fraction * 100.0)
}

fn platform((os, arch): &(String, String)) -> Finding {
    let known = os == "linux" && ["x86_64", "aarch64"].contains(&arch.as_str());
    let why = "lockstep pairs need Linux futexes, memfd and personality, on x86-64 or aarch64";
    finding("platform", format!("{os} on {arch}"), either(known, Level::Bad), why)
        .unless_ok("run the tool in a Linux container or CI job")
}

fn toolchain(toolchain: &Result<String, Error>) -> Finding {
    let why = "both versions are built with the toolchain of this folder";
    match toolchain {
        Ok(release) => finding("toolchain", release, Level::Ok, why),
        Err(error) => finding("toolchain", error.message(), Level::Bad, why)
            .unless_ok("install or update Rust, and see that cargo and rustc are on PATH"),
    }
}

fn linker(linking: &Linking) -> Finding {
    let (value, level) = match linking {
        Linking::Ordered(linker) => (format!("code layout can be matched by {linker}"), Level::Ok),
        Linking::Plain(why) => (format!("code layout cannot be matched: {why}"), Level::Warn),
        Linking::Failed(message) => (format!("does not link: {message}"), Level::Bad),
    };
    let why =
        "where code lies can make it look up to 40 % slower or faster; what is flagged is confirmed over random places";
    let advice = match level {
        Level::Bad => "install a C compiler, which rustc needs to link",
        _ => "install lld (`apt-get install lld`): it is used for the measured executables, whatever links the project",
    };
    finding("linker", value, level, why).unless_ok(advice)
}

fn tracing(tracing: Result<(), Untraceable>) -> Finding {
    let why =
        "a run under breakpoints leaves out tests that do not execute the change; without it they are measured too";
    let value = tracing.as_ref().map_or_else(ToString::to_string, |()| "processes can be traced (ptrace)".to_owned());
    finding("tracing", value, either(tracing.is_ok(), Level::Warn), why)
        .unless_ok("allow ptrace: `docker run --cap-add SYS_PTRACE`, `sysctl kernel.yama.ptrace_scope=1`")
}

fn address_space(fixed: bool) -> Finding {
    let value = if fixed {
        "randomisation can be switched off"
    } else {
        "randomisation cannot be switched off: test executables are linked to fixed addresses instead"
    };
    let why = "with all addresses equal on both sides pairs of short tests differ less, and need be fewer";
    finding("address-space", value, either(fixed, Level::Warn), why).unless_ok(
        "allow personality(ADDR_NO_RANDOMIZE), which Docker's default profile refuses: `docker run --security-opt seccomp=unconfined`",
    )
}

fn pinning(pinning: bool) -> Finding {
    let value = if pinning { "processes can be kept on one core" } else { "processes cannot be kept on one core" };
    let why = "two cores of a machine can differ by a half for seconds; on one core that hits both versions alike";
    finding("pinning", value, either(pinning, Level::Warn), why).unless_ok("allow sched_setaffinity")
}

fn cores(allowed: usize, online: usize) -> Finding {
    let why = "one core measures, the tool and everything else need another";
    finding("cores", format!("{allowed} of {online} may be used"), either(allowed > 1, Level::Warn), why)
        .unless_ok("give the container or machine at least two cores")
}

fn cpu_limit(limit: Option<f64>) -> Finding {
    let why = "who has used up the limit waits for the next period, in the middle of a measurement";
    let value =
        limit.map_or_else(|| "none".to_owned(), |cores| format!("the time of {cores:.1} cores (control group)"));
    finding("cpu-limit", value, either(limit.is_none(), Level::Warn), why)
        .unless_ok("assign cores instead of a share of time: `docker run --cpuset-cpus 0,1` and not `--cpus 2`")
}

fn virtual_machine(machine: Option<&str>) -> Finding {
    let why = "other machines on the host share caches and cores; a pair on one core cancels most of it";
    finding("virtual-machine", machine.unwrap_or("none seen"), Level::Ok, why)
}

fn steal(steal: f64) -> Finding {
    let why = "time that the host gave to other machines since this one was started";
    finding("steal", percent(steal), either(steal < STEAL, Level::Warn), why)
        .unless_ok("use a machine whose cores are not shared, for small differences")
}

fn governor(governor: Option<&str>) -> Finding {
    let why = "a clock that follows the load changes absolute times; within a pair it hits both versions";
    let fixed = governor.is_none_or(|governor| governor == "performance");
    finding("frequency", governor.unwrap_or("not visible here"), either(fixed, Level::Warn), why)
        .unless_ok("`cpupower frequency-set -g performance`")
}

fn turbo(turbo: Option<bool>) -> Finding {
    let value = match turbo {
        Some(true) => "on",
        Some(false) => "off",
        None => "not visible here",
    };
    let why = "the highest clock depends on heat and on what other cores do; within a pair it hits both versions";
    finding("turbo", value, either(turbo != Some(true), Level::Warn), why).unless_ok(
        "for small differences switch it off: 1 into /sys/devices/system/cpu/intel_pstate/no_turbo, or 0 into ../cpufreq/boost",
    )
}

fn smt(smt: Option<bool>) -> Finding {
    let value = match smt {
        Some(true) => "on: two cores share execution units",
        Some(false) => "off",
        None => "not visible here",
    };
    let why = "what runs on the other half of a core slows it down for as long as it runs";
    finding("smt", value, either(smt != Some(true), Level::Warn), why)
        .unless_ok("keep the machine idle meanwhile, or write off into /sys/devices/system/cpu/smt/control")
}

fn counters(counters: &Result<(), NoCounter>) -> Finding {
    let value = match counters {
        Ok(()) => "instructions can be counted".to_owned(),
        Err(refused @ NoCounter::Refused) => format!("not for us: {refused}"),
        Err(why) => format!("none: {why}"),
    };
    finding("performance-counters", value, Level::Ok, "as by valgrind, and sooner; not needed where that is")
}

fn valgrind(version: Option<&str>) -> Finding {
    let why = "by instructions small changes are settled and functions named sooner; without, time alone decides";
    finding("valgrind", version.unwrap_or("not installed"), Level::Ok, why)
}

fn quiet(core: &CoreNoise) -> Finding {
    let CoreNoise { core, gaps_per_second, lost, longest_ns } = *core;
    let value = format!(
        "core {core}: {} of the time lost, in {gaps_per_second:.0} gaps a second of up to {:.1} ms",
        percent(lost),
        longest_ns / 1e6
    );
    let why = "interrupts and other programs: measuring takes longer, above all that of tests of some milliseconds";
    finding("quiet", value, either(lost <= LOST, Level::Warn), why)
        .unless_ok("end what else is running, or measure when the machine has nothing else to do")
}

fn fixed_work(spread: f64) -> Finding {
    let value = format!("the median of equal pieces lies {} above the best tenth", percent(spread));
    let why = "a clock that changes, or neighbours that share caches and execution units";
    finding("fixed-work", value, graded(spread, SPREAD), why)
        .unless_ok("see the frequency, turbo and smt above; on a virtual machine it is the host's other machines")
}

fn against_itself(result: &Result<AgainstItself, Error>) -> Finding {
    let why = "a small test of our own, measured with both sides the same: what a diff can see here";
    let advice = "the findings above say what stands in the way; --per-test-budget buys more pairs";
    let result = match result {
        Ok(result) => result,
        Err(error) => return finding("against-itself", error.message(), Level::Bad, why).unless_ok(advice),
    };
    let (word, wrong) = match result.verdict {
        Verdict::Same => ("same", Level::Ok),
        // One test in a hundred is allowed to.
        Verdict::ChangedBelowThreshold => ("changed below the threshold, by chance", Level::Ok),
        Verdict::Slower | Verdict::Faster => ("changed, which is wrong", Level::Bad),
        Verdict::Inconclusive | Verdict::NotMeasured => ("inconclusive", Level::Bad),
    };
    let value = format!(
        "{word} after {} pairs in {:.1} s on core {}; smallest detectable change {}",
        result.pairs,
        result.seconds,
        result.core,
        percent(result.detectable)
    );
    finding("against-itself", value, wrong.max(graded(result.detectable, DETECTABLE)), why).unless_ok(advice)
}

#[cfg(test)]
mod tests;
