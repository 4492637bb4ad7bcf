//! Which CPUs handle the packets of a queue: RPS, RFS and XPS (Documentation/networking/scaling.rst).

use std::io;

use super::entry::{Change, Expanded, Setting};
use super::nic::parts;
use super::{file, value};
use crate::machine::Machine;

pub(super) const SETTING: Setting = Setting {
    name: "steering",
    keys: "nic.eth0.rps-cpus (or nic.eth0.rx-0.rps-cpus)",
    summary: "rps-cpus, rps-flows and xps-cpus: the CPUs that handle what a queue receives and sends",
    right: "root (CAP_NET_ADMIN)",
    of_network: true,
    // A table of flows has a power of two of entries.
    is_exact: is_list,
    refuses: |_, _, _, _| None,
    owns: |key| place(key).is_some(),
    expand,
    read: |machine, key| {
        let text = file::read(machine, &path(key)?)?;
        if is_list(key) {
            value::list_of_mask(&text).ok_or(io::ErrorKind::InvalidData.into())
        } else {
            Ok(text)
        }
    },
    write: |machine, key, value| {
        let text = if is_list(key) { value::mask_of_list(value) } else { Some(value.to_owned()) };
        file::write(machine, &path(key)?, &text.ok_or(io::ErrorKind::InvalidInput)?)
    },
    may_write: |machine, key| file::may_write(machine, &path(key)?),
    file_at_boot: |key| path(key).ok(),
};

/// Words of keys, with the files of a queue and what the names of such queues begin with.
const FILES: &[(&str, &str, &str)] =
    &[("rps-cpus", "rps_cpus", "rx-"), ("rps-flows", "rps_flow_cnt", "rx-"), ("xps-cpus", "xps_cpus", "tx-")];

fn is_list(key: &str) -> bool {
    key.ends_with("-cpus")
}

/// Interface, queue and file of a concrete key.
fn place(key: &str) -> Option<(&str, &str, &'static str)> {
    let (rest, word) = parts(key)?;
    let (_, file, prefix) = FILES.iter().find(|(name, _, _)| *name == word)?;
    let (interface, queue) = rest.rsplit_once('.')?;
    let number = queue.strip_prefix(prefix)?;
    number.parse::<u32>().is_ok().then_some((interface, queue, *file))
}

fn path(key: &str) -> io::Result<String> {
    let (interface, queue, file) = place(key).ok_or(io::ErrorKind::NotFound)?;
    Ok(format!("/sys/class/net/{interface}/queues/{queue}/{file}"))
}

fn expand(machine: &Machine, key: &str, value: &str) -> Option<Expanded> {
    let word = key.strip_prefix("nic.")?.rsplit('.').next()?;
    let (_, _, prefix) = FILES.iter().find(|(name, _, _)| *name == word)?;
    let value = match if is_list(key) { value::cpus(value) } else { value::count(value) } {
        Ok(value) => value,
        Err(why) => return Some(Err(why)),
    };
    if place(key).is_some() {
        return Some(Ok(vec![Change::new(key, value)]));
    }
    let interfaces = match super::nic::meant(machine, key)? {
        Ok((interfaces, _)) => interfaces,
        Err(why) => return Some(Err(why)),
    };
    let mut changes = Vec::new();
    for interface in interfaces {
        let queues = machine.names(&format!("/sys/class/net/{interface}/queues"));
        let queues = queues.iter().filter(|queue| queue.starts_with(prefix));
        changes.extend(
            queues.map(|queue| Change::new(format!("nic.{interface}.{queue}.{word}"), value.clone())),
        );
    }
    Some(if changes.is_empty() { Err("the interface has no such queue".into()) } else { Ok(changes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_queues_of_an_interface_are_steered_at_once() {
        let dir = tempfile::tempdir().unwrap();
        for queue in ["rx-0", "rx-1", "tx-0"] {
            let queue = dir.path().join("sys/class/net/x.5/queues").join(queue);
            std::fs::create_dir_all(&queue).unwrap();
            std::fs::write(queue.join("rps_cpus"), "00000000,00000000\n").unwrap();
        }
        let machine = Machine::at(dir.path());
        let changes = expand(&machine, "nic.x.5.rps-cpus", "0-1").unwrap().unwrap();
        let keys: Vec<_> = changes.iter().map(|c| c.key.as_str()).collect();
        assert_eq!(keys, ["nic.x.5.rx-0.rps-cpus", "nic.x.5.rx-1.rps-cpus"]);
        assert_eq!(SETTING.read(&machine, keys[0]).unwrap(), "none");
        SETTING.write(&machine, keys[0], "0-1,33").unwrap();
        let file = dir.path().join("sys/class/net/x.5/queues/rx-0/rps_cpus");
        assert_eq!(std::fs::read_to_string(file).unwrap(), "00000002,00000003\n");
        assert_eq!(SETTING.read(&machine, keys[0]).unwrap(), "0-1,33");
        assert!(expand(&machine, "nic.none.rps-cpus", "0").unwrap().is_err());
        assert!(expand(&machine, "nic.x.5.rps-cpus", "all").unwrap().is_err());
    }
}
