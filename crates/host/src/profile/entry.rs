/// Settings that belong together.
#[derive(Debug)]
pub struct Profile {
    /// What `--profile` takes.
    pub name: &'static str,
    /// What it is for, in one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it sets. What a machine does not have is left out, and named.
    pub settings: &'static [ProfileSetting],
    /// What the source set that no longer exists.
    pub gone: &'static [Gone],
}

/// One setting of a profile.
#[derive(Debug)]
pub struct ProfileSetting {
    /// The key, which may stand for several.
    pub key: &'static str,
    /// The value.
    pub value: &'static str,
    /// Why.
    pub why: &'static str,
}

/// A setting that no longer exists.
#[derive(Debug)]
pub struct Gone {
    /// As the source wrote it.
    pub what: &'static str,
    /// What there is in its place.
    pub instead: &'static str,
}

/// One setting.
pub(super) const fn set(key: &'static str, value: &'static str, why: &'static str) -> ProfileSetting {
    ProfileSetting { key, value, why }
}
