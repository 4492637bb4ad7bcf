//! Servers in two groups: event loops, and those with a process or thread per connection.

use super::cell::Cell;
use pitot_plan::SERVER_FACTOR;
use pitot_record::CellRecord;

/// Models with a process or thread per connection.
const PER_CONNECTION: [&str; 4] = ["fork", "prefork", "spawn", "thread"];

pub(crate) struct Groups<'a, 'r> {
    pub(crate) loops: Vec<&'a Cell<'r>>,
    pub(crate) per_connection: Vec<&'a Cell<'r>>,
}

/// The groups among the cells of one load level; none if a group has less than two servers.
pub(crate) fn groups<'a, 'r>(cells: impl Iterator<Item = &'a Cell<'r>>) -> Option<Groups<'a, 'r>> {
    let cells: Vec<_> = cells.collect();
    let loops: Vec<_> = cells.iter().copied().filter(|c| model(c.record) == Some("loop")).collect();
    let per_connection: Vec<_> =
        cells.into_iter().filter(|c| model(c.record).is_some_and(|m| PER_CONNECTION.contains(&m))).collect();
    let is_order = loops.len() > 1 && per_connection.len() > 1;
    is_order.then_some(Groups { loops, per_connection })
}

/// The model in a server's name: `loop` of `loop+epoll-et`.
fn model(record: &CellRecord) -> Option<&str> {
    let level = record.level(SERVER_FACTOR).or_else(|| record.level("server.model"))?;
    level.level.split('+').next()
}
