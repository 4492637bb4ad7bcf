use super::entry::{Pace, PaceEntry, Uses};
use super::rate_search::Search;
use crate::condition::Condition;

pub(super) const ENTRY: PaceEntry = PaceEntry {
    name: "search",
    summary: "finds the highest constant rate that meets conditions (--search 'p99 < 5ms')",
    doc: "Runs at constant rates, each for the whole duration: the rate doubles from -R (1000 per second by default) until \
          the conditions fail, then the gap between the highest rate that met them and the lowest that did not is \
          halved until the two are within 5%. A rate fails only if it fails twice, so that one disturbance decides \
          nothing. A rate at which more than 1% of the requests cannot be sent, or fail with an error, fails in any \
          case.",
    uses: Uses { rate: true, think: false, stages: false, search: true, recorded: false },
    random: false,
    implied: |options| options.search.is_some(),
    build: |options| {
        let text =
            options.search.as_deref().ok_or("the pace `search` needs --search 'p99 < 5ms' or the like")?;
        let mut conditions = Condition::parse_all(text).map_err(|e| e.to_string())?;
        if let Some(condition) = conditions.iter().find(|c| c.wants_more_of_a_cost()) {
            return Err(format!(
                "`{condition}` is not a condition to search by, because it is met by a slow or failing server: write `<` or `<=`"
            ));
        }
        if !conditions.iter().any(Condition::limits_errors) {
            conditions.push(Condition::parse("errors <= 1%").map_err(|e| e.to_string())?);
        }
        match options.rate.unwrap_or(1000.0) {
            from if from > 0.0 => Ok(Pace::Search(Search { conditions, from })),
            _ => Err("the rate must be above 0".into()),
        }
    },
};
