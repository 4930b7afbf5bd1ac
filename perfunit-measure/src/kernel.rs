//! What the kernel says about cores: `/proc/stat`, lists of cores, control groups. Reading is thin, parsing pure.

use perfunit_system::os::unix::fs::FileExt;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a core spent its time, in ticks since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ticks {
    /// Running anything: programs, kernel, interrupts.
    pub busy: u64,
    pub idle: u64,
    /// Something to do, but the host ran other machines.
    pub steal: u64,
}

impl Ticks {
    /// What came after an earlier look.
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

/// All cores now; empty where the kernel does not tell.
pub fn ticks() -> BTreeMap<usize, Ticks> {
    parse_stat(&read("/proc/stat").unwrap_or_default())
}

/// `/proc/stat`, the lines of single cores.
fn parse_stat(text: &str) -> BTreeMap<usize, Ticks> {
    let core = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
        let number = words.next()?.parse().ok()?;
        let times: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time is part of user time.
        let time = |index: usize| times.get(index).copied().unwrap_or(0);
        let busy = [0, 1, 2, 5, 6].into_iter().map(time).sum();
        Some((number, Ticks { busy, idle: time(3) + time(4), steal: time(7) }))
    };
    // The first line is the sum: its name has no number, and its first figure is no core of ours.
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
    /// Of a thread by its name below `/proc`; of a process, its first thread.
    pub fn of(name: &str) -> Self {
        Self(File::open(format!("/proc/{name}/schedstat")).ok())
    }

    /// Since the thread began; 0 where the kernel does not tell.
    pub fn read(&self) -> Duration {
        self.times().map_or(Duration::ZERO, |(_, waited)| waited)
    }

    /// The same without the time in which other threads and children of its process may have had the core: in all they ran
    /// for `cpu` with this one, which is over.
    pub fn by_others(&self, cpu: Duration) -> Duration {
        let without_own = |(ran, waited): (Duration, Duration)| waited.saturating_sub(cpu.saturating_sub(ran));
        self.times().map_or(Duration::ZERO, without_own)
    }

    /// How long it ran, and how long it waited for that.
    fn times(&self) -> Option<(Duration, Duration)> {
        let mut text = [0; 96];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        parse_schedstat(&String::from_utf8_lossy(&text[..length]))
    }
}

/// `/proc/<id>/schedstat`: time on a core, time waiting for one, ns; how often it came to one.
fn parse_schedstat(text: &str) -> Option<(Duration, Duration)> {
    let mut times = text.split_ascii_whitespace().map(|word| word.parse().ok().map(Duration::from_nanos));
    times.next()?.zip(times.next()?)
}

/// A list as the kernel writes it: `0-3,8`.
pub fn parse_list(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// The cores that share a core's execution units, itself included.
pub fn siblings(core: usize) -> Vec<usize> {
    let list = read(format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list"));
    list.map(|text| parse_list(&text)).filter(|list| list.contains(&core)).unwrap_or_else(|| vec![core])
}

/// Files of our control group's processor controller, version 2 or 1, that may hold `name`.
pub fn cgroup_file(name: &str) -> Option<String> {
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    cgroup_folders(&groups).into_iter().find_map(|folder| read(folder.join(name)))
}

/// Where our control group may be. In a container its path is that of the host, and it lies at the root.
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

/// How often our control group used up its processor time and had to wait; `None` where there is no such limit.
pub fn throttled() -> Option<u64> {
    throttled_in(&cgroup_file("cpu.stat")?)
}

fn throttled_in(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("nr_throttled "))?.trim().parse().ok()
}

/// How often a core was slowed down for its heat.
pub fn overheated(core: usize) -> Option<u64> {
    let count = read(format!("/sys/devices/system/cpu/cpu{core}/thermal_throttle/core_throttle_count"))?;
    count.trim().parse().ok()
}

/// The processor's name in `/proc/cpuinfo`; on aarch64 its part number, failing that the architecture.
pub fn cpu_name(cpuinfo: &str) -> String {
    let field = |name: &str| cpuinfo.lines().find(|line| line.starts_with(name))?.split_once(':');
    let known = field("model name").or_else(|| field("CPU part"));
    known.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, value)| value.trim().to_owned())
}

/// A file of the kernel's, if it is there and may be read.
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
}
