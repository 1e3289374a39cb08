//! The machine's memory that this process may use, according to Linux.

use super::Memory;
use std::fs;
use std::path::Path;

/// Returns the memory of the machine, reduced by the limits of this process: its control groups and
/// its resource limits (`ulimit`). Without Linux's files, both sizes are `u64::MAX`, so only the
/// allocation itself can fail.
pub(super) fn memory() -> Memory {
    memory_under(Path::new("/"))
}

/// Does the same as [`memory`] with the files under `root`.
fn memory_under(root: &Path) -> Memory {
    let machine = fs::read_to_string(root.join("proc/meminfo")).unwrap_or_default();
    let kib = |name: &str| field(&machine, name).map_or(u64::MAX, |kib| kib.saturating_mul(1024));
    let all = Memory { total: kib("MemTotal:"), free: kib("MemAvailable:") };
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let limited = groups.lines().filter_map(group).map(|(version, path)| version.limits(all, root, path));
    limited.chain(process_limits(root)).fold(all, least)
}

/// Returns the memory that each resource limit of the process leaves. One limit is on the address
/// space, the other on private writable memory. An allocation beyond a limit fails, even if the
/// machine has free memory.
fn process_limits(root: &Path) -> impl Iterator<Item = Memory> {
    let limits = fs::read_to_string(root.join("proc/self/limits")).unwrap_or_default();
    let status = fs::read_to_string(root.join("proc/self/status")).unwrap_or_default();
    [("Max address space ", "VmSize:"), ("Max data size ", "VmData:")].into_iter().filter_map(move |(limit, used)| {
        // Without a limit, the word is `unlimited`.
        let total = field(&limits, limit)?;
        let used = field(&status, used).unwrap_or(0).saturating_mul(1024);
        Some(Memory { total, free: total.saturating_sub(used) })
    })
}

fn least(one: Memory, other: Memory) -> Memory {
    Memory { total: one.total.min(other.total), free: one.free.min(other.free) }
}

/// Returns the integer after `name`, on the line that begins with `name`.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Parses a line `number:controllers:path` of `/proc/self/cgroup`. If its control group can limit
/// memory, returns the version of control groups and the group's path.
fn group(line: &str) -> Option<(&'static Version, &str)> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    match controllers {
        "" => Some((&V2, path)),
        _ if controllers.split(',').any(|controller| controller == "memory") => Some((&V1, path)),
        _ => None,
    }
}

/// The file names of a version of control groups.
struct Version {
    mounted: &'static str,
    limit: &'static str,
    usage: &'static str,
    /// The names in `memory.stat` of the memory that caches files, which the kernel frees when
    /// needed.
    cached: [&'static str; 2],
}

const V1: Version = Version {
    mounted: "sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    cached: ["total_inactive_file ", "total_active_file "],
};
const V2: Version = Version {
    mounted: "sys/fs/cgroup",
    limit: "memory.max",
    usage: "memory.current",
    cached: ["inactive_file ", "active_file "],
};

impl Version {
    /// Returns the part of the machine's memory that the control group at `path` and its parent
    /// groups allow.
    fn limits(&self, machine: Memory, root: &Path, path: &str) -> Memory {
        let mounted = root.join(self.mounted);
        // Within a container, the path may be the host's. Then only the mount's own files exist.
        let own = mounted.join(path.trim_start_matches('/'));
        let groups = own.ancestors().take_while(|folder| folder.starts_with(&mounted));
        groups.filter_map(|folder| self.limit(machine, folder)).fold(machine, least)
    }

