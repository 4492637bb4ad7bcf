//! Recomputes everything from the tables: no money made or lost, no order doubled or lost.

use serde_json::{Value as Json, json};

use crate::transaction::{Row, StoreError, Transaction};

/// The totals of the tables. Money is in cents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Accounts.
    pub accounts: i64,
    /// Money put in, over all accounts.
    pub money_in: i64,
    /// Money on all accounts.
    pub cash: i64,
    /// Money spent on orders to buy, with fees, open or closed.
    pub spent: i64,
    /// Money received from closed orders to sell, without fees.
    pub received: i64,
    /// Orders that are not completed.
    pub open_orders: i64,
    /// Orders that were completed.
    pub closed_orders: i64,
    /// Holdings.
    pub holdings: i64,
    /// Errors and their counts; empty if everything is right.
    pub wrong: Vec<(&'static str, i64)>,
}

/// Each counts what must not be.
const CHECKS: &[(&str, &str)] = &[
    (
        "accounts whose balance is not the opening balance plus sales minus purchases",
        "SELECT COUNT(*) FROM account a LEFT JOIN (SELECT account_id, CAST(SUM(CASE WHEN kind = 'buy' THEN \
         -quantity * price - fee WHEN status = 'closed' THEN quantity * price - fee ELSE 0 END) AS BIGINT) AS moved \
         FROM orders GROUP BY account_id) o ON o.account_id = a.id WHERE a.balance <> a.opening + COALESCE(o.moved, 0)",
    ),
    (
        "accounts whose number of entries is not that of their orders that moved money",
        "SELECT COUNT(*) FROM account a LEFT JOIN (SELECT account_id, COUNT(*) AS moves FROM orders WHERE kind = 'buy' \
         OR status = 'closed' GROUP BY account_id) o ON o.account_id = a.id WHERE a.entries <> COALESCE(o.moves, 0)",
    ),
    (
        "closed buy orders whose shares are neither held nor sold",
        "SELECT COUNT(*) FROM orders b LEFT JOIN holding h ON h.order_id = b.id WHERE b.kind = 'buy' AND \
         b.status = 'closed' AND h.id IS NULL AND b.sold_by IS NULL",
    ),
    (
        "shares that are both held and sold",
        "SELECT COUNT(*) FROM orders b JOIN holding h ON h.order_id = b.id WHERE b.sold_by IS NOT NULL",
    ),
    (
        "shares sold by an order that is open, or of another account or quantity",
        "SELECT COUNT(*) FROM orders b LEFT JOIN orders s ON s.id = b.sold_by WHERE b.sold_by IS NOT NULL AND \
         (s.id IS NULL OR s.status <> 'closed' OR s.kind <> 'sell' OR s.account_id <> b.account_id OR \
         s.quantity <> b.quantity OR s.symbol <> b.symbol)",
    ),
    (
        "sell orders that sold nothing",
        "SELECT COUNT(*) FROM orders s LEFT JOIN orders b ON b.sold_by = s.id WHERE s.kind = 'sell' AND \
         s.status = 'closed' AND b.id IS NULL",
    ),
    (
        "holdings that no closed order bought",
        "SELECT COUNT(*) FROM holding h LEFT JOIN orders b ON b.id = h.order_id WHERE b.id IS NULL OR \
         b.status <> 'closed' OR b.kind <> 'buy' OR b.quantity <> h.quantity OR b.account_id <> h.account_id",
    ),
    (
        "holdings that are being sold without an open order",
        "SELECT COUNT(*) FROM holding h LEFT JOIN orders s ON s.holding_id = h.id WHERE h.selling <> \
         (CASE WHEN s.status = 'open' THEN 1 ELSE 0 END)",
    ),
    (
        "quotes whose volume is not the sum of their orders",
        "SELECT COUNT(*) FROM quote q LEFT JOIN (SELECT symbol, CAST(SUM(quantity) AS BIGINT) AS traded FROM orders \
         WHERE status = 'closed' GROUP BY symbol) o ON o.symbol = q.symbol WHERE q.volume <> COALESCE(o.traded, 0)",
    ),
    ("accounts with a negative balance", "SELECT COUNT(*) FROM account WHERE balance < 0"),
];

/// Recomputes everything in a transaction that sees one state of the tables.
pub(crate) async fn audit(tx: &mut impl Transaction) -> Result<Audit, StoreError> {
    let mut wrong = Vec::new();
    for (what, sql) in CHECKS {
        let count = first(tx.rows(sql, &[]).await?).int(0);
        if count != 0 {
            wrong.push((*what, count));
        }
    }
    let accounts = first(tx.rows("SELECT COUNT(*), CAST(COALESCE(SUM(opening), 0) AS BIGINT), CAST(COALESCE(SUM(balance), 0) AS BIGINT) FROM account", &[]).await?);
    let orders = first(
        tx.rows(
            "SELECT CAST(COALESCE(SUM(CASE WHEN kind = 'buy' THEN quantity * price + fee ELSE 0 END), 0) AS BIGINT), \
             CAST(COALESCE(SUM(CASE WHEN kind = 'sell' AND status = 'closed' THEN quantity * price - fee ELSE 0 END), 0) AS BIGINT), \
             CAST(COALESCE(SUM(CASE WHEN status = 'open' THEN 1 ELSE 0 END), 0) AS BIGINT), \
             CAST(COALESCE(SUM(CASE WHEN status = 'closed' THEN 1 ELSE 0 END), 0) AS BIGINT) FROM orders",
            &[],
        )
        .await?,
    );
    let holdings = first(tx.rows("SELECT COUNT(*) FROM holding", &[]).await?).int(0);
    let audit = Audit {
        accounts: accounts.int(0),
        money_in: accounts.int(1),
        cash: accounts.int(2),
        spent: orders.int(0),
        received: orders.int(1),
        open_orders: orders.int(2),
        closed_orders: orders.int(3),
        holdings,
        wrong,
    };
    Ok(if audit.missing() == 0 {
        audit
    } else {
        let mut audit = audit;
        audit.wrong.push(("cents created or lost", audit.missing().abs()));
        audit
    })
}

fn first(rows: Vec<Row>) -> Row {
    rows.into_iter().next().unwrap_or_default()
}

impl Audit {
    /// Money that was put in and is neither on an account nor spent, cents; negative if there is too much.
    pub fn missing(&self) -> i64 {
        self.money_in - self.spent + self.received - self.cash
    }

    /// Whether nothing is wrong.
    pub fn holds(&self) -> bool {
        self.wrong.is_empty()
    }

    /// As one JSON object.
    pub fn json(&self) -> Json {
        let wrong: serde_json::Map<String, Json> =
            self.wrong.iter().map(|(what, count)| ((*what).to_owned(), json!(count))).collect();
        json!({
            "schema": "pitot-trade-audit/1", "holds": self.holds(), "wrong": wrong, "accounts": self.accounts,
            "money_in_cents": self.money_in, "cash_cents": self.cash, "spent_cents": self.spent,
            "received_cents": self.received, "missing_cents": self.missing(), "open_orders": self.open_orders,
            "closed_orders": self.closed_orders, "holdings": self.holdings,
        })
    }
}
