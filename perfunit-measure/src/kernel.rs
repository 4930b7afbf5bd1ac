//! Figures of the kernel about cores: `/proc/stat`, lists of cores, control groups. Reading is thin, parsing is pure.

use perfunit_system::os::unix::fs::FileExt;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Use of a core's time, in ticks since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ticks {
    /// Time in which the core ran anything: programs, the kernel, interrupts.
    pub busy: u64,
    pub idle: u64,
    /// Time in which there was work, but the host ran other machines.
    pub steal: u64,
}

impl Ticks {
    /// Returns the ticks since an earlier reading.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(earlier.busy),
            idle: self.idle.saturating_sub(earlier.idle),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }

    pub fn all(self) -> u64 {
        self.busy + self.idle + self.steal
    }
}

/// Returns the ticks of all cores now; empty if the kernel does not report them.
pub fn ticks() -> BTreeMap<usize, Ticks> {
    parse_stat(&read("/proc/stat").unwrap_or_default())
}

/// Parses the lines of single cores in `/proc/stat`.
fn parse_stat(text: &str) -> BTreeMap<usize, Ticks> {
    let core = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
        let number = words.next()?.parse().ok()?;
        let times: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        // The fields are user nice system idle iowait irq softirq steal; guest time is part of user time.
        let time = |index: usize| times.get(index).copied().unwrap_or(0);
        let busy = [0, 1, 2, 5, 6].into_iter().map(time).sum();
        Some((number, Ticks { busy, idle: time(3) + time(4), steal: time(7) }))
    };
    // The first line is the sum of all cores: its name has no number, and its first figure is not a core number.
    text.lines()
        .take_while(|line| line.starts_with("cpu"))
        .filter(|line| !line.starts_with("cpu "))
        .filter_map(core)
        .collect()
}

/// The time for which a thread was ready to run while others had the core.
#[derive(Debug)]
pub struct RunDelay(Option<File>);

impl RunDelay {
    /// Opens the figures of a thread by its name below `/proc`; the name of a process stands for its first thread.
    pub fn of(name: &str) -> Self {
        Self(File::open(format!("/proc/{name}/schedstat")).ok())
    }

    /// Returns the delay since the thread began; 0 if the kernel does not report it.
    pub fn read(&self) -> Duration {
        self.times().map_or(Duration::ZERO, |(_, waited)| waited)
    }

    /// Returns the delay without the time in which other threads and children of the same process may have had the
    /// core. Together with this thread, which has ended, they ran for `cpu`.
    pub fn by_others(&self, cpu: Duration) -> Duration {
        let without_own = |(ran, waited): (Duration, Duration)| waited.saturating_sub(cpu.saturating_sub(ran));
        self.times().map_or(Duration::ZERO, without_own)
    }

    /// Returns the time for which the thread ran, and the time for which it waited to run.
    fn times(&self) -> Option<(Duration, Duration)> {
        let mut text = [0; 96];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        parse_schedstat(&String::from_utf8_lossy(&text[..length]))
    }
}

/// Parses `/proc/<id>/schedstat`: time on a core and time waiting for one, ns. The number of time slices follows.
fn parse_schedstat(text: &str) -> Option<(Duration, Duration)> {
    let mut times = text.split_ascii_whitespace().map(|word| word.parse().ok().map(Duration::from_nanos));
    times.next()?.zip(times.next()?)
}

