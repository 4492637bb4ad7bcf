//! Histograms as text, in the encoding that reports use too; a module for serde's `with`.

use pitot_meter::Histogram;
use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

pub fn serialize<S: Serializer>(histogram: &Histogram, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&histogram.encode())
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Histogram, D::Error> {
    Histogram::decode(&String::deserialize(from)?).map_err(D::Error::custom)
}
