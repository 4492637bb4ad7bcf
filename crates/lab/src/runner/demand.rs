//! What a cell needs of the machine.

use pitot_host::Demand;

use pitot_plan::Catalog;
use pitot_plan::{Cell, CellServer};

/// Hosts of a source where the load names none.
const ONE_SOURCE: u64 = 1;

/// What a cell needs, as far as its options say.
pub(super) fn demand(cell: &Cell, catalog: &Catalog) -> Demand {
    let (server_processes, server_uses_uring) = match &cell.server {
        CellServer::Pitot { options, .. } => {
            let word = |name: &str| options.get(name).map(ToString::to_string);
            let one = word("model").and_then(|m| catalog.model(&m).map(|word| word.one_process));
            let workers = word("workers").and_then(|n| n.parse().ok()).filter(|_| one != Some(true));
            (Some(workers.unwrap_or(1)), word("mechanism").as_deref() == Some("uring"))
        }
        CellServer::External(_) | CellServer::None => (None, false),
    };
    let of_load = |name: &str| cell.load.get(name).map(ToString::to_string);
    Demand {
        connections: cell.connections(),
        server_processes,
        sources: of_load("source").map_or(ONE_SOURCE, |range| addresses(&range)),
        server_uses_uring,
        load_uses_uring: of_load("engine").as_deref() == Some("uring"),
    }
}

/// How many addresses for hosts a range such as `127.0.0.0/24` has.
fn addresses(range: &str) -> u64 {
    let bits = range.split_once('/').and_then(|(_, bits)| bits.parse::<u32>().ok());
    let all = 1u64 << (32 - bits.unwrap_or(32).min(32));
    if all > 2 { all - 2 } else { all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_its_addresses_for_hosts() {
        for (range, count) in
            [("127.0.0.0/24", 254), ("127.0.0.0/28", 14), ("10.0.0.1", 1), ("10.0.0.0/31", 2)]
        {
            assert_eq!(addresses(range), count, "{range}");
        }
    }
}
