//! The clock source: what the kernel reads the time from.

use super::entry::{Change, Setting};
use super::file;
use super::value::not_among;

pub(super) const SETTING: Setting = Setting {
    name: "clock source",
    keys: "clocksource",
    summary: "what the kernel reads the time from",
    right: "root (CAP_SYS_ADMIN)",
    of_network: false,
    is_exact: |_| true,
    refuses: |machine, _, _, value| {
        let sources = machine.read(&format!("{DIRECTORY}/available_clocksource"))?;
        not_among(&sources.split_whitespace().collect::<Vec<_>>(), value)
    },
    owns: |key| key == KEY,
    expand: |_, key, value| (key == KEY).then(|| Ok(vec![Change::new(key, value)])),
    read: |machine, _| file::read(machine, PATH),
    write: |machine, _, value| file::write(machine, PATH, value),
    may_write: |machine, _| file::may_write(machine, PATH),
    file_at_boot: |_| Some(PATH.to_owned()),
};

const KEY: &str = "clocksource";

const DIRECTORY: &str = "/sys/devices/system/clocksource/clocksource0";

const PATH: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
