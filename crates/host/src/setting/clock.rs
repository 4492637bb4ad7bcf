//! The clock source: what the kernel reads the time from.

use std::path::PathBuf;

use super::entry::{Change, Setting};
use super::file;
use crate::machine::Machine;

pub(super) const SETTING: Setting = Setting {
    name: "clock source",
    keys: "clocksource",
    summary: "what the kernel reads the time from",
    right: "root (CAP_SYS_ADMIN)",
    of_network: false,
    is_exact: |_| true,
    refuses: |_, _, _, _| None,
    owns: |key| key == KEY,
    expand: |_, key, value| (key == KEY).then(|| Ok(vec![Change::new(key, value)])),
    read: |machine, _| file::read(&path(machine)),
    write: |machine, _, value| file::write(&path(machine), value),
    may_write: |machine, _| file::may_write(&path(machine)),
};

const KEY: &str = "clocksource";

fn path(machine: &Machine) -> PathBuf {
    machine.path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
}
