//! What is set again at every boot: files of sysctl.d(5) and tmpfiles.d(5), each as one value.
//!
//! They are changed and undone as any other setting is, but for one thing: a boot does not take them back.

use std::fs::File;
use std::io::{self, ErrorKind, Write};

use rustix::fs::{Access, access};

use super::entry::{Change, Setting};
use crate::machine::Machine;

pub(super) const SETTING: Setting = Setting {
    name: "at boot",
    keys: "(--persist)",
    summary: "what `pitot host apply --persist` applies at every boot: /etc/sysctl.d/90-pitot.conf and /etc/tmpfiles.d/90-pitot.conf",
    right: "root (CAP_DAC_OVERRIDE)",
    of_network: false,
    is_exact: |_| true,
    refuses: |_, _, _, _| None,
    owns: |key| path(key).is_ok(),
    // Nobody writes such a file as a value.
    expand: |_, _, _| None,
    read,
    write,
    may_write,
    file_at_boot: |_| None,
};

/// The keys, with their files.
const FILES: [(&str, &str); 2] =
    [("boot.sysctl", "/etc/sysctl.d/90-pitot.conf"), ("boot.tmpfiles", "/etc/tmpfiles.d/90-pitot.conf")];
/// The first line of each.
const HEADER: &str = "# Made by `pitot host apply --persist`; `pitot host undo` removes it.";

/// The file of a key that a boot does not take back.
pub fn file_that_outlasts_boot(key: &str) -> Option<&'static str> {
    path(key).ok()
}

fn path(key: &str) -> io::Result<&'static str> {
    let found = FILES.iter().find(|(name, _)| *name == key);
    found.map(|(_, path)| *path).ok_or_else(|| ErrorKind::NotFound.into())
}

/// The changes that make these be made again at every boot, beside what is so already; and the keys that no file can set.
/// `file_of` says which file a key is written to.
pub(super) fn at_every_boot<'c>(
    machine: &Machine,
    changes: impl IntoIterator<Item = &'c Change>,
    file_of: impl Fn(&str) -> Option<String>,
) -> (Vec<Change>, Vec<&'c str>) {
    let mut files = FILES.map(|(key, _)| read(machine, key).unwrap_or_default());
    let mut impossible = Vec::new();
    for change in changes {
        let Some(path) = file_of(&change.key) else {
            impossible.push(change.key.as_str());
            continue;
        };
        let value = change.value.split_whitespace().collect::<Vec<_>>().join(" ");
        // sysctl.d(5) takes names with slashes, in which a dot is one.
        let (file, line) = match path.strip_prefix("/proc/sys/") {
            Some(name) => (&mut files[0], (format!("{name} = "), value)),
            None => (&mut files[1], (format!("w {path} - - - - "), value)),
        };
        *file = with(file, &line.0, &line.1);
    }
    let changes = FILES.iter().zip(files).filter(|(_, text)| !text.is_empty());
    (changes.map(|((key, _), text)| Change::new(*key, text)).collect(), impossible)
}

/// The text with one line that begins so.
fn with(text: &str, begin: &str, value: &str) -> String {
    let mut lines: Vec<&str> = text.lines().filter(|line| !line.starts_with(begin)).collect();
    if lines.is_empty() {
        lines.push(HEADER);
    }
    let line = format!("{begin}{value}");
    lines.push(&line);
    lines.join("\n")
}

/// Its text; nothing if there is none.
fn read(machine: &Machine, key: &str) -> io::Result<String> {
    match std::fs::read_to_string(machine.path(path(key)?)) {
        Ok(text) => Ok(text.trim_end_matches('\n').to_owned()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(e) => Err(e),
    }
}

/// Writes it as a whole, or removes it: a kill or a power cut leaves what was there, or what is wanted.
fn write(machine: &Machine, key: &str, text: &str) -> io::Result<()> {
    let path = machine.path(path(key)?);
    let directory = path.parent().ok_or(ErrorKind::InvalidInput)?;
    if text.is_empty() {
        std::fs::remove_file(&path)?;
    } else {
        std::fs::create_dir_all(directory)?;
        // Files that do not end in .conf are not read.
        let draft = path.with_extension("draft");
        let mut file = File::create(&draft)?;
        file.write_all(format!("{text}\n").as_bytes()).and_then(|()| file.sync_all())?;
        std::fs::rename(draft, &path)?;
    }
    File::open(directory)?.sync_all()
}

fn may_write(machine: &Machine, key: &str) -> io::Result<()> {
    let path = machine.path(path(key)?);
    let there = path.ancestors().skip(1).find(|directory| directory.exists()).unwrap_or(&path);
    Ok(access(there, Access::WRITE_OK | Access::EXEC_OK)?)
}

#[cfg(test)]
mod tests {
    use super::{HEADER, read, write};
    use crate::machine::Machine;
    use crate::setting::{Change, at_every_boot};

    #[test]
    fn each_file_has_its_settings_and_a_second_round_replaces_only_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path());
        let change = |key: &str, value: &str| Change::new(key, value);
        let first = [
            change("net.core.somaxconn", "4096"),
            change("net.ipv4.conf.eth0/5.arp_ignore", "1"),
            change("thp.enabled", "madvise"),
            change("nic.eth0.rx-ring", "512"),
        ];
        let (files, impossible) = at_every_boot(&machine, &first);
        assert_eq!(impossible, ["nic.eth0.rx-ring"]);
        assert_eq!(
            files[0].value,
            format!("{HEADER}\nnet/core/somaxconn = 4096\nnet/ipv4/conf/eth0.5/arp_ignore = 1")
        );
        assert_eq!(
            files[1].value,
            format!("{HEADER}\nw /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise")
        );
        for file in &files {
            write(&machine, &file.key, &file.value).unwrap();
            assert_eq!(read(&machine, &file.key).unwrap(), file.value);
        }
        let second = [change("net.core.somaxconn", "9"), change("net.ipv4.tcp_rmem", "1\t2\t3")];
        let (again, _) = at_every_boot(&machine, &second);
        assert!(
            again[0].value.ends_with("arp_ignore = 1\nnet/core/somaxconn = 9\nnet/ipv4/tcp_rmem = 1 2 3")
        );
        assert_eq!(again[1], files[1]);
        write(&machine, "boot.sysctl", "").unwrap();
        assert_eq!(read(&machine, "boot.sysctl").unwrap(), "");
        assert_eq!(std::fs::read_dir(dir.path().join("etc/sysctl.d")).unwrap().count(), 0);
    }
}
