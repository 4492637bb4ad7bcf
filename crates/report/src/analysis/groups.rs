//! Servers by how they serve their connections: event loops, and those with a process or a thread for each.

use super::cell::Cell;
use pitot_plan::SERVER_FACTOR;
use pitot_record::CellRecord;

/// Models that serve each connection by a process or a thread of its own.
const OF_ITS_OWN: [&str; 4] = ["fork", "prefork", "spawn", "thread"];

/// Event loops, and servers with a process or a thread for each connection, of one load level.
#[derive(Debug)]
pub(crate) struct Groups<'a, 'r> {
    pub(crate) loops: Vec<&'a Cell<'r>>,
    pub(crate) of_its_own: Vec<&'a Cell<'r>>,
}

/// The groups among the cells of one load level; none if one of them is a single server or empty.
pub(crate) fn groups<'a, 'r>(cells: impl Iterator<Item = &'a Cell<'r>>) -> Option<Groups<'a, 'r>> {
    let cells: Vec<_> = cells.collect();
    let loops: Vec<_> = cells.iter().copied().filter(|c| model(c.record) == Some("loop")).collect();
    let of_its_own: Vec<_> =
        cells.into_iter().filter(|c| model(c.record).is_some_and(|m| OF_ITS_OWN.contains(&m))).collect();
    let is_order = loops.len() > 1 && of_its_own.len() > 1;
    is_order.then_some(Groups { loops, of_its_own })
}

/// The model in a server's name: `loop` of `loop+epoll-et`.
fn model(record: &CellRecord) -> Option<&str> {
    let level = record.level(SERVER_FACTOR).or_else(|| record.level("server.model"))?;
    level.level.split('+').next()
}
