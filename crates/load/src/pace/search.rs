use super::entry::{Pace, PaceEntry, Uses};
use super::rate_search::Search;
use crate::condition::Condition;

pub(super) const ENTRY: PaceEntry = PaceEntry {
    name: "search",
    summary: "finds the highest constant rate that meets conditions (--search 'p99 < 5ms')",
    doc: "Runs at constant rates, each for the whole duration: doubling from -R (1000 a second if none is given) until \
          the conditions fail, then halving the gap between the highest rate that met them and the lowest that did \
          not, until the two are within 5%. A rate fails if it fails twice, so that one disturbance decides nothing. \
          A rate of which more than 1% cannot be sent, or fails with an error, fails in any case.",
    uses: Uses { rate: true, think: false, stages: false, search: true },
    random: false,
    implied: |options| options.search.is_some(),
    build: |options| {
        let text =
            options.search.as_deref().ok_or("the pace `search` needs --search 'p99 < 5ms' or the like")?;
        let mut conditions = Condition::parse_all(text).map_err(|e| e.to_string())?;
        if !conditions.iter().any(Condition::limits_errors) {
            conditions.push(Condition::parse("errors <= 1%").map_err(|e| e.to_string())?);
        }
        match options.rate.unwrap_or(1000.0) {
            from if from > 0.0 => Ok(Pace::Search(Search { conditions, from })),
            _ => Err("the rate must be above 0".into()),
        }
    },
};
