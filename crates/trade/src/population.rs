//! The tables and their initial content.

use pitot_meter::Random;

use crate::action::{FEE, OPENING};
use crate::transaction::{StoreError, Transaction, Value};

/// The tables and indexes. `{id}` stands for the type of a key that the database numbers.
///
/// `account.entries` counts the changes of the balance. `holding.order_id` is the order that bought it and
/// X
pub(crate) const TABLES: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS account (id {id}, user_name TEXT NOT NULL UNIQUE, password TEXT NOT NULL, \
     balance BIGINT NOT NULL, opening BIGINT NOT NULL, entries BIGINT NOT NULL, logins BIGINT NOT NULL, \
     last_login BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS account_profile (account_id BIGINT PRIMARY KEY, full_name TEXT NOT NULL, \
     email TEXT NOT NULL, address TEXT NOT NULL, card TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS quote (symbol TEXT PRIMARY KEY, company TEXT NOT NULL, price BIGINT NOT NULL, \
     open_price BIGINT NOT NULL, low BIGINT NOT NULL, high BIGINT NOT NULL, volume BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS holding (id {id}, account_id BIGINT NOT NULL, order_id BIGINT NOT NULL UNIQUE, \
     symbol TEXT NOT NULL, quantity BIGINT NOT NULL, price BIGINT NOT NULL, selling BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS orders (id {id}, account_id BIGINT NOT NULL, kind TEXT NOT NULL, \
     status TEXT NOT NULL, symbol TEXT NOT NULL, quantity BIGINT NOT NULL, price BIGINT NOT NULL, \
     fee BIGINT NOT NULL, holding_id BIGINT UNIQUE, sold_by BIGINT UNIQUE, order_key TEXT, opened BIGINT NOT NULL, completed BIGINT, \
     UNIQUE (account_id, order_key))",
    "CREATE TABLE IF NOT EXISTS session (token TEXT PRIMARY KEY, account_id BIGINT NOT NULL, begun BIGINT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS holding_by_account ON holding (account_id)",
    "CREATE INDEX IF NOT EXISTS orders_by_account ON orders (account_id, id)",
    "CREATE INDEX IF NOT EXISTS orders_open ON orders (id) WHERE status = 'open'",
    "CREATE INDEX IF NOT EXISTS session_by_account ON session (account_id)",
];

/// Empties the tables.
pub(crate) const EMPTY: &[&str] = &[
    "DELETE FROM session",
    "DELETE FROM holding",
    "DELETE FROM orders",
    "DELETE FROM account_profile",
    "DELETE FROM account",
    "DELETE FROM quote",
];

/// The initial content of an empty database; deterministic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Population {
    /// Users, `uid:0` ...
    pub users: u64,
    /// Quotes, `s:0` ...
    pub quotes: u64,
}

impl Default for Population {
    /// That of the published runs.
    fn default() -> Population {
        Population { users: 500, quotes: 1000 }
    }
}

/// The most holdings of a user at first; 5 on average.
const HOLDINGS_MAX: u64 = 10;

/// Fills empty tables; does nothing if there is an account. True if it did.
pub(crate) async fn populate(
    tx: &mut impl Transaction,
    population: &Population,
    now_ms: i64,
) -> Result<bool, StoreError> {
    if !tx.rows("SELECT id FROM account LIMIT 1", &[]).await?.is_empty() {
        return Ok(false);
    }
    let mut random = Random::new(1);
    let mut prices = Vec::new();
    for n in 0..population.quotes {
        let price = 1000 + (random.next_u64() % 19_000) as i64;
        prices.push(price);
        let values =
            [format!("s:{n}").as_str().into(), format!("S{n} Incorporated").as_str().into(), price.into()];
        tx.rows("INSERT INTO quote (symbol, company, price, open_price, low, high, volume) VALUES ($1, $2, $3, $3, $3, $3, 0)", &values).await?;
    }
    for n in 0..population.users {
        let number = n.to_string();
        let account = tx
            .rows(
                "INSERT INTO account (user_name, password, balance, opening, entries, logins, last_login) \
                 VALUES ($1, 'xxx', $2, $2, 0, 0, $3) RETURNING id",
                &[format!("uid:{number}").as_str().into(), OPENING.into(), now_ms.into()],
            )
            .await?;
        let account = account.first().map_or(0, |row| row.int(0));
        let texts = [
            format!("User {number}"),
            format!("uid{number}@trade.test"),
            format!("{number} Exchange Street"),
            format!("4000-0000-{n:08}"),
        ];
        let mut values: Vec<Value> = vec![account.into()];
        values.extend(texts.iter().map(Value::from));
        tx.rows("INSERT INTO account_profile (account_id, full_name, email, address, card) VALUES ($1, $2, $3, $4, $5)", &values).await?;
        if population.quotes > 0 {
            holdings(tx, account, &prices, &mut random, now_ms).await?;
        }
    }
    Ok(true)
}

/// Gives a user holdings, each by an order as if it had been bought.
async fn holdings(
    tx: &mut impl Transaction,
    account: i64,
    prices: &[i64],
    random: &mut Random,
    now_ms: i64,
) -> Result<(), StoreError> {
    for _ in 0..random.next_u64() % (HOLDINGS_MAX + 1) {
        let quote = (random.next_u64() % prices.len() as u64) as usize;
        let quantity = 1 + (random.next_u64() % 200) as i64;
        let (symbol, price) = (format!("s:{quote}"), prices[quote]);
        let order: [Value; 6] = [
            account.into(),
            symbol.as_str().into(),
            quantity.into(),
            price.into(),
            FEE.into(),
            now_ms.into(),
        ];
        let order = tx
            .rows(
                "INSERT INTO orders (account_id, kind, status, symbol, quantity, price, fee, opened, completed) \
                 VALUES ($1, 'buy', 'closed', $2, $3, $4, $5, $6, $6) RETURNING id",
                &order,
            )
            .await?;
        let order = order.first().map_or(0, |row| row.int(0));
        tx.rows(
            "INSERT INTO holding (account_id, order_id, symbol, quantity, price, selling) VALUES ($1, $2, $3, $4, $5, 0)",
            &[account.into(), order.into(), symbol.as_str().into(), quantity.into(), price.into()],
        )
        .await?;
        tx.rows(
            "UPDATE account SET balance = balance - $1, entries = entries + 1 WHERE id = $2",
            &[(quantity * price + FEE).into(), account.into()],
        )
        .await?;
        tx.rows(
            "UPDATE quote SET volume = volume + $1 WHERE symbol = $2",
            &[quantity.into(), symbol.as_str().into()],
        )
        .await?;
    }
    Ok(())
}
