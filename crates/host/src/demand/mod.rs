//! What a machine must be set to before a plan with the key `needs` is run on it.
//!
//! A rule is data: what is looked at, what is wanted, why (with its source), and how to mend it. It judges facts that were
//! collected before ([`Facts`]) by what is demanded ([`Demand`]), so that every rule is a pure function. Nothing is
//! changed here: a rule only says what to change.

mod asked;
mod connections;
mod facts;
mod rule;
mod subject;

use pitot_results::Failure;

pub use asked::Demand;
pub use facts::Facts;
pub use rule::{Rule, Unit};
pub use subject::{SUBJECTS, Subject};

/// All rules, in the order in which lists show them: what is found wanting first is named first.
pub static RULES: &[Rule] = connections::RULES;

/// What a rule says of a machine.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// What is set; `None` if that cannot be seen here.
    pub found: Option<u64>,
    /// What is wanted, at least.
    pub wanted: u64,
    /// How to mend it: one command or sentence.
    pub mend: String,
}

impl Finding {
    /// Whether it stands in the way. What cannot be seen does not.
    pub fn is_unmet(&self) -> bool {
        self.found.is_some_and(|found| found < self.wanted)
    }

    /// One line: what is set and what is wanted.
    pub fn sentence(&self) -> String {
        let show = |figure| self.rule.unit.show(figure);
        match self.found {
            None => format!("{} is not known, and {} wanted", self.rule.name, show(self.wanted)),
            Some(found) => format!("{} is {}, and {} wanted", self.rule.name, show(found), show(self.wanted)),
        }
    }
}

/// What the rules of a subject say. A rule that does not matter for the demand says nothing.
pub fn findings(subject: Subject, facts: &Facts, demand: &Demand) -> Vec<Finding> {
    let of_rule = |rule: &'static Rule| {
        let wanted = (rule.wanted)(facts, demand);
        (wanted > 0).then(|| Finding {
            rule,
            found: (rule.found)(facts, demand),
            wanted,
            mend: (rule.mend)(facts, wanted),
        })
    };
    RULES.iter().filter(|rule| rule.subject == subject).filter_map(of_rule).collect()
}

/// The findings of several demands, of each rule the one that wants most.
pub fn strictest(all: impl IntoIterator<Item = Finding>) -> Vec<Finding> {
    let mut kept: Vec<Finding> = Vec::new();
    for finding in all {
        match kept.iter_mut().find(|other| std::ptr::eq(other.rule, finding.rule)) {
            Some(other) if short_of(other) < short_of(&finding) => *other = finding,
            Some(_) => {}
            None => kept.push(finding),
        }
    }
    kept
}

/// How much is missing, or by how much less than nothing.
fn short_of(finding: &Finding) -> i128 {
    i128::from(finding.wanted) - i128::from(finding.found.unwrap_or(finding.wanted))
}

/// The failure of a run of which some rules are not met: all of what to mend, in one line.
pub fn refusal(findings: &[Finding]) -> Option<Failure> {
    let unmet: Vec<&Finding> = findings.iter().filter(|finding| finding.is_unmet()).collect();
    if unmet.is_empty() {
        return None;
    }
    let join = |of: fn(&Finding) -> String| unmet.iter().map(|f| of(f)).collect::<Vec<_>>().join("; ");
    Some(Failure::misuse(
        format!("this machine is not set up for the plan: {}", join(Finding::sentence)),
        format!("{} (--dry-run shows every rule, and why)", join(|finding| finding.mend.clone())),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_named_once_and_says_why_and_where_that_is_written() {
        for (i, rule) in RULES.iter().enumerate() {
            assert!(RULES[..i].iter().all(|other| other.name != rule.name), "{} stands twice", rule.name);
            assert!(!rule.source.is_empty() && rule.why.ends_with('.'), "{}", rule.name);
            let mend = (rule.mend)(&Facts::default(), 1);
            assert!(
                !mend.is_empty() && !mend.contains('\n') && !mend.ends_with('.'),
                "{}: {mend}",
                rule.name
            );
        }
        for (index, (_, subject)) in SUBJECTS.iter().enumerate() {
            assert_eq!(*subject as usize, index);
        }
    }

    #[test]
    fn of_several_demands_the_one_that_is_missed_by_most_is_kept() {
        let finding = |wanted, found| Finding { rule: &RULES[0], found, wanted, mend: String::new() };
        let kept = strictest([finding(10, Some(20)), finding(30, Some(20)), finding(5, None)]);
        assert_eq!((kept.len(), kept[0].wanted), (1, 30));
    }
}
