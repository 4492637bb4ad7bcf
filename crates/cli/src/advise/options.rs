//! The options of `pitot advise`.

use std::path::PathBuf;

use clap::Args;
use pitot_meter::{Nanos, units};

use crate::formats::TextOrJson;

/// Recommend a server architecture for a load, and measure the likely candidates.
///
/// Only the candidates that could be best for the description are run, on a load made from it: with its idle connections, its CPU work
/// and its files on the disk. The best of them are then run at other loads, to see where the order changes. Every run is a file for
/// `pitot report` and `pitot compare`. Exits with 1 if a candidate could not be measured.
#[derive(Debug, Args)]
pub(crate) struct Advise {
    /// The protocol: http, blob, busy or memcache.
    #[arg(long, value_name = "PROTOCOL", default_value = "http")]
    pub(super) protocol: String,
    /// Connections open at once, including idle ones.
    #[arg(short, long, value_name = "N", value_parser = units::count)]
    pub(super) connections: u64,
    /// How many of them have requests in flight, as a number or a share: 500, 5%. The others are idle.
    #[arg(long, value_name = "N|SHARE", value_parser = active, default_value = "100%")]
    pub(super) active: Active,
    /// Size of a reply.
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "1KiB")]
    pub(super) size: u64,
    /// CPU time of the application for each request.
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "0s")]
    pub(super) cpu_work: Nanos,
    /// Close each connection after N requests. [default: connections stay open]
    #[arg(long, value_name = "N", value_parser = units::count)]
    pub(super) requests_per_connection: Option<u64>,
    /// The replies are files of this total size. If they do not fit into memory, they are read from the disk.
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub(super) files: Option<u64>,
    /// Memory of the machine that will serve the files. [default: that of this machine]
    #[arg(long, value_name = "SIZE", value_parser = units::size, requires = "files")]
    pub(super) memory: Option<u64>,
    /// A fault in one connection must not affect the others: recommend processes.
    #[arg(long)]
    pub(super) isolation: bool,
    /// Time for all runs.
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "4m")]
    pub(super) within: Nanos,
    /// Show the candidates and the plan, and run nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// The run file to create; files of other loads are named after it. [default: advice-TIME.pitot in this directory]
    #[arg(short, long, value_name = "FILE.pitot")]
    pub(super) output: Option<PathBuf>,
    /// The output format.
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: TextOrJson,
}

/// How many connections are active.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Active {
    Number(u64),
    Share(f64),
}

/// `500` or `5%`.
fn active(text: &str) -> Result<Active, String> {
    let Some(percent) = text.strip_suffix('%') else {
        return units::count(text).map(Active::Number).map_err(|e| e.to_string());
    };
    match percent.trim().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(Active::Share(percent / 100.0)),
        _ => Err("not a share of the connections, such as 5%".into()),
    }
}

impl Active {
    pub(super) fn of(self, connections: u64) -> u64 {
        match self {
            Active::Number(number) => number,
            Active::Share(share) => ((connections as f64 * share).round() as u64).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_connections_are_a_number_or_a_share() {
        assert_eq!(active("5%").map(|active| active.of(10_000)), Ok(500));
        assert_eq!(active("0.001%").map(|active| active.of(100)), Ok(1));
        assert_eq!(active("2k").map(|active| active.of(10_000)), Ok(2000));
        for bad in ["0%", "101%", "x%", "-5%", "many"] {
            assert!(active(bad).is_err(), "{bad}");
        }
    }
}
