//! The settings that a search tries: what is wanted, what was found, and what cannot be tried here.

use pitot_host::Machine;
use pitot_host::journal::{self, Wanted};
use pitot_host::setting::{self, same};
use pitot_results::Failure;
use pitot_study::tune::WantedSetting;
use serde::Serialize;

/// A setting that a search tries.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// As its user wrote it.
    pub(super) key: String,
    /// What is wanted.
    pub(super) wanted: String,
    /// What was found; in words, if the key stands for several settings.
    pub(super) found: String,
    /// The concrete keys that it stands for, with what was found of each.
    pub(super) values: Vec<(String, String)>,
}

/// A setting that is not tried.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LeftOut {
    /// As its user wrote it.
    pub(super) setting: String,
    /// Why: a clause.
    pub(super) why: String,
}

/// Looks at this machine for what is wanted. What a profile wants and this machine does not have is left out; what a user
/// has named must be there.
///
/// # Errors
/// If a right is missing, or a setting that a user has named does not exist.
pub(super) fn candidates(
    machine: &Machine,
    settings: &[WantedSetting],
    is_profile: bool,
) -> Result<(Vec<Candidate>, Vec<LeftOut>), Failure> {
    let (mut candidates, mut left_out) = (Vec::new(), Vec::new());
    for WantedSetting { key, value } in settings {
        let mut leave_out = |why: String| left_out.push(LeftOut { setting: format!("{key}={value}"), why });
        let changes = match setting::expand(machine, key, value) {
            Ok(changes) => changes,
            Err(failure) if is_profile => {
                let what = failure.what;
                leave_out(
                    what.split_once("cannot be set: ").map_or(what.as_str(), |(_, why)| why).to_owned(),
                );
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let changes: Vec<Wanted> = changes
            .into_iter()
            .map(|change| Wanted { change, by: "tune search".into(), is_required: true })
            .collect();
        match journal::check(machine, &changes) {
            Err(failure) if is_profile => {
                leave_out(failure.what);
                continue;
            }
            checked => checked?,
        }
        let read = |want: &Wanted| setting::of(&want.change.key)?.read(machine, &want.change.key).ok();
        let values: Vec<(&Wanted, String)> =
            changes.iter().filter_map(|want| Some((want, read(want)?))).collect();
        let other = |(want, value): &&(&Wanted, String)| !same(value, &want.change.value);
        let found: Vec<&str> = values.iter().filter(other).map(|(_, value)| value.as_str()).collect();
        match found.as_slice() {
            [] => leave_out("it has this value already".into()),
            all => candidates.push(Candidate {
                key: key.clone(),
                wanted: value.clone(),
                found: match all {
                    [found] => found.split_whitespace().collect::<Vec<_>>().join(" "),
                    _ => format!("{} settings as found", all.len()),
                },
                values: values.iter().map(|(want, value)| (want.change.key.clone(), value.clone())).collect(),
            }),
        }
    }
    Ok((candidates, left_out))
}

/// What is no more as it was found, in sentences: another program has changed it since, and it was left alone.
pub(super) fn not_as_found(machine: &Machine, values: &[(String, String)]) -> Vec<String> {
    let sentence = |(key, found): &(String, String)| {
        let now = match setting::of(key)?.read(machine, key) {
            Ok(now) if same(&now, found) => return None,
            Ok(now) => now,
            Err(e) => format!("not to be read ({e})"),
        };
        Some(format!("{key} is {now}, and was {found}"))
    };
    values.iter().filter_map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_so_already_or_unknown_is_left_out_with_its_reason() {
        let machine = Machine::here();
        let now = setting::of("net.core.somaxconn").unwrap().read(&machine, "net.core.somaxconn").unwrap();
        let wanted = |key: &str, value: &str| WantedSetting { key: key.into(), value: value.into() };
        let (tried, left_out) = candidates(&machine, &[wanted("net.core.somaxconn", &now)], false).unwrap();
        assert!(tried.is_empty() && left_out[0].why.contains("already"), "{left_out:?}");
        let values = |value: &str| [("net.core.somaxconn".to_owned(), value.to_owned())];
        assert!(not_as_found(&machine, &values(&now)).is_empty());
        assert_eq!(not_as_found(&machine, &values("1 2")).len(), 1);
        let unknown = [wanted("nothing.at.all", "1")];
        assert_eq!(candidates(&machine, &unknown, false).unwrap_err().exit_code(), 2);
        assert_eq!(candidates(&machine, &unknown, true).unwrap().1.len(), 1);
    }
}
