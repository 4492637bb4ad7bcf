//! What of a machine can be set: read, changed, and set back.
//!
//! A setting is a key and a value, both words: `net.core.somaxconn=4096`, `nic.eth0.rx-ring=1024`, `thp.enabled=madvise`.
//! What a user asks for may stand for several of them (`cpu.governor` for that of each CPU), so that it is first expanded;
//! each of those is then one system call that writes, which happens as a whole or not at all. That is what makes it
//! possible to undo after a kill at any moment ([`crate::journal`]).

mod block;
mod boot;
mod clock;
mod cpu;
mod entry;
mod fence;
mod file;
mod filesystem;
mod irq;
mod nic;
mod offload;
mod ports;
mod qdisc;
mod queueing;
mod steering;
mod sysctl;
mod thp;
mod value;

use pitot_results::Failure;

use crate::machine::Machine;

pub use boot::file_that_outlasts_boot;
pub use entry::{Change, Setting};
pub use filesystem::file_system_of;
pub(crate) use irq::of_interface as interrupts_of;
pub(crate) use qdisc::known as queueing_disciplines;
pub use value::same;

/// All kinds. A key belongs to the first that takes it.
pub static SETTINGS: &[Setting] = &[
    sysctl::SETTING,
    nic::SETTING,
    queueing::SETTING,
    steering::SETTING,
    irq::SETTING,
    // It takes any name of a feature, so that it stands behind the others of interfaces.
    offload::SETTING,
    cpu::SETTING,
    thp::SETTING,
    block::SETTING,
    clock::SETTING,
    fence::SETTING,
    filesystem::SETTING,
    boot::SETTING,
];

/// The kind of a concrete key.
pub fn of(key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| (setting.owns)(key))
}

/// Whether a machine has the setting of a concrete key.
pub fn is_here(machine: &Machine, key: &str) -> bool {
    of(key).is_some_and(|setting| setting.read(machine, key).is_ok())
}

/// Whether `key` has the form of a setting that `key=value` could mean, on this machine or another.
pub fn is_setting(machine: &Machine, key: &str, value: &str) -> bool {
    SETTINGS.iter().any(|setting| (setting.expand)(machine, key, value).is_some())
}

/// What `key=value` stands for on this machine.
///
/// # Errors
/// If no setting has such a key, or the value cannot be one of its.
pub fn expand(machine: &Machine, key: &str, value: &str) -> Result<Vec<Change>, Failure> {
    let value = value.trim();
    if key.is_empty() || format!("{key}{value}").chars().any(char::is_control) || key.contains("..") {
        return Err(Failure::misuse(
            format!("{:?} is not a setting", format!("{key}={value}")),
            "write KEY=VALUE, such as net.core.somaxconn=4096",
        ));
    }
    match SETTINGS.iter().find_map(|setting| (setting.expand)(machine, key, value)) {
        Some(Ok(changes)) => Ok(changes),
        Some(Err(why)) => Err(Failure::misuse(
            format!("{key}={value} cannot be set: {why}"),
            "docs/host.md lists the values",
        )),
        None => {
            Err(Failure::misuse(format!("there is no setting {key}"), format!("settings are {}", forms())))
        }
    }
}

/// The changes that make these be made again at every boot, beside what is so already; and the keys that no file can set.
pub fn at_every_boot<'c>(
    machine: &Machine,
    changes: impl IntoIterator<Item = &'c Change>,
) -> (Vec<Change>, Vec<&'c str>) {
    boot::at_every_boot(machine, changes, |key| of(key).and_then(|setting| (setting.file_at_boot)(key)))
}

fn forms() -> String {
    let forms = SETTINGS.iter().map(|setting| setting.keys).filter(|form| !form.starts_with('('));
    forms.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_named_once_and_say_what_they_need() {
        for (i, setting) in SETTINGS.iter().enumerate() {
            assert!(SETTINGS[..i].iter().all(|other| other.name != setting.name), "{}", setting.name);
            assert!(!setting.summary.is_empty() && setting.right.contains("CAP_"), "{}", setting.name);
        }
    }

    #[test]
    fn each_key_has_one_kind() {
        for (key, kind) in [
            ("net.ipv4.tcp_rmem", "sysctl"),
            ("vm.swappiness", "sysctl"),
            ("nic.eth0.rx-ring", "nic"),
            ("nic.eth0.5.combined-queues", "nic"),
            ("nic.eth0.gro-flush-timeout", "queueing"),
            ("nic.eth0.rx-0.rps-cpus", "steering"),
            ("irq.41.cpus", "interrupts"),
            ("nic.eth0.rx-gro", "offloads"),
            ("cpu.3.governor", "cpu"),
            ("cpu.turbo", "cpu"),
            ("thp.enabled", "huge pages"),
            ("block.vda.scheduler", "disks"),
            ("clocksource", "clock source"),
            ("cgroup.pitot-fence.cpus", "fence"),
            ("filesystem.mount", "file system"),
            ("boot.sysctl", "at boot"),
        ] {
            assert_eq!(of(key).map(|s| s.name), Some(kind), "{key}");
        }
        for key in ["", "nothing", "nic", "cpu.x.governor", "net", "../etc/passwd", "irq.x.cpus"] {
            assert!(of(key).is_none(), "{key}");
        }
    }

    #[test]
    fn what_is_no_setting_is_refused_with_the_forms_that_there_are() {
        let machine = Machine::here();
        for (key, value) in [("nothing", "1"), ("", "1"), ("net.a\nb", "1"), ("net.../etc/passwd", "1")] {
            let failure = expand(&machine, key, value).unwrap_err();
            assert!(!failure.what.contains('\n') && failure.exit_code() == 2, "{failure:?}");
        }
    }
}
