//! What `pitot host check` offers to mend is what `pitot host apply` takes: both ask here.

use pitot_results::Failure;

use crate::check::{Judgement, Mend, Rule, Use, check};
use crate::facts::Facts;
use crate::journal::{Wanted, check_for_root};
use crate::machine::Machine;
use crate::setting;

/// The changes of a mend on this machine, which a user with every right can make; none if there is nothing to set.
///
/// # Errors
/// What stands against them: a file that is mounted read-only, a value that the kernel does not have.
pub fn changes(machine: &Machine, rule: &Rule, mend: &Mend) -> Result<Vec<Wanted>, Failure> {
    let mut wanted = Vec::new();
    for (key, value) in &mend.settings {
        let changes = setting::expand(machine, key, value)?;
        let by = format!("rule {}", rule.name);
        wanted.extend(changes.into_iter().map(|change| Wanted { change, by: by.clone(), is_required: true }));
    }
    check_for_root(machine, &wanted)?;
    Ok(wanted)
}

/// What the rules for a use say of this machine. Settings that cannot be made here are not offered: what stands against
/// them is in their place.
pub fn judgements(machine: &Machine, facts: &Facts, wanted: Option<Use>) -> Vec<Judgement> {
    let mut all = check(facts, wanted);
    for Judgement { rule, verdict } in &mut all {
        let Some(mend) = verdict.mend_mut().filter(|mend| !mend.settings.is_empty()) else { continue };
        if let Err(Failure { what, cure, .. }) = changes(machine, rule, mend) {
            *mend = Mend { settings: Vec::new(), by_hand: format!("{what}; {cure}") };
        }
    }
    all
}
