//! The combinations of models and mechanisms.

use pitot_sys::Unavailable;

use crate::mechanism::{MECHANISMS, Mechanism};
use crate::model::{MODELS, Model};

/// A model with a mechanism.
#[derive(Debug)]
pub struct Pair {
    /// The model.
    pub model: &'static Model,
    /// The mechanism.
    pub mechanism: &'static Mechanism,
    /// Why the model does not support the mechanism, if it does not.
    pub impossible: Option<&'static str>,
    /// Why the running kernel does not support the mechanism, if it does not.
    pub unavailable: Option<Unavailable>,
}

impl Pair {
    /// True if it can be used here.
    pub fn is_usable(&self) -> bool {
        self.impossible.is_none() && self.unavailable.is_none()
    }
}

/// All pairs, supported or not.
pub fn pairs() -> Vec<Pair> {
    let probes: Vec<_> = MECHANISMS.iter().map(|&mechanism| (mechanism, (mechanism.probe)().err())).collect();
    let of_model = |&model: &&'static Model| {
        let pair = |(mechanism, unavailable): &(&'static Mechanism, Option<Unavailable>)| Pair {
            model,
            mechanism,
            impossible: (model.pairs_with)(mechanism).err(),
            unavailable: unavailable.clone(),
        };
        probes.iter().map(pair).collect::<Vec<_>>()
    };
    MODELS.iter().flat_map(of_model).collect()
}

/// The default mechanism of a model: the supported one with the highest rank.
pub fn default_mechanism(model: &Model) -> Option<&'static Mechanism> {
    let fitting = MECHANISMS.iter().copied().filter(|mechanism| (model.pairs_with)(mechanism).is_ok());
    fitting.max_by_key(|mechanism| mechanism.default_rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_named_once_documented_and_part_of_a_pair() {
        let all = pairs();
        assert_eq!(all.len(), MODELS.len() * MECHANISMS.len());
        for (i, m) in MODELS.iter().enumerate() {
            assert!(MODELS[..i].iter().all(|other| other.name != m.name), "{} stands twice", m.name);
            assert!(
                m.doc.len() > m.summary.len() && !m.summary.is_empty() && !m.workers.is_empty(),
                "{}",
                m.name
            );
            assert!(all.iter().any(|p| p.model.name == m.name && p.impossible.is_none()), "{}", m.name);
            assert!((m.workers_default)(1) >= 1, "{}", m.name);
        }
        for (i, m) in MECHANISMS.iter().enumerate() {
            assert!(MECHANISMS[..i].iter().all(|other| other.name != m.name), "{} stands twice", m.name);
            assert!(m.doc.len() > m.summary.len() && !m.summary.is_empty(), "{}", m.name);
            assert!(all.iter().any(|p| p.mechanism.name == m.name && p.impossible.is_none()), "{}", m.name);
        }
    }
}
