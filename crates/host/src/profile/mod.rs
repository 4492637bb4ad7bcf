//! Settings that belong together, by name.

mod cache;
mod entry;
mod java;
mod load_generator;
mod memcached_2009;
mod postgresql;
mod proxy;
mod web;

pub use entry::{Gone, Profile, ProfileSetting};

/// All profiles, by name.
pub static PROFILES: &[Profile] = &[
    cache::PROFILE,
    java::PROFILE,
    load_generator::PROFILE,
    memcached_2009::PROFILE,
    postgresql::PROFILE,
    proxy::PROFILE,
    web::PROFILE,
];

/// The profile of that name.
pub fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::setting;

    #[test]
    fn profiles_are_in_order_and_each_setting_has_a_kind_and_a_reason() {
        assert!(PROFILES.is_sorted_by_key(|profile| profile.name));
        for profile in PROFILES {
            for set in profile.settings {
                // A machine without a NIC has none to set, which is another matter than a key that nobody knows.
                let known = match setting::expand(&Machine::here(), set.key, set.value) {
                    Ok(changes) => changes.iter().all(|change| setting::of(&change.key).is_some()),
                    Err(failure) => failure.what.contains("cannot be set"),
                };
                assert!(known && set.why.ends_with('.'), "{}: {}", profile.name, set.key);
            }
            assert!(
                !profile.source.is_empty() && profile.gone.iter().all(|gone| gone.instead.ends_with('.'))
            );
        }
    }
}
