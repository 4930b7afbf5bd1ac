//! Interprets the facts: the level of each, why it matters, and what to do. Pure.

use super::facts::{Facts, Linking};
use perfunit_model::checkup::{AgainstItself, CoreNoise, Finding, Level, Noise};
use perfunit_model::error::Error;
use perfunit_model::{NoCounter, Untraceable, Verdict};

/// Fraction of stolen time that deserves a warning.
const STEAL: f64 = 0.01;
/// Fraction of lost time that makes measuring noticeably longer. Verdicts hold even on a core that loses half of its
/// time.
const LOST: f64 = 0.1;
/// Spread of equal pieces of work that makes verdicts slower, and that makes them late or doubtful.
const SPREAD: [f64; 2] = [0.02, 0.1];
/// Smallest change that the first pairs detect, with the same two levels; the second is the default threshold.
const DETECTABLE: [f64; 2] = [0.03, 0.1];

/// Returns the findings from the system's facts.
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

fn grade(value: f64, limits: [f64; 2]) -> Level {
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
    let why = "both versions are built with this folder's toolchain";
    match toolchain {
        Ok(release) => finding("toolchain", release, Level::Ok, why),
        Err(error) => finding("toolchain", error.message(), Level::Bad, why)
            .unless_ok("install or update Rust, and make sure that cargo and rustc are on PATH"),
    }
}

fn linker(linking: &Linking) -> Finding {
    let (value, level) = match linking {
        Linking::Ordered(linker) => (format!("code layout can be matched by {linker}"), Level::Ok),
        Linking::Plain(why) => (format!("code layout cannot be matched: {why}"), Level::Warn),
        Linking::Failed(message) => (format!("does not link: {message}"), Level::Bad),
    };
    let why = "code placement alone can make code up to 40 % slower or faster; flagged tests are confirmed over random layouts";
    let advice = match level {
        Level::Bad => "install a C compiler, which rustc needs to link",
        _ => {
            "install lld (`apt-get install lld`), which then links the measured executables even if the project uses another linker"
        }
    };
    finding("linker", value, level, why).unless_ok(advice)
}

fn tracing(tracing: Result<(), Untraceable>) -> Finding {
    let why = "tracing drops tests that do not execute the change; without it they are measured too";
    let value = tracing.as_ref().map_or_else(ToString::to_string, |()| "processes can be traced (ptrace)".to_owned());
    finding("tracing", value, either(tracing.is_ok(), Level::Warn), why)
        .unless_ok("allow ptrace: `docker run --cap-add SYS_PTRACE`, `sysctl kernel.yama.ptrace_scope=1`")
}

fn address_space(fixed: bool) -> Finding {
    let value = if fixed {
        "randomization can be disabled"
    } else {
        "randomization cannot be disabled; test executables are linked at fixed addresses instead"
    };
    let why = "short tests vary less and need fewer pairs if all addresses are equal on both sides";
    finding("address-space", value, either(fixed, Level::Warn), why).unless_ok(
        "allow personality(ADDR_NO_RANDOMIZE), which Docker's default profile blocks: `docker run --security-opt seccomp=unconfined`",
    )
}

fn pinning(pinning: bool) -> Finding {
    let value = if pinning { "processes can be pinned to one core" } else { "processes cannot be pinned to one core" };
    let why = "cores of a machine can differ by half for seconds; on one core this affects both versions equally";
    finding("pinning", value, either(pinning, Level::Warn), why).unless_ok("allow sched_setaffinity")
}

fn cores(allowed: usize, online: usize) -> Finding {
    let why = "one core measures; the tool and all other programs need another";
    finding("cores", format!("{allowed} of {online} can be used"), either(allowed > 1, Level::Warn), why)
        .unless_ok("give the container or machine at least two cores")
}

fn cpu_limit(limit: Option<f64>) -> Finding {
    let why = "a process over the limit is paused in the middle of a measurement";
    let value = limit.map_or_else(|| "none".to_owned(), |cores| format!("{cores:.1} cores (control group)"));
    finding("cpu-limit", value, either(limit.is_none(), Level::Warn), why)
        .unless_ok("assign cores instead of a share of time: `docker run --cpuset-cpus 0,1` instead of `--cpus 2`")
}

