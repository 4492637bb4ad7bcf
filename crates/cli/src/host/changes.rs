//! What `pitot host apply` is asked for: rules, settings and profiles, as changes.

use pitot_host::check::{self, Verdict};
use pitot_host::journal::Wanted;
use pitot_host::profile::{PROFILES, Profile};
use pitot_host::{Facts, Machine, offer, setting};
use pitot_results::Failure;

use crate::failure::hint;

/// A profile by its name.
pub(super) fn profile(name: &str) -> Result<&'static Profile, Failure> {
    pitot_host::profile::profile(name).ok_or_else(|| {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        Failure::misuse(
            format!("there is no profile {name}{}", hint(name, names.iter().copied())),
            format!("profiles are {}", names.join(", ")),
        )
    })
}

/// The changes of a profile, and what of it cannot be expanded here, with its reason.
pub(super) fn of_profile(machine: &Machine, profile: &Profile) -> (Vec<Wanted>, Vec<(String, String)>) {
    let mut wanted = Vec::new();
    let mut skipped = Vec::new();
    for set in profile.settings {
        match setting::expand(machine, set.key, &set.value_on(machine)) {
            Ok(changes) => wanted.extend(changes.into_iter().map(|change| Wanted {
                change,
                by: format!("profile {}", profile.name),
                is_required: false,
            })),
            Err(failure) => {
                let what = failure.what;
                let why = what.split_once("cannot be set: ").map_or(what.as_str(), |(_, why)| why);
                skipped.push((format!("{}={}", set.key, set.value), why.to_owned()));
            }
        }
    }
    (wanted, skipped)
}

/// The changes that fix what a rule finds wrong here; none, and a note, if it is fine.
pub(super) fn of_rule(
    machine: &Machine,
    facts: &Facts,
    name: &str,
) -> Result<(Vec<Wanted>, Option<String>), Failure> {
    let rule = check::rule(name).ok_or_else(|| {
        if let Some(profile) = pitot_host::profile::profile(name) {
            return Failure::misuse(
                format!("{name} is a profile, not a rule or KEY=VALUE"),
                format!("pitot host apply --profile {}", profile.name),
            );
        }
        let near = hint(name, check::rules().map(|rule| rule.name));
        Failure::misuse(
            format!("{name} is neither a rule nor KEY=VALUE{near}"),
            "`pitot host check --all` shows the rules; settings are written as net.core.somaxconn=4096",
        )
    })?;
    let fix = match rule.judge(facts) {
        Verdict::Fine { found } => return Ok((Vec::new(), Some(format!("{name} is fine: {found}")))),
        Verdict::Wrong { fix, .. } | Verdict::Consider { fix, .. } => fix,
        Verdict::Unknown { why } | Verdict::Absent { why } => {
            return Err(Failure::misuse(
                format!("the rule {name} does not apply here: {why}"),
                "see `pitot host check`",
            ));
        }
    };
    if fix.settings.is_empty() {
        return Err(Failure::misuse(format!("Pitot cannot set what the rule {name} wants"), fix.by_hand));
    }
    let refused = |failure: Failure| Failure {
        what: format!("the rule {name} cannot be applied: {}", failure.what),
        ..failure
    };
    offer::changes(machine, rule, &fix).map(|wanted| (wanted, None)).map_err(refused)
}

/// The changes of `KEY=VALUE`.
pub(super) fn of_setting(machine: &Machine, key: &str, value: &str) -> Result<Vec<Wanted>, Failure> {
    let changes = setting::expand(machine, key, value).map_err(|failure| match check::rule(key) {
        // What is typed by habit.
        Some(rule) if !setting::is_setting(machine, key, value) => Failure::misuse(
            format!("{key} is a rule, which takes no value: it is about {}", rule.looks_at),
            format!(
                "pitot host apply {key} applies the rule; a setting is written as net.core.somaxconn=4096"
            ),
        ),
        _ => failure,
    })?;
    let by = "a user".to_owned();
    Ok(changes.into_iter().map(|change| Wanted { change, by: by.clone(), is_required: true }).collect())
}
