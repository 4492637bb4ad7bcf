//! How the kernel was configured: to count CPU time, and with which modules.

use std::fs;
use std::io::Read;

use flate2::read::GzDecoder;

use crate::machine::Machine;

/// Options that decide what the CPU time of a process means: with the first, a guest takes steal time out of it; with the
/// second, the time of interrupts.
const OPTIONS: [&str; 2] = ["PARAVIRT_TIME_ACCOUNTING", "IRQ_TIME_ACCOUNTING"];

/// Each of the options with `yes`, `no`, or `unknown` where this user cannot read how the kernel was configured.
pub(crate) fn cpu_time_options(machine: &Machine) -> [(&'static str, &'static str); 2] {
    let config = config(machine);
    OPTIONS.map(|option| (option, value(config.as_deref(), option)))
}

/// Whether the kernel has what an option builds, in itself or as this module, which it loads when it is asked for. `None`
/// where this user cannot read how the kernel was configured.
pub(crate) fn has(machine: &Machine, option: &str, module: &str) -> Option<bool> {
    let config = config(machine)?;
    if value(Some(&config), option) == "yes" || machine.path(&format!("/sys/module/{module}")).exists() {
        return Some(true);
    }
    let release = machine.read("/proc/sys/kernel/osrelease")?;
    let modules = machine.read(&format!("/lib/modules/{release}/modules.dep")).unwrap_or_default();
    let is_it = |line: &str| {
        let path = line.split(':').next().unwrap_or_default();
        let file = path.rsplit('/').next().unwrap_or_default();
        file.strip_prefix(module).is_some_and(|rest| rest.starts_with(".ko"))
    };
    Some(modules.lines().any(is_it))
}

/// The configuration of the running kernel, from wherever a distribution leaves it.
fn config(machine: &Machine) -> Option<String> {
    if let Ok(packed) = fs::read(machine.path("/proc/config.gz"))
        && let Some(text) = unpacked(&packed)
    {
        return Some(text);
    }
    let release = machine.read("/proc/sys/kernel/osrelease")?;
    let candidates = [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
    candidates.iter().find_map(|path| machine.read(path))
}

fn unpacked(packed: &[u8]) -> Option<String> {
    let mut text = String::new();
    GzDecoder::new(packed).read_to_string(&mut text).ok().map(|_| text)
}

/// What `config` says of an option. An option that it does not name is one that the kernel does not offer here: not set.
fn value(config: Option<&str>, option: &str) -> &'static str {
    let Some(config) = config else { return "unknown" };
    let is_set = |line: &str| {
        line.strip_prefix("CONFIG_").and_then(|rest| rest.strip_prefix(option)).is_some_and(|v| v == "=y")
    };
    if config.lines().any(is_set) { "yes" } else { "no" }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn an_option_is_set_or_not_or_nobody_knows() {
        let config = "# CONFIG_IRQ_TIME_ACCOUNTING is not set\nCONFIG_HAVE_IRQ_TIME_ACCOUNTING=y\n\
                      CONFIG_PARAVIRT_TIME_ACCOUNTING=y\n";
        assert_eq!(value(Some(config), "PARAVIRT_TIME_ACCOUNTING"), "yes");
        assert_eq!(value(Some(config), "IRQ_TIME_ACCOUNTING"), "no");
        assert_eq!(value(Some(config), "PARAVIRT_TIME"), "no");
        assert_eq!(value(None, "IRQ_TIME_ACCOUNTING"), "unknown");
    }

    #[test]
    fn a_packed_configuration_is_read_and_a_damaged_one_is_not() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(b"CONFIG_IRQ_TIME_ACCOUNTING=y\n").unwrap();
        let packed = encoder.finish().unwrap();
        assert_eq!(unpacked(&packed).as_deref(), Some("CONFIG_IRQ_TIME_ACCOUNTING=y\n"));
        assert_eq!(unpacked(&packed[..packed.len() / 2]), None);
    }
}