    /// Returns the memory that one group allows, if it has a limit.
    fn limit(&self, machine: Memory, folder: &Path) -> Option<Memory> {
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        // A group without a limit has `max` here, or a value larger than any machine's memory.
        let limit = number(self.limit).filter(|&limit| limit < machine.total)?;
        let stat = read("memory.stat").unwrap_or_default();
        let cached = self.cached.iter().filter_map(|name| field(&stat, name)).sum();
        let used = number(self.usage).unwrap_or(0).saturating_sub(cached);
        Some(Memory { total: limit, free: limit.saturating_sub(used) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A folder with test files, which is deleted by the drop.
    struct Files(PathBuf);

    impl Files {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("warpnest-{name}-{}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(root)
        }
    }

    impl Drop for Files {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const MACHINE: (&str, &str) =
        ("proc/meminfo", "MemTotal:       1000 kB\nMemFree:  10 kB\nMemAvailable:    800 kB\n");

    fn found(name: &str, files: &[(&str, &str)]) -> (u64, u64) {
        let files = Files::new(name, files);
        let Memory { total, free } = memory_under(&files.0);
        (total, free)
    }

    #[test]
    fn without_control_groups_it_is_the_machines() {
        assert_eq!(found("machine", &[MACHINE]), (1000 << 10, 800 << 10));
        assert_eq!(found("nothing", &[]), (u64::MAX, u64::MAX));
        let unlimited = [
            MACHINE,
            ("proc/self/cgroup", "4:memory:/\n1:cpu:/small\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "900000\n"),
            ("sys/fs/cgroup/memory/small/memory.limit_in_bytes", "5\n"),
        ];
        assert_eq!(found("unlimited", &unlimited), (1000 << 10, 800 << 10));
    }

    #[test]
    fn limits_of_the_process_count_with_what_it_uses() {
        let limits = |address_space: &str, data: &str| {
            format!(
                "Limit        Soft Limit  Hard Limit  Units\nMax data size   {data}   unlimited  bytes\n\
                Max address space   {address_space}   unlimited   bytes\n"
            )
        };
        let status = "Name:\tprogram\nVmPeak:\t 400 kB\nVmSize:\t 300 kB\nVmData:\t 100 kB\n";
        for (number, (address_space, data, expected)) in [
            ("unlimited", "unlimited", (1000 << 10, 800 << 10)),
            ("614400", "unlimited", (600 << 10, 300 << 10)),
            ("unlimited", "204800", (200 << 10, 100 << 10)),
            ("614400", "460800", (450 << 10, 300 << 10)),
            // A limit can be lowered below the memory in use.
            ("1024", "unlimited", (1 << 10, 0)),
        ]
        .into_iter()
        .enumerate()
        {
            let limits = limits(address_space, data);
            let files = [MACHINE, ("proc/self/limits", &limits), ("proc/self/status", status)];
            assert_eq!(found(&format!("process-{number}"), &files), expected, "{address_space} {data}");
        }
    }

    #[test]
    fn the_second_versions_limits_count_up_to_the_root() {
        let mut files = vec![
            MACHINE,
            ("proc/self/cgroup", "0::/outer/inner\n"),
            ("sys/fs/cgroup/outer/memory.max", "500000\n"),
            ("sys/fs/cgroup/outer/memory.current", "450000\n"),
            ("sys/fs/cgroup/outer/memory.stat", "anon 1\nfile 300000\ninactive_file 200000\nactive_file 50000\n"),
            ("sys/fs/cgroup/outer/inner/memory.max", "max\n"),
            ("sys/fs/cgroup/outer/inner/memory.current", "400000\n"),
        ];
        assert_eq!(found("outer", &files), (500_000, 300_000));
        // The inner group has a lower limit, and most of it is in use.
        files[5].1 = "410000\n";
        assert_eq!(found("inner", &files), (410_000, 10_000));
        // More memory is in use than allowed, which happens when a limit is lowered.
        files[6].1 = "420000\n";
        assert_eq!(found("over", &files), (410_000, 0));
        // The outer group has a higher limit, and other processes have nearly exhausted it.
        files[3].1 = "745000\n";
        files[6].1 = "200000\n";
        assert_eq!(found("others", &files), (410_000, 5_000));
    }

    #[test]
    fn the_first_versions_limits_count_also_where_the_path_is_the_hosts() {
        let files = [
            MACHINE,
            ("proc/self/cgroup", "9:name=systemd:/x\n4:cpuset,memory:/docker/0123\n0::/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "300000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "120000\n"),
            ("sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 20000\ntotal_active_file 0\n"),
        ];
        assert_eq!(found("first", &files), (300_000, 200_000));
    }
}
