//! Which queueing disciplines the kernel can be given as its default. It tells only when it is written to, so that its
//! configuration is asked.

use crate::kernel_config;
use crate::machine::Machine;

/// What to set.
pub(super) const KEY: &str = "net.core.default_qdisc";

/// Those that rules want, with the option and the module of each.
const WANTED: [(&str, &str, &str); 3] = [
    ("fq_codel", "NET_SCH_FQ_CODEL", "sch_fq_codel"),
    ("fq", "NET_SCH_FQ", "sch_fq"),
    ("cake", "NET_SCH_CAKE", "sch_cake"),
];

/// Those of the wanted that the kernel has, or `none`. Nothing where nobody knows.
pub(crate) fn known(machine: &Machine) -> Option<Vec<&'static str>> {
    let mut known = Vec::new();
    for (name, option, module) in WANTED {
        if kernel_config::has(machine, option, module)? {
            known.push(name);
        }
    }
    Some(if known.is_empty() { vec!["none"] } else { known })
}

/// Why the kernel cannot have a discipline as its default, as far as that is known.
pub(super) fn refuses(machine: &Machine, name: &str) -> Option<String> {
    let is_wanted = WANTED.iter().any(|(wanted, ..)| *wanted == name);
    let is_lacking = is_wanted && known(machine).is_some_and(|known| !known.contains(&name));
    is_lacking.then(|| format!("this kernel has no {name}"))
}
