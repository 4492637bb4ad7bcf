//! What a machine must be set to before a plan with the key `needs` is run on it: rules as those of `pitot host check`, which look
//! at what the cells of the plan ask for as well. What cannot be seen stands in nobody's way.

mod connections;
mod figure;
mod subject;

use pitot_results::Failure;

use super::rule::{Judgement, Rule, Verdict};
use crate::facts::{Demand, Facts};

pub use subject::{SUBJECTS, Subject};

/// The rules of a subject, in the order in which they are shown: what is found wanting first is named first.
pub fn rules_for(subject: Subject) -> &'static [Rule] {
    match subject {
        Subject::Connections => connections::RULES,
    }
}

/// What the rules of a subject say of a machine for several demands. A rule that does not matter for any of them says nothing.
pub fn needs(subject: Subject, mut facts: Facts, demands: Vec<Demand>) -> Vec<Judgement> {
    facts.asked = demands;
    let judged = rules_for(subject).iter().map(|rule| Judgement { rule, verdict: rule.judge(&facts) });
    judged.filter(|judgement| !matches!(judgement.verdict, Verdict::Absent { .. })).collect()
}

impl Judgement {
    /// One line on a figure that is needed: what is set and what is wanted.
    pub fn sentence(&self) -> String {
        let name = self.rule.looks_at;
        match &self.verdict {
            Verdict::Fine { found } => format!("{name} is {found}"),
            Verdict::Wrong { found, wanted, .. } | Verdict::Consider { found, wanted, .. } => {
                format!("{name} is {found}, and {wanted} wanted")
            }
            Verdict::Unknown { why } | Verdict::Absent { why } => format!("{name} is {why}"),
        }
    }
}

/// The failure of a run with unmet needs: all fixes in one line.
pub fn refusal(needs: &[Judgement]) -> Option<Failure> {
    let unmet: Vec<&Judgement> = needs.iter().filter(|judgement| judgement.is_wrong()).collect();
    if unmet.is_empty() {
        return None;
    }
    let sentences: Vec<String> = unmet.iter().map(|judgement| judgement.sentence()).collect();
    let fixes: Vec<&str> =
        unmet.iter().filter_map(|judgement| Some(&*judgement.verdict.fix()?.by_hand)).collect();
    Some(Failure::misuse(
        format!("this machine is not set up for the plan: {}", sentences.join("; ")),
        format!("{} (--dry-run shows every rule with its reason)", fixes.join("; ")),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_stand_in_the_order_of_their_numbers() {
        for (index, (_, subject)) in SUBJECTS.iter().enumerate() {
            assert_eq!(*subject as usize, index);
        }
    }
}
