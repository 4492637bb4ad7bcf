//! `--metrics`: the figures of a command under way, for Prometheus (docs/dashboards.md).
//!
//! The figures come from the events of the command's display, once a second: nothing is counted twice, and they are those of
//! the result.

mod about;
mod load;
mod name;
mod run;
mod soak;
mod traffic;

use std::net::SocketAddr;

use pitot_results::{Failure, stderr};
use pitot_scrape::Publisher;

pub(crate) use load::LoadMetrics;
pub(crate) use run::RunMetrics;
pub(crate) use soak::SoakMetrics;

/// Listens for scrapes, if they are asked for, and says where.
///
/// # Errors
/// If the address cannot be listened on.
pub(crate) fn listen(address: Option<SocketAddr>) -> Result<Option<Publisher>, Failure> {
    let Some(asked) = address else { return Ok(None) };
    let (address, publisher) = pitot_scrape::listen(asked).map_err(|e| {
        Failure::misuse(
            format!("metrics cannot be served on {asked}: {e}"),
            "give another address of this machine and a free port, or port 0 for any",
        )
    })?;
    stderr::line(format_args!("metrics: http://{address}/metrics"));
    if !address.ip().is_loopback() {
        stderr::line(format_args!(
            "warning: everybody who can reach {address} can read the metrics\n  there is neither encryption nor a password: give \
             127.0.0.1:{} and use a tunnel or a proxy",
            address.port()
        ));
    }
    Ok(Some(publisher))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use pitot_plan::Plan;
    use pitot_record::METRICS;
    use pitot_results::secrets::Secrets;
    use pitot_scrape::Family;

    use super::*;

    fn docs(file: &str) -> String {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file)).unwrap()
    }

    /// The names that begin with `pitot_`.
    fn names(text: &str) -> BTreeSet<String> {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words = text.split(|c| !is_of_name(c)).filter(|word| word.starts_with("pitot_"));
        words.map(str::to_owned).collect()
    }

    /// Of families that there are always, and of those that are made of Pitot's metrics.
    fn told() -> [BTreeSet<String>; 2] {
        let publisher = Publisher::default;
        let mut fixed = LoadMetrics::new(publisher(), "x").families(None, None);
        fixed.extend(SoakMetrics::new(publisher(), Secrets::default(), "x").families());
        // Without its figures, which are those of METRICS.
        let of_run = RunMetrics::new(publisher(), &Plan::default()).families();
        let of_metrics =
            |prefix| METRICS.iter().map(move |metric| name::Named::of(prefix, metric).family.full_name());
        let made: BTreeSet<String> =
            ["pitot_cell", "pitot_server", "pitot_machine"].into_iter().flat_map(of_metrics).collect();
        let of_run = of_run.iter().map(Family::full_name).filter(|name| !made.contains(name));
        (fixed.iter().map(Family::full_name).chain(of_run).collect::<BTreeSet<_>>(), made).into()
    }

    #[test]
    fn the_dashboard_asks_for_what_is_told() {
        let [fixed, made] = told();
        for name in names(&docs("grafana.json")) {
            let family = ["_bucket", "_count", "_sum"].iter().find_map(|ending| name.strip_suffix(ending));
            let is_told = |name: &str| fixed.contains(name) || made.contains(name);
            assert!(is_told(&name) || family.is_some_and(is_told), "{name}");
        }
    }

    #[test]
    fn every_metric_is_documented() {
        let documented = names(&docs("dashboards.md"));
        let [fixed, _] = told();
        let missing: Vec<_> = fixed.difference(&documented).collect();
        assert!(missing.is_empty(), "not in docs/dashboards.md: {missing:?}");
    }
}
