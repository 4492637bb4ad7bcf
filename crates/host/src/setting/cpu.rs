//! Frequencies, idle states and threads of CPUs (Documentation/admin-guide/pm, ABI/testing/sysfs-devices-system-cpu).

use std::io;

use super::entry::{Change, Expanded, Setting};
use super::file;
use super::value::not_among;
use crate::machine::Machine;

pub(super) const SETTING: Setting = Setting {
    name: "cpu",
    keys: "cpu.governor (or cpu.0.governor), cpu.turbo, cpu.smt",
    summary: "governor, energy preference, the wake-up time allowed (idle-latency-us), turbo and threads of cores",
    right: "root (CAP_SYS_ADMIN)",
    of_network: false,
    is_exact: |_| true,
    refuses,
    owns: |key| place(key).is_some(),
    expand,
    read,
    write,
    may_write: |machine, key| file::may_write(machine, &path(machine, key)?),
    file_at_boot: |_| None,
};

/// Words of keys, with the files of a CPU.
const OF_EACH: &[(&str, &str)] = &[
    ("energy-preference", "cpufreq/energy_performance_preference"),
    ("governor", "cpufreq/scaling_governor"),
    ("idle-latency-us", "power/pm_qos_resume_latency_us"),
];

/// Words of keys that all CPUs share, with the files that may have them, and whether 1 in such a file means off.
const OF_ALL: &[(&str, &[(&str, bool)])] = &[
    ("smt", &[("smt/control", false)]),
    ("turbo", &[("intel_pstate/no_turbo", true), ("cpufreq/boost", false)]),
];

enum Place {
    Each(u32, &'static str),
    All(&'static [(&'static str, bool)]),
}

fn place(key: &str) -> Option<Place> {
    let rest = key.strip_prefix("cpu.")?;
    if let Some((_, files)) = OF_ALL.iter().find(|(name, _)| *name == rest) {
        return Some(Place::All(files));
    }
    let (number, word) = rest.split_once('.')?;
    let (_, file) = OF_EACH.iter().find(|(name, _)| *name == word)?;
    Some(Place::Each(number.parse().ok()?, file))
}

/// Words of keys, with the files that list what they can be.
const CHOICES: &[(&str, &str)] = &[
    ("energy-preference", "cpufreq/energy_performance_available_preferences"),
    ("governor", "cpufreq/scaling_available_governors"),
];

fn refuses(machine: &Machine, key: &str, _: &str, value: &str) -> Option<String> {
    let (number, word) = key.strip_prefix("cpu.")?.split_once('.')?;
    let (_, file) = CHOICES.iter().find(|(name, _)| *name == word)?;
    let choices = machine.read(&format!("{BASE}/cpu{number}/{file}"))?;
    // A preference may be a number as well.
    not_among(&choices.split_whitespace().collect::<Vec<_>>(), value).filter(|_| value.parse::<u8>().is_err())
}

const BASE: &str = "/sys/devices/system/cpu";

/// The file, and whether 1 in it means off.
fn found(machine: &Machine, key: &str) -> io::Result<(String, bool)> {
    match place(key).ok_or(io::ErrorKind::NotFound)? {
        Place::Each(number, file) => Ok((format!("{BASE}/cpu{number}/{file}"), false)),
        Place::All(files) => {
            let mut paths = files.iter().map(|(file, swapped)| (format!("{BASE}/{file}"), *swapped));
            paths.find(|(path, _)| machine.path(path).exists()).ok_or(io::ErrorKind::NotFound.into())
        }
    }
}

fn path(machine: &Machine, key: &str) -> io::Result<String> {
    found(machine, key).map(|(path, _)| path)
}

fn read(machine: &Machine, key: &str) -> io::Result<String> {
    let (path, swapped) = found(machine, key)?;
    let text = file::read(machine, &path)?;
    Ok(match (key, text.as_str()) {
        ("cpu.turbo", "0" | "1") => if (text == "1") != swapped { "on" } else { "off" }.to_owned(),
        _ => text,
    })
}

fn write(machine: &Machine, key: &str, value: &str) -> io::Result<()> {
    let (path, swapped) = found(machine, key)?;
    let value = match (key, value) {
        ("cpu.turbo", _) => {
            if (value == "on") != swapped {
                "1"
            } else {
                "0"
            }
        }
        _ => value,
    };
    file::write(machine, &path, value)
}

/// `cpu.governor` is that of every CPU.
fn expand(machine: &Machine, key: &str, value: &str) -> Option<Expanded> {
    match place(key) {
        Some(Place::All(..)) => {
            return Some(super::value::switch(value).map(|value| vec![Change::new(key, value)]));
        }
        Some(Place::Each(..)) => return Some(Ok(vec![Change::new(key, value)])),
        None => {}
    }
    let word = key.strip_prefix("cpu.")?;
    OF_EACH.iter().find(|(name, _)| *name == word)?;
    let cpus = machine.cpus();
    Some(Ok(cpus.iter().map(|cpu| Change::new(format!("cpu.{cpu}.{word}"), value)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turbo_is_on_or_off_whichever_driver_tells_it() {
        for (file, on) in [("intel_pstate/no_turbo", "0"), ("cpufreq/boost", "1")] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join(format!("sys/devices/system/cpu/{file}"));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, format!("{on}\n")).unwrap();
            let machine = Machine::at(dir.path());
            assert_eq!(read(&machine, "cpu.turbo").unwrap(), "on");
            write(&machine, "cpu.turbo", "off").unwrap();
            assert_eq!(read(&machine, "cpu.turbo").unwrap(), "off");
            write(&machine, "cpu.turbo", "on").unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{on}\n"));
        }
    }

    #[test]
    fn a_governor_is_that_of_every_cpu() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("sys/devices/system/cpu");
        std::fs::create_dir_all(&base).unwrap();
        std::fs::write(base.join("online"), "0-2\n").unwrap();
        let changes = expand(&Machine::at(dir.path()), "cpu.governor", "performance").unwrap().unwrap();
        assert_eq!(changes.len(), 3);
        assert_eq!(changes[2], Change::new("cpu.2.governor", "performance"));
    }
}