/// Parses a list as the kernel writes it: `0-3,8`.
pub fn parse_list(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// Returns the cores that share a core's execution units, including the core itself.
pub fn siblings(core: usize) -> Vec<usize> {
    let list = read(format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list"));
    list.map(|text| parse_list(&text)).filter(|list| list.contains(&core)).unwrap_or_else(|| vec![core])
}

/// Reads the file `name` of this process's control group for the processor controller, version 2 or 1.
pub fn cgroup_file(name: &str) -> Option<String> {
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    cgroup_folders(&groups).into_iter().find_map(|folder| read(folder.join(name)))
}

/// Returns the possible folders of this process's control group. In a container, its path is that of the host, and the
/// group lies at the root.
fn cgroup_folders(groups: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let root = match controllers {
            "" => PathBuf::from("/sys/fs/cgroup"),
            list if list.split(',').any(|name| name == "cpu") => Path::new("/sys/fs/cgroup").join(list),
            _ => continue,
        };
        folders.push(root.join(path.trim_start_matches('/')));
        folders.push(root);
    }
    folders
}

/// Returns the processor time that this process's control group may use, in cores; `None` without a limit.
pub fn processor_limit() -> Option<f64> {
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let folders = cgroup_folders(&groups);
    // The limits of all groups above apply as well.
    let above =
        folders.iter().flat_map(|folder| folder.ancestors()).filter(|folder| folder.starts_with("/sys/fs/cgroup"));
    let limit = |folder: &Path| {
        let old = || {
            Some(format!(
                "{} {}",
                read(folder.join("cpu.cfs_quota_us"))?.trim(),
                read(folder.join("cpu.cfs_period_us"))?.trim()
            ))
        };
        limit_in(&read(folder.join("cpu.max")).or_else(old)?)
    };
    above.filter_map(limit).reduce(f64::min)
}

/// Parses a CPU limit: `max 100000` and `-1 100000` mean no limit, `150000 100000` one and a half cores.
fn limit_in(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// Returns how often this process's control group used up its processor time and had to wait; `None` if there is no
/// limit.
pub fn count_throttling() -> Option<u64> {
    throttled_in(&cgroup_file("cpu.stat")?)
}

fn throttled_in(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("nr_throttled "))?.trim().parse().ok()
}

/// Returns how often a core was slowed down because of its heat.
pub fn count_overheating(core: usize) -> Option<u64> {
    let count = read(format!("/sys/devices/system/cpu/cpu{core}/thermal_throttle/core_throttle_count"))?;
    count.trim().parse().ok()
}

/// Returns the processor's name in `/proc/cpuinfo`; on aarch64 its part number, failing that the architecture.
pub fn cpu_name(cpuinfo: &str) -> String {
    let field = |name: &str| cpuinfo.lines().find(|line| line.starts_with(name))?.split_once(':');
    let known = field("model name").or_else(|| field("CPU part"));
    known.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, value)| value.trim().to_owned())
}

/// Reads a file of the kernel; `None` if the file is missing or not readable.
pub fn read(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_told_apart() {
        let text = "cpu  31059 53205 9696 31642 235 0 43 59 0 0\n\
            cpu0 15471 26400 4944 16043 78 1 6 28 0 0\n\
            cpu11 1 2 3 4 5 6 7 8 100 100\n\
            intr 441074 0 0\n";
        let expected = [
            (0, Ticks { busy: 15471 + 26400 + 4944 + 1 + 6, idle: 16043 + 78, steal: 28 }),
            (11, Ticks { busy: 19, idle: 9, steal: 8 }),
        ];
        assert_eq!(parse_stat(text), BTreeMap::from(expected));
        assert!(parse_stat("").is_empty());
    }

    #[test]
    fn waiting_for_a_core_is_the_second_figure() {
        let nanos = Duration::from_nanos;
        assert_eq!(parse_schedstat("134770360 1348561 11\n"), Some((nanos(134_770_360), nanos(1_348_561))));
        assert_eq!(parse_schedstat(""), None);
        assert_eq!(RunDelay::of("no-such-process").read(), Duration::ZERO);
    }

    #[test]
    fn the_processor_has_a_name() {
        assert_eq!(cpu_name("processor\t: 0\nmodel name\t: AMD EPYC\nmodel name\t: other\n"), "AMD EPYC");
        assert_eq!(cpu_name("CPU part\t: 0xd0c\n"), "0xd0c");
        assert_eq!(cpu_name(""), std::env::consts::ARCH);
    }

    #[test]
    fn lists_of_cores_are_read() {
        assert_eq!(parse_list("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(parse_list("5"), [5]);
        assert!(parse_list("\n").is_empty());
    }

    #[test]
    fn both_kinds_of_control_groups_are_found() {
        let paths = |text| cgroup_folders(text).iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        assert_eq!(paths("0::/user.slice\n"), ["/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"]);
        let old = "5:memory:/m\n2:cpu,cpuacct:/docker/1\n";
        assert_eq!(paths(old), ["/sys/fs/cgroup/cpu,cpuacct/docker/1", "/sys/fs/cgroup/cpu,cpuacct"]);
    }

    #[test]
    fn waiting_for_processor_time_is_counted() {
        assert_eq!(throttled_in("nr_periods 12\nnr_throttled 3\nthrottled_time 1\n"), Some(3));
        assert_eq!(throttled_in("usage_usec 5\n"), None);
    }

    #[test]
    fn limits_of_control_groups_are_read_in_both_forms() {
        assert_eq!(limit_in("max 100000\n"), None);
        assert_eq!(limit_in("-1 100000"), None);
        assert_eq!(limit_in("150000 100000\n"), Some(1.5));
        assert_eq!(limit_in(""), None);
    }
}
