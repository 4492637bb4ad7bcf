//! What two cells have to show in one figure, and how it goes together.

/// The repetitions of two cells in one figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Samples {
    /// Candidate and baseline of the same block, which ran under the same conditions.
    Paired(Vec<(f64, f64)>),
    /// Repetitions that have nothing in common: candidate, baseline.
    Independent(Vec<f64>, Vec<f64>),
    /// The log ratio of candidate to baseline in each generation of a sliced measurement, as
    /// [`generation_log_ratio`](crate::generation_log_ratio) gives it.
    Generations(Vec<f64>),
    /// The same, in the order of the generations, of a run that looked at them after each and stopped when it had seen
    /// enough, as `--until-decided` does.
    UntilDecided(Vec<f64>),
    /// The same of a run that ended because its time was over.
    TimeOver(Vec<f64>),
}

/// What the two sides have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairing {
    None,
    Block,
    Generation,
    /// Generations that were looked at after each.
    Watched,
    /// The same, to the end of the time.
    WatchedToTheEnd,
}

impl Pairing {
    /// Whether generations were looked at after each.
    pub(crate) fn is_watched(self) -> bool {
        matches!(self, Pairing::Watched | Pairing::WatchedToTheEnd)
    }
}

/// The logarithms of candidate (`a`) and baseline (`b`). Of generations only the ratios are known: the logarithm of
/// their baseline is zero.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Logarithms {
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
    pub(crate) pairing: Pairing,
}

impl Samples {
    /// Pairs the figures that have the same block; those without a partner are left out.
    pub fn by_block(candidate: &[(u32, f64)], baseline: &[(u32, f64)]) -> Samples {
        let partner = |block| baseline.iter().find(|(b, _)| *b == block).map(|(_, value)| *value);
        Samples::Paired(
            candidate.iter().filter_map(|&(block, value)| Some((value, partner(block)?))).collect(),
        )
    }

    /// The logarithms of candidate and baseline; `None` if either has none. What is not positive has no ratio and is
    /// left out, with its partner.
    pub(crate) fn logarithms(&self) -> Option<Logarithms> {
        let usable = |v: f64| v > 0.0 && v.is_finite();
        let logarithms =
            |values: &[f64]| -> Vec<f64> { values.iter().filter(|v| usable(**v)).map(|v| v.ln()).collect() };
        let generations = |ratios: &[f64], pairing| {
            let ratios: Vec<f64> = ratios.iter().copied().filter(|r| r.is_finite()).collect();
            let baseline = vec![0.0; ratios.len()];
            (ratios, baseline, pairing)
        };
        let (a, b, pairing) = match self {
            Samples::Paired(pairs) => {
                let usable = pairs.iter().filter(|(a, b)| usable(*a) && usable(*b));
                let (a, b) = usable.map(|(a, b)| (a.ln(), b.ln())).unzip();
                (a, b, Pairing::Block)
            }
            Samples::Independent(a, b) => (logarithms(a), logarithms(b), Pairing::None),
            Samples::Generations(ratios) => generations(ratios, Pairing::Generation),
            Samples::UntilDecided(ratios) => generations(ratios, Pairing::Watched),
            Samples::TimeOver(ratios) => generations(ratios, Pairing::WatchedToTheEnd),
        };
        (!a.is_empty() && !b.is_empty()).then_some(Logarithms { a, b, pairing })
    }
}
