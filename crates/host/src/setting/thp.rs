//! Transparent huge pages (Documentation/admin-guide/mm/transhuge.rst).

use std::io;

use super::entry::{Change, Setting};
use super::file;

pub(super) const SETTING: Setting = Setting {
    name: "huge pages",
    keys: "thp.enabled",
    summary: "transparent huge pages: enabled, defrag and shmem_enabled",
    right: "root (CAP_SYS_ADMIN)",
    of_network: false,
    is_exact: |_| true,
    refuses: |machine, key, _, value| file::no_choice(machine, &path(key).ok()?, value),
    owns,
    expand: |_, key, value| owns(key).then(|| Ok(vec![Change::new(key, value)])),
    read: |machine, key| file::choice(machine, &path(key)?),
    write: |machine, key, value| file::write(machine, &path(key)?, value),
    may_write: |machine, key| file::may_write(machine, &path(key)?),
    file_at_boot: |key| path(key).ok(),
};

const FILES: &[&str] = &["enabled", "defrag", "shmem_enabled"];

fn owns(key: &str) -> bool {
    key.strip_prefix("thp.").is_some_and(|file| FILES.contains(&file))
}

fn path(key: &str) -> io::Result<String> {
    let file = key.strip_prefix("thp.").ok_or(io::ErrorKind::NotFound)?;
    Ok(format!("/sys/kernel/mm/transparent_hugepage/{file}"))
}
