//! The queue of orders: a task that completes placed orders, each in a separate transaction.
//!
//! The queue is the table: an order that was not completed when the server died is found at the next start. The signal in memory
//! is only a hint that there is work.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::action::{Action, Outcome, What};
use crate::stats::{COMPLETE, POLL, Stats};
use crate::store::{Store, now_ms};

/// Orders that are read from the table at once.
const BATCH: i64 = 256;
/// The interval between two checks of the table when no order was placed.
const IDLE: Duration = Duration::from_millis(500);

/// Completes orders for as long as the task lives.
pub(crate) async fn work(store: Arc<dyn Store>, stats: Arc<Stats>, placed: Arc<Notify>) {
    loop {
        match drain(&store, &stats).await {
            Some(0) | None => {
                let _ = tokio::time::timeout(IDLE, placed.notified()).await;
            }
            Some(_) => {}
        }
    }
}

/// Completes the orders that are open now, up to a batch: how many; none if the database is not there.
pub(crate) async fn drain(store: &Arc<dyn Store>, stats: &Stats) -> Option<usize> {
    let (found, cost) = store.run(Arc::new(action(What::OpenOrders(BATCH)))).await;
    stats.record(POLL, cost.database + cost.wait, &cost, found.is_ok());
    let Ok(Outcome::Orders(orders)) = found else { return None };
    for order in &orders {
        let (done, cost) = store.run(Arc::new(action(What::Complete(*order)))).await;
        stats.record(COMPLETE, cost.database + cost.wait, &cost, done.is_ok());
        done.ok()?;
    }
    Some(orders.len())
}

fn action(what: What) -> Action {
    Action {
        what,
        session: String::new(),
        now_ms: now_ms(),
        random: [crate::random::bits(), crate::random::bits()],
        complete: true,
    }
}
