//! What `pitot host apply` is asked for: rules, settings and profiles, as changes.

use pitot_host::Machine;
use pitot_host::journal::Wanted;
use pitot_host::profile::{PROFILES, Profile};
use pitot_host::setting;
use pitot_results::Failure;

use crate::failure::nearest;

/// A profile by its name.
pub(super) fn profile(name: &str) -> Result<&'static Profile, Failure> {
    pitot_host::profile::profile(name).ok_or_else(|| {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        Failure::misuse(
            format!("no profile is called {name}{}", nearest(name, names.iter().copied())),
            format!("there are {}", names.join(", ")),
        )
    })
}

/// The changes of a profile, and what of it cannot be expanded here, with its reason.
pub(super) fn of_profile(machine: &Machine, profile: &Profile) -> (Vec<Wanted>, Vec<(String, String)>) {
    let mut wanted = Vec::new();
    let mut skipped = Vec::new();
    for set in profile.settings {
        match setting::expand(machine, set.key, set.value) {
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

/// The changes of `KEY=VALUE`.
pub(super) fn of_setting(machine: &Machine, key: &str, value: &str) -> Result<Vec<Wanted>, Failure> {
    let changes = setting::expand(machine, key, value)?;
    let by = "a user".to_owned();
    Ok(changes.into_iter().map(|change| Wanted { change, by: by.clone(), is_required: true }).collect())
}
