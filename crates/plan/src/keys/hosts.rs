//! The table `hosts` of a plan, and the host of each side.

use std::net::{IpAddr, Ipv4Addr};

use crate::hosts::Host;
use crate::source::{Item, PlanError};

use super::key::{Key, Kind, Presence, apply};
use super::known::Known;

/// What a table of `hosts` is read into.
pub(crate) struct Description {
    agent: Vec<String>,
    address: String,
    cpus: String,
}

/// Keys of a table in `hosts`.
pub(crate) static HOST: &[Key<Description>] = &[
    Key {
        name: "agent",
        kind: Kind::Command(|d, argv| d.agent = argv),
        presence: Presence::Required(
            "add the command that starts its agent: agent = [\"ssh\", \"b\", \"pitot\", \"agent\"]",
        ),
        doc: "The command that starts `pitot agent` there and connects its stdin and stdout: \
              `[\"ssh\", \"b\", \"pitot\", \"agent\"]`.",
    },
    Key {
        name: "address",
        kind: Kind::Text(|d, text| d.address = text),
        presence: Presence::Required("add its address in the measured network: address = \"10.0.0.1\""),
        doc: "Its address in the measured network, on which servers listen.",
    },
    Key {
        name: "cpus",
        kind: Kind::Cpus(|d, list| d.cpus = list),
        presence: Presence::Required("add the CPUs of its server or load: cpus = \"0-3\""),
        doc: "The CPUs of the server or the load generator there; `server-cpus` and `load-cpus` override it.",
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
            let what = format!("`{}` is not an IP address", read.address);
            return Err(item.error(what, "write \"10.0.0.1\", for example"));
        }
        (Err(_), None) => Ipv4Addr::LOCALHOST.into(),
    };
    Ok(Host { name: item.key.clone(), agent: read.agent, address, cpus: read.cpus })
}

/// The host that `server` names, if it names one.
pub(super) fn of_side(known: &Known<'_>, item: &Item<'_>) -> Result<Option<String>, PlanError> {
    let Some(host) = item.section(format!("`{}`", item.key))?.get("host") else { return Ok(None) };
    named(known, &host).map(Some)
}

/// The hosts that `load` names: one as `host`, or several as `hosts`.
pub(super) fn of_load(
    known: &Known<'_>,
    item: &Item<'_>,
    server: Option<&str>,
) -> Result<Vec<String>, PlanError> {
    let section = item.section("`load`")?;
    let Some(list) = section.get("hosts") else { return Ok(of_side(known, item)?.into_iter().collect()) };
    if section.get("host").is_some() {
        let what = "both `host` and `hosts` say where the load is";
        return Err(list.key_error(what, "remove one of the two"));
    }
    let names = list.list()?.iter().map(|host| named(known, host)).collect::<Result<Vec<String>, _>>()?;
    let wrong = |what: String, fix: &str| Err(list.error(what, fix));
    match &names[..] {
        [] => return wrong("the load is on no host".into(), "name at least one: hosts = [\"b\", \"c\"]"),
        [_] => return Ok(names),
        _ => {}
    }
    if let Some((_, twice)) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        return wrong(format!("the host `{twice}` is named twice"), "name each host once");
    }
    if let Some(both) = names.iter().find(|name| Some(name.as_str()) == server) {
        let what = format!("`{both}` is the server's host and one of several load hosts");
        return wrong(what, "remove it from `hosts`, or put the whole load there: host = \"...\"");
    }
    if let Some(program) = section.get("program") {
        let what = "only `pitot load` can run on several hosts, and `program` is another";
        return Err(program.error(what, "name one host: host = \"...\""));
    }
    Ok(names)
}

/// The name of a host that the plan has.
fn named(known: &Known<'_>, host: &Item<'_>) -> Result<String, PlanError> {
    let name = host.text()?;
    if known.hosts.contains(&name) {
        return Ok(name);
    }
    let names: Vec<&str> = known.hosts.iter().map(String::as_str).collect();
    Err(host.unknown_value("a host of the plan's [hosts]", &names))
}

#[cfg(test)]
mod tests {
    use crate::tests::catalog;
    use crate::{Plan, PlanError};

    /// A plan with three hosts, the server on `a`, and these keys of the load.
    fn plan(load: &str) -> Result<Plan, PlanError> {
        let host =
            |name: &str| format!("[hosts.{name}]\nagent = [\"x\"]\naddress = \"10.0.0.1\"\ncpus = \"0\"\n");
        let hosts: String = ["a", "b", "c"].map(host).concat();
        let text = format!(
            "{hosts}[server]\nprotocol = \"http\"\nhost = \"a\"\n[load]\n{load}\n[factors]\nserver = [\"loop\"]\n"
        );
        Plan::parse("p.toml", &text, &catalog())
    }

    #[test]
    fn the_load_is_on_one_host_or_on_several() {
        for (load, names) in
            [("", vec![]), ("host = \"b\"", vec!["b"]), ("hosts = [\"b\", \"c\"]", vec!["b", "c"])]
        {
            let plan = plan(load).unwrap();
            assert_eq!(plan.load_hosts, names);
            let text = serde_json::to_string(&plan).unwrap();
            assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
        }
        assert!(plan("host = \"a\"").unwrap().is_on_one_host());
    }

    #[test]
    fn what_several_hosts_cannot_do_is_refused() {
        for (load, what) in [
            ("hosts = [\"b\", \"d\"]", "`d` is not a host of the plan"),
            ("hosts = [\"b\", \"b\"]", "named twice"),
            ("hosts = []", "on no host"),
            ("hosts = [\"a\", \"b\"]", "is the server's host"),
            ("host = \"b\"\nhosts = [\"c\"]", "both `host` and `hosts`"),
            ("hosts = [\"b\", \"c\"]\nprogram = \"floor\"", "only `pitot load`"),
            ("hosts = [\"b\", \"c\"]\n[helpers.x]\nprotocol = \"http\"", "helpers run beside the load"),
        ] {
            let error = plan(load).map(|_| ()).unwrap_err();
            assert!(error.to_string().contains(what) && !error.fix.is_empty(), "{load}: {error}");
        }
    }
}
