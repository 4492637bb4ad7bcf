//! What `pitot host check` offers to fix is what `pitot host apply` takes: both ask here.

use pitot_results::Failure;

use crate::check::{Fix, Judgement, Rule, Use, check};
use crate::facts::Facts;
use crate::journal::{Wanted, check_for_root};
use crate::machine::Machine;
use crate::setting;

/// The changes of a fix on this machine, which a user with every right can make; none if there is nothing to set.
///
/// # Errors
/// What stands against them: a file that is mounted read-only, a value that the kernel does not have.
pub fn changes(machine: &Machine, rule: &Rule, fix: &Fix) -> Result<Vec<Wanted>, Failure> {
    let mut wanted = Vec::new();
    for (key, value) in &fix.settings {
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
        let Some(offered) = verdict.fix_mut().filter(|fix| !fix.settings.is_empty()) else { continue };
        if let Err(Failure { what, fix, .. }) = changes(machine, rule, offered) {
            *offered = Fix { settings: Vec::new(), by_hand: format!("{what}; {fix}") };
        }
    }
    all
}
