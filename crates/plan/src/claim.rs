//! Claims of published experiments, and the rules by which a run decides whether they hold.

use serde::{Deserialize, Serialize};

use super::levels::Levels;

/// A claim of a publication.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Claim {
    /// Its number: `E1.3`.
    pub id: String,
    /// Who made it, and when: `Lyris Technologies, 2001`.
    pub source: String,
    /// What it says; a sentence without its full stop.
    pub text: String,
    /// The metric of the figure.
    pub metric: String,
    /// The cells that it is about; none if no run can decide it.
    pub of: Option<Levels>,
    /// If set, the figure is the ratio to the cells with these levels, and otherwise the same.
    pub to: Option<Levels>,
    /// If set, that ratio is divided by the one at these levels.
    pub than: Option<Levels>,
    /// If set, the figure is the highest among the levels of this factor relative to the lowest.
    pub over: Option<String>,
    /// The figure is the difference to `to`, and not the ratio.
    pub is_difference: bool,
    /// The claim holds if the whole interval of the figure lies in here.
    pub holds: Bounds,
    /// The opposite of the claim is true if the whole interval lies in here; none for everywhere outside of `holds`.
    pub reversed: Option<Bounds>,
    /// The published figure.
    pub published: Option<f64>,
    /// What explains it if the claim does not hold, or why no run can decide it.
    pub because: String,
}

/// Figures from `low` up to `high`; by default all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// The lower end, if there is one.
    pub low: Option<f64>,
    /// The upper end, if there is one.
    pub high: Option<f64>,
}

impl Bounds {
    /// Reads `above 1`, `below 0.5` and `from 0.9 to 1.1`.
    pub fn read(text: &str) -> Option<Bounds> {
        let number = |word: &str| word.parse::<f64>().ok().filter(|number| number.is_finite());
        match text.split_whitespace().collect::<Vec<_>>()[..] {
            ["above", low] => Some(Bounds { low: Some(number(low)?), high: None }),
            ["below", high] => Some(Bounds { low: None, high: Some(number(high)?) }),
            ["from", low, "to", high] => {
                let (low, high) = (number(low)?, number(high)?);
                (low < high).then_some(Bounds { low: Some(low), high: Some(high) })
            }
            _ => None,
        }
    }

    /// As it is written: `above 1`.
    pub fn words(&self) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("from {low} to {high}"),
            (Some(low), None) => format!("above {low}"),
            (None, Some(high)) => format!("below {high}"),
            (None, None) => String::new(),
        }
    }

    /// Whether all figures from `low` to `high` lie within.
    pub fn include(&self, (low, high): (f64, f64)) -> bool {
        self.low.is_none_or(|least| low >= least) && self.high.is_none_or(|most| high <= most)
    }

    /// Whether no figure from `low` to `high` lies within.
    pub fn exclude(&self, (low, high): (f64, f64)) -> bool {
        self.low.is_some_and(|least| high < least) || self.high.is_some_and(|most| low > most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_and_an_interval_may_lie_in_neither() {
        for text in ["above 1", "below -0.5", "from 0.9 to 1.1"] {
            assert_eq!(Bounds::read(text).unwrap().words(), text);
        }
        let above = Bounds::read("above 1").unwrap();
        assert!(above.include((1.0, 2.0)) && above.exclude((0.2, 0.9)));
        assert!(!above.include((0.9, 1.1)) && !above.exclude((0.9, 1.1)));
        let between = Bounds::read("from 0.9 to 1.1").unwrap();
        assert!(between.include((0.95, 1.05)) && between.exclude((1.2, 1.3)) && !between.exclude((1.0, 2.0)));
        assert!(Bounds::read("below -3").unwrap().include((-9.0, -4.0)));
        for wrong in
            ["", "1", "above", "above x", "from 2 to 1", "from 1 to", "below inf", "above NaN", "at least 1"]
        {
            assert_eq!(Bounds::read(wrong), None, "{wrong}");
        }
    }
}
