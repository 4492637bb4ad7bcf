//! Which CPUs take an interrupt (Documentation/core-api/irq/irq-affinity.rst).

use std::io;

use super::entry::{Change, Expanded, Setting};
use super::nic::meant;
use super::{file, value};
use crate::machine::Machine;

pub(super) const SETTING: Setting = Setting {
    name: "interrupts",
    keys: "irq.41.cpus (or nic.eth0.irq-cpus)",
    summary: "the CPUs that may take an interrupt, or those of all interrupts of an interface",
    right: "root (CAP_SYS_ADMIN)",
    of_network: false,
    is_exact: |_| true,
    refuses: |_, _, _, _| None,
    owns: |key| number(key).is_some(),
    expand,
    read: |machine, key| {
        let text = file::read(machine, &path(key)?)?;
        value::cpus(&text).map_err(|_| io::ErrorKind::InvalidData.into())
    },
    write: |machine, key, value| file::write(machine, &path(key)?, value),
    may_write: |machine, key| file::may_write(machine, &path(key)?),
    file_at_boot: |_| None,
};

/// The key's last word for an interface.
const OF_INTERFACE: &str = "irq-cpus";

fn number(key: &str) -> Option<u32> {
    key.strip_prefix("irq.")?.strip_suffix(".cpus")?.parse().ok()
}

fn path(key: &str) -> io::Result<String> {
    let number = number(key).ok_or(io::ErrorKind::NotFound)?;
    Ok(format!("/proc/irq/{number}/smp_affinity_list"))
}

/// The interrupts of an interface: those of its device, or of the device below that (virtio).
pub(crate) fn of_interface(machine: &Machine, interface: &str) -> Vec<u32> {
    let device = format!("/sys/class/net/{interface}/device");
    let lists = [format!("{device}/msi_irqs"), format!("{device}/../msi_irqs")];
    let numbers = |list: &String| -> Vec<u32> {
        machine.names(list).iter().filter_map(|name| name.parse().ok()).collect()
    };
    let mut found = lists.iter().map(numbers).find(|numbers| !numbers.is_empty()).unwrap_or_default();
    found.sort_unstable();
    found
}

fn expand(machine: &Machine, key: &str, value: &str) -> Option<Expanded> {
    let is_interface = key.starts_with("nic.") && key.rsplit('.').next() == Some(OF_INTERFACE);
    if !is_interface && number(key).is_none() {
        return None;
    }
    let cpus = match value::cpus(value) {
        Ok(cpus) if cpus != "none" => cpus,
        Ok(_) => return Some(Err("an interrupt needs a CPU".into())),
        Err(why) => return Some(Err(why)),
    };
    if !is_interface {
        return Some(Ok(vec![Change::new(key, cpus)]));
    }
    let interfaces = match meant(machine, key)? {
        Ok((interfaces, _)) => interfaces,
        Err(why) => return Some(Err(why)),
    };
    let irqs: Vec<u32> = interfaces.iter().flat_map(|interface| of_interface(machine, interface)).collect();
    if irqs.is_empty() {
        return Some(Err("the interface has no interrupt of its own".into()));
    }
    Some(Ok(irqs.iter().map(|irq| Change::new(format!("irq.{irq}.cpus"), cpus.clone())).collect()))
}
