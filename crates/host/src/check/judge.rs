//! What many rules have in common: a figure that is to be large, or small, or exactly so.

use super::rule::{Fix, Verdict};
use crate::facts::Facts;

/// What cannot be seen.
pub(super) fn unknown(why: impl Into<String>) -> Verdict {
    Verdict::Unknown { why: why.into() }
}

/// What there is not.
pub(super) fn absent(why: impl Into<String>) -> Verdict {
    Verdict::Absent { why: why.into() }
}

/// What is as it should be.
pub(super) fn fine(found: impl ToString) -> Verdict {
    Verdict::Fine { found: found.to_string() }
}

/// What is wrong, and which settings fix it.
pub(super) fn wrong(found: impl ToString, wanted: impl ToString, settings: &[(&str, &str)]) -> Verdict {
    let by_hand = settings.iter().map(|(key, value)| command(key, value)).collect::<Vec<_>>().join("; ");
    let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Verdict::Wrong { found: found.to_string(), wanted: wanted.to_string(), fix: Fix { settings, by_hand } }
}

/// One setting that fixes something.
pub(super) fn fix_by(key: &str, value: &str) -> Fix {
    Fix { settings: vec![(key.to_owned(), value.to_owned())], by_hand: command(key, value) }
}

/// What is wrong, and what a person can do.
pub(super) fn wrong_by_hand(found: impl ToString, wanted: impl ToString, hand: impl Into<String>) -> Verdict {
    let fix = Fix { settings: Vec::new(), by_hand: hand.into() };
    Verdict::Wrong { found: found.to_string(), wanted: wanted.to_string(), fix }
}

/// The command for a setting without Pitot.
fn command(key: &str, value: &str) -> String {
    let top = key.split('.').next().unwrap_or_default();
    if ["net", "vm", "kernel", "fs"].contains(&top) {
        format!("sysctl -w {key}='{value}'")
    } else {
        format!("pitot host apply '{key}={value}'")
    }
}

fn not_shown(key: &str) -> Verdict {
    unknown(format!("this kernel does not show {key} here"))
}

/// A kernel parameter that is one figure, and at least so much.
pub(super) fn at_least(facts: &Facts, key: &str, least: u64) -> Verdict {
    match facts.number(key) {
        None => not_shown(key),
        Some(found) if found >= least => fine(found),
        Some(found) => wrong(found, format!("at least {least}"), &[(key, &least.to_string())]),
    }
}

/// A kernel parameter that is one figure, and at most so much.
pub(super) fn at_most(facts: &Facts, key: &str, most: u64) -> Verdict {
    match facts.number(key) {
        None => not_shown(key),
        Some(found) if found <= most => fine(found),
        Some(found) => wrong(found, format!("at most {most}"), &[(key, &most.to_string())]),
    }
}

/// A setting that is one of some words, of which the first is the best.
pub(super) fn one_of(facts: &Facts, key: &str, words: &[&str]) -> Verdict {
    match facts.word(key) {
        None => not_shown(key),
        Some(found) if words.contains(&found) => fine(found),
        Some(found) => wrong(found, words.join(" or "), &[(key, words[0])]),
    }
}

/// A kernel parameter of several figures, each at least so much.
pub(super) fn each_at_least(facts: &Facts, key: &str, least: &[u64]) -> Verdict {
    let Some(found) = facts.numbers(key).filter(|found| found.len() == least.len()) else {
        return not_shown(key);
    };
    let show = |figures: &[u64]| figures.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    if found.iter().zip(least).all(|(found, least)| found >= least) {
        return fine(show(&found));
    }
    let value: Vec<u64> = found.iter().zip(least).map(|(found, least)| *found.max(least)).collect();
    wrong(show(&found), format!("at least {}", show(least)), &[(key, &show(&value))])
}

/// What a rule says of each of several things, such as disks, whose names are a fact: the worst, with all of those.
pub(super) fn each<'a>(
    facts: &'a Facts,
    list: &str,
    none: &str,
    judge: impl Fn(&'a str) -> Verdict,
) -> Verdict {
    if facts.word(list).is_none() {
        return unknown("/sys does not list them");
    }
    let names = facts.list(list);
    if names.is_empty() {
        return absent(none);
    }
    let all: Vec<(&str, Verdict)> = names.iter().map(|name| (*name, judge(name))).collect();
    let worst = all.iter().map(|(_, verdict)| rank(verdict)).max().unwrap_or(0);
    let mut alike = all.into_iter().filter(|(_, verdict)| rank(verdict) == worst);
    let (name, first) = alike.next().expect("there is a worst");
    alike.fold(named(name, first), |kept, (name, other)| join(kept, named(name, other)))
}

const fn rank(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Absent { .. } => 0,
        Verdict::Fine { .. } => 1,
        Verdict::Unknown { .. } => 2,
        Verdict::Consider { .. } => 3,
        Verdict::Wrong { .. } => 4,
    }
}

fn named(name: &str, mut verdict: Verdict) -> Verdict {
    match &mut verdict {
        Verdict::Fine { found } | Verdict::Wrong { found, .. } | Verdict::Consider { found, .. } => {
            *found = format!("{name}: {found}");
        }
        Verdict::Unknown { why } | Verdict::Absent { why } => *why = format!("{name}: {why}"),
    }
    verdict
}

/// Two verdicts of the same kind.
fn join(mut kept: Verdict, other: Verdict) -> Verdict {
    match (&mut kept, other) {
        (Verdict::Fine { found }, Verdict::Fine { found: more }) => *found += &format!("; {more}"),
        (Verdict::Unknown { why }, Verdict::Unknown { why: more })
        | (Verdict::Absent { why }, Verdict::Absent { why: more }) => *why += &format!("; {more}"),
        (
            Verdict::Wrong { found, fix, .. } | Verdict::Consider { found, fix, .. },
            Verdict::Wrong { found: more, fix: further, .. }
            | Verdict::Consider { found: more, fix: further, .. },
        ) => {
            *found += &format!("; {more}");
            fix.settings.extend(further.settings);
            if fix.by_hand != further.by_hand {
                fix.by_hand += &format!("; {}", further.by_hand);
            }
        }
        _ => {}
    }
    kept
}
