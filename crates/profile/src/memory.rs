//! Which file lies where in the memory of each process, for processes that have ended when their samples are named.

use std::collections::HashMap;

use pitot_sys::perf::Mapped;

/// The executable mappings of processes.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    of: HashMap<u32, Vec<Mapped>>,
}

impl Memory {
    /// Reads those of a running process (proc_pid_maps(5)). One that has ended has none.
    pub(crate) fn look_at(&mut self, pid: u32) {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        self.of.insert(pid, maps.lines().filter_map(|line| parse(pid, line)).collect());
    }

    /// A process began as the copy of another.
    pub(crate) fn forked(&mut self, pid: u32, parent: u32) {
        if pid != parent
            && let Some(mappings) = self.of.get(&parent).cloned()
        {
            let own = mappings.into_iter().map(|mapping| Mapped { pid, ..mapping });
            self.of.insert(pid, own.collect());
        }
    }

    /// A process executes another program.
    pub(crate) fn executed(&mut self, pid: u32) {
        self.of.remove(&pid);
    }

    /// A process mapped a file, in place of what was there.
    pub(crate) fn mapped(&mut self, new: Mapped) {
        let mappings = self.of.entry(new.pid).or_default();
        mappings.retain(|old| old.end <= new.start || new.end <= old.start);
        mappings.push(new);
    }

    /// The processes that have mapped a file with this end of its path.
    pub(crate) fn processes_with(&self, end: &str) -> impl Iterator<Item = u32> {
        let has = move |mappings: &[Mapped]| mappings.iter().any(|mapping| mapping.path.ends_with(end));
        self.of.iter().filter(move |(_, mappings)| has(mappings)).map(|(pid, _)| *pid)
    }

    /// The first mapping of this name.
    pub(crate) fn named(&self, pid: u32, path: &str) -> Option<&Mapped> {
        self.of.get(&pid)?.iter().find(|mapping| mapping.path == path)
    }

    /// The mapping of an address.
    pub(crate) fn at(&self, pid: u32, address: u64) -> Option<&Mapped> {
        self.of.get(&pid)?.iter().find(|mapping| (mapping.start..mapping.end).contains(&address))
    }
}

fn parse(pid: u32, line: &str) -> Option<Mapped> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let is_executable = words.next()?.contains('x');
    let (offset, device, inode) = (words.next()?, words.next()?, words.next()?);
    let (major, minor) = device.split_once(':')?;
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    // The path is what follows device and inode, and may have spaces.
    let path = line.splitn(6, ' ').nth(5).unwrap_or("").trim_start();
    is_executable.then_some(Mapped {
        pid,
        start: hex(start)?,
        end: hex(end)?,
        offset: hex(offset)?,
        path: path.to_owned(),
        inode: (number(major)?, number(minor)?, inode.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps_are_read() {
        let line = "55d0-66e0 r-xp 00001000 fe:00 1234                       /usr/bin/my server";
        let mapping = parse(3, line).unwrap();
        assert_eq!((mapping.start, mapping.end, mapping.offset), (0x55d0, 0x66e0, 0x1000));
        assert_eq!((mapping.pid, &mapping.path[..]), (3, "/usr/bin/my server"));
        assert_eq!(mapping.inode, (0xfe, 0, 1234));
        assert_eq!(parse(3, "55d0-66e0 rw-p 00001000 fe:00 1234 /bin/a"), None);
        assert_eq!(parse(3, ""), None);
        assert_eq!(parse(3, "7f00-7f10 r-xp 0 00:00 0 ").unwrap().path, "");
    }

    #[test]
    fn a_process_has_what_its_parent_had_until_it_maps_something_else() {
        let mut memory = Memory::default();
        let mapping = |pid, start, end, path: &str| Mapped {
            pid,
            start,
            end,
            offset: 0,
            path: path.to_owned(),
            inode: (0, 0, 0),
        };
        memory.mapped(mapping(1, 10, 20, "/a"));
        memory.forked(2, 1);
        memory.mapped(mapping(2, 15, 25, "/b"));
        let path = |pid, address| memory.at(pid, address).map(|m| m.path.as_str());
        assert_eq!(
            (path(1, 12), path(2, 12), path(2, 20), path(3, 12)),
            (Some("/a"), None, Some("/b"), None)
        );
    }
}
