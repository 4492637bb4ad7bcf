//! Several machines side by side: the facts in which they differ.

use super::fingerprint::Fingerprint;

/// A fact that is not the same on all of several machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its group.
    pub group: String,
    /// Its name.
    pub name: String,
    /// Its value on each of them; none where it is not there.
    pub values: Vec<Option<String>>,
}

/// The facts in which machines differ, in the order of the first that has them. What says which machine or login it is, or belongs
/// to one of its network interfaces by name, is left out: it differs between any two.
pub fn side_by_side(machines: &[&Fingerprint]) -> Vec<Difference> {
    let mut rows: Vec<Difference> = Vec::new();
    for fact in machines.iter().flat_map(|machine| &machine.facts) {
        let is_known = rows.iter().any(|row| row.group == fact.group && row.name == fact.name);
        if !is_known && !is_of_one_machine(&fact.group, &fact.name) {
            let value = |machine: &&Fingerprint| machine.get(&fact.group, &fact.name).map(str::to_owned);
            let values = machines.iter().map(value).collect();
            rows.push(Difference { group: fact.group.clone(), name: fact.name.clone(), values });
        }
    }
    rows.retain(|row| row.values.iter().any(|value| *value != row.values[0]));
    rows
}

/// A digest of the facts that [`side_by_side`] looks at: machines have the same if they differ in none.
pub fn digest(machine: &Fingerprint) -> String {
    let compared = machine.facts.iter().filter(|fact| !is_of_one_machine(&fact.group, &fact.name));
    let mut lines: Vec<String> =
        compared.map(|fact| format!("{} {} {}\n", fact.group, fact.name, fact.value)).collect();
    // In which order a machine tells them is no difference.
    lines.sort();
    // FNV-1a: the same in every version, unlike those of the standard library.
    let mix = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3);
    let hash = lines.concat().bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    format!("{hash:016x}")
}

fn is_of_one_machine(group: &str, name: &str) -> bool {
    let interface =
        [".conf.", ".neigh."].iter().find_map(|table| name.split_once(table)).map(|(_, rest)| rest);
    group == "network"
        // The control group is that of a login.
        || ["host name", "kernel command line", "control group"].contains(&name)
        || interface.is_some_and(|rest| !rest.starts_with("all.") && !rest.starts_with("default."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown_and_nothing_that_must() {
        let machine = |governor: &str, name: &str, more: Option<&str>| {
            let mut print = Fingerprint::default();
            print.push("cpu", "governor", governor);
            print.push("cpu", "model", "x");
            print.push("kernel", "host name", name);
            print.push("network", name, "up");
            print.push("sysctl", format!("net.ipv4.conf.{name}.forwarding"), "1");
            print.push("sysctl", "net.ipv4.conf.all.forwarding", governor);
            more.into_iter().for_each(|more| print.push("kernel", "patch", more));
            print
        };
        let (a, b, c) = (machine("on", "a", None), machine("on", "b", Some("p")), machine("off", "c", None));
        let rows = side_by_side(&[&a, &b, &c]);
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["governor", "net.ipv4.conf.all.forwarding", "patch"]);
        assert_eq!(rows[0].values, ["on", "on", "off"].map(|v| Some(v.to_owned())));
        assert_eq!(rows[2].values, [None, Some("p".to_owned()), None]);
        assert!(side_by_side(&[&a]).is_empty() && side_by_side(&[]).is_empty());
        assert!(digest(&a) != digest(&b) && digest(&a) == digest(&machine("on", "d", None)));
        let mut turned = machine("on", "e", None);
        turned.facts.reverse();
        assert_eq!(digest(&a), digest(&turned));
    }
}