fn virtual_machine(machine: Option<&str>) -> Finding {
    let why = "other machines on the host share caches and cores; measuring in pairs on one core cancels most of their effect";
    finding("virtual-machine", machine.unwrap_or("none detected"), Level::Ok, why)
}

fn steal(steal: f64) -> Finding {
    let why = "time that the host gave to other machines since boot";
    finding("steal", percent(steal), either(steal < STEAL, Level::Warn), why)
        .unless_ok("use a machine with dedicated cores to detect small changes")
}

fn governor(governor: Option<&str>) -> Finding {
    let why =
        "a frequency that follows the load changes absolute times; within a pair it affects both versions equally";
    let fixed = governor.is_none_or(|governor| governor == "performance");
    finding("frequency", governor.unwrap_or("unknown"), either(fixed, Level::Warn), why)
        .unless_ok("`cpupower frequency-set -g performance`")
}

fn turbo(turbo: Option<bool>) -> Finding {
    let value = match turbo {
        Some(true) => "on",
        Some(false) => "off",
        None => "unknown",
    };
    let why = "the maximum frequency depends on heat and other cores; within a pair it affects both versions equally";
    finding("turbo", value, either(turbo != Some(true), Level::Warn), why).unless_ok(
        "to detect small changes, disable it: write 1 to /sys/devices/system/cpu/intel_pstate/no_turbo, or 0 to ../cpufreq/boost",
    )
}

fn smt(smt: Option<bool>) -> Finding {
    let value = match smt {
        Some(true) => "on: two cores share execution units",
        Some(false) => "off",
        None => "unknown",
    };
    let why = "programs on the other half of a core slow it down";
    finding("smt", value, either(smt != Some(true), Level::Warn), why)
        .unless_ok("keep the machine idle while measuring, or write off to /sys/devices/system/cpu/smt/control")
}

fn counters(counters: &Result<(), NoCounter>) -> Finding {
    let value = match counters {
        Ok(()) => "instructions can be counted".to_owned(),
        Err(refused @ NoCounter::Refused) => format!("not allowed: {refused}"),
        Err(why) => format!("none: {why}"),
    };
    finding(
        "performance-counters",
        value,
        Level::Ok,
        "an alternative to valgrind that is faster; not needed with valgrind",
    )
}

fn valgrind(version: Option<&str>) -> Finding {
    let why = "counting instructions settles small changes and names functions faster; without it and without performance \
        counters, changes below 2 % are inconclusive";
    finding("valgrind", version.unwrap_or("not installed"), Level::Ok, why)
}

fn quiet(core: &CoreNoise) -> Finding {
    let CoreNoise { core, gaps_per_second, lost, longest_ns } = *core;
    let value = format!(
        "core {core}: {} of the time lost, in {gaps_per_second:.0} gaps per second of up to {:.1} ms",
        percent(lost),
        longest_ns / 1e6
    );
    let why = "interrupts and other programs make measuring longer, especially for tests of several milliseconds";
    finding("quiet", value, either(lost <= LOST, Level::Warn), why)
        .unless_ok("stop other programs, or measure while the machine is idle")
}

fn fixed_work(spread: f64) -> Finding {
    let value = format!("the median of equal work is {} above the fastest tenth", percent(spread));
    let why = "caused by a changing frequency, or by neighbors that share caches and execution units";
    finding("fixed-work", value, grade(spread, SPREAD), why)
        .unless_ok("see frequency, turbo and smt above; on a virtual machine the cause is other machines on the host")
}

fn against_itself(result: &Result<AgainstItself, Error>) -> Finding {
    let why = "a small built-in test, compared with itself, shows what a diff can detect here";
    let advice = "see the findings above for the cause; a larger --per-test-budget allows more pairs";
    let result = match result {
        Ok(result) => result,
        Err(error) => return finding("against-itself", error.message(), Level::Bad, why).unless_ok(advice),
    };
    let (word, wrong) = match result.verdict {
        Verdict::Same => ("unchanged", Level::Ok),
        // One test in a hundred may do so.
        Verdict::ChangedBelowThreshold => ("changed by less than the threshold, by chance", Level::Ok),
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
    finding("against-itself", value, wrong.max(grade(result.detectable, DETECTABLE)), why).unless_ok(advice)
}

#[cfg(test)]
mod tests;
