//! Hosts that a plan names, and which side is on which.

use std::net::{IpAddr, Ipv4Addr};

use crate::plan::hosts::Host;
use crate::plan::source::{Item, PlanError};

use super::key::{Key, Kind, Presence, apply};
use super::known::Known;

/// What a table of `hosts` is read into.
pub(in crate::plan) struct Description {
    agent: Vec<String>,
    address: String,
    cpus: String,
}

/// In a table of `hosts`.
pub(in crate::plan) static HOST: &[Key<Description>] = &[
    Key {
        name: "agent",
        kind: Kind::Command(|d, argv| d.agent = argv),
        presence: Presence::Required(
            "say how its agent is started: agent = [\"ssh\", \"b\", \"pitot\", \"agent\"]",
        ),
        doc: "The command that starts `pitot agent` there, with its standard input and output: \
              `[\"ssh\", \"b\", \"pitot\", \"agent\"]`.",
    },
    Key {
        name: "address",
        kind: Kind::Text(|d, text| d.address = text),
        presence: Presence::Required(
            "give its address in the network that is measured: address = \"10.0.0.1\"",
        ),
        doc: "Its address in the network that is measured: servers listen there.",
    },
    Key {
        name: "cpus",
        kind: Kind::Cpus(|d, list| d.cpus = list),
        presence: Presence::Required("name the CPUs of what is started there: cpus = \"0-3\""),
        doc: "The CPUs of the server or of the load generator there; `server-cpus` and `load-cpus` go before it.",
    },
];

/// Reads the hosts.
pub(super) fn hosts(known: &mut Known<'_>, item: &Item<'_>) -> Result<Vec<Host>, PlanError> {
    item.section("`hosts`")?.items().iter().map(|one| host(known, one)).collect()
}

fn host(known: &mut Known<'_>, item: &Item<'_>) -> Result<Host, PlanError> {
    let section = item.section(format!("`hosts.{}`", item.key))?;
    section.check_keys(HOST.iter().map(|key| key.name))?;
    let mut read = Description { agent: Vec::new(), address: String::new(), cpus: String::new() };
    apply(HOST, known, &section, &mut read)?;
    let address: IpAddr = match (read.address.parse(), section.get("address")) {
        (Ok(address), _) => address,
        (Err(_), Some(item)) => {
            let what = format!("`{}` is no IP address", read.address);
            return Err(item.error(what, "write \"10.0.0.1\", for example"));
        }
        (Err(_), None) => Ipv4Addr::LOCALHOST.into(),
    };
    Ok(Host { name: item.key.clone(), agent: read.agent, address, cpus: read.cpus })
}

/// The host that `server` or `load` names, if it names one.
pub(super) fn of_side(known: &Known<'_>, item: &Item<'_>) -> Result<Option<String>, PlanError> {
    let Some(host) = item.section(format!("`{}`", item.key))?.get("host") else { return Ok(None) };
    let name = host.text()?;
    if !known.hosts.contains(&name) {
        let names: Vec<&str> = known.hosts.iter().map(String::as_str).collect();
        return Err(host.unknown_value("a host of the plan, which [hosts] describes", &names));
    }
    Ok(Some(name))
}
