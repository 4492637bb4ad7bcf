//! How values of programs that are not this version are read.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A word of a closed list, or `None` if a newer program says one that is not known here.
pub(crate) fn known_word<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).ok())
}

/// A whole number of nanoseconds. Other programs may print fractions; they are rounded.
pub(crate) fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Number {
        Whole(u64),
        Fraction(f64),
    }
    Ok(match Number::deserialize(from)? {
        Number::Whole(n) => n,
        Number::Fraction(n) => n.round() as u64,
    })
}
