//! The actions, in SQL: each a sequence of statements of one transaction, the same for both databases.
//!
//! They are right at every isolation level: every change is made by a statement that names its precondition (`balance >= $1`,
//! `status = 'open'`, `selling = 0`), so that two transactions cannot both make it.

use crate::action::{
    Account, Action, FEE, Holding, Market, Order, Outcome, Profile, Quote, SHARES_MAX, SYMBOLS_MAX, View,
    What,
};
use crate::transaction::{Row, StoreError, Transaction, Value};

/// Orders on a page.
const ORDERS_SHOWN: i64 = 5;
/// Sessions of a user that are older are forgotten at the next login.
const SESSION_MS_MAX: i64 = 3_600_000;
/// Bounds within which a price moves, cents; beyond them the share is split, or merged.
const PRICE_MIN: i64 = 100;
const PRICE_MAX: i64 = 40_000;

const QUOTE: &str =
    "SELECT symbol, company, price, open_price, low, high, volume FROM quote WHERE symbol = $1";

/// Carries out an action.
pub(crate) async fn perform(tx: &mut impl Transaction, action: &Action) -> Result<Outcome, StoreError> {
    match &action.what {
        What::Register { user, password, profile, opening } => {
            return register(tx, action, user, password, profile, *opening).await;
        }
        What::Login { user, password } => return login(tx, action, user, password).await,
        What::Logout => {
            let sql = "DELETE FROM session WHERE token = $1 RETURNING account_id";
            let ended = tx.rows(sql, &[(&action.session).into()]).await?;
            return Ok(if ended.is_empty() { Outcome::NoSession } else { Outcome::Ended });
        }
        What::Complete(order) => {
            let done = complete(tx, action, *order).await?;
            return Ok(Outcome::Orders(done.then_some(*order).into_iter().collect()));
        }
        What::OpenOrders(most) => {
            let sql = "SELECT id FROM orders WHERE status = 'open' ORDER BY id LIMIT $1";
            let rows = tx.rows(sql, &[(*most).into()]).await?;
            return Ok(Outcome::Orders(rows.iter().map(|row| row.int(0)).collect()));
        }
        What::Market => {
            return Ok(done(View { market: Some(market(tx).await?), ..View::default() }));
        }
        _ => {}
    }
    let session =
        tx.rows("SELECT account_id FROM session WHERE token = $1", &[(&action.session).into()]).await?;
    let Some(id) = session.first().map(|row| row.int(0)) else { return Ok(Outcome::NoSession) };
    let mut view = View::default();
    match &action.what {
        What::Home | What::Logout | What::Market | What::Register { .. } | What::Login { .. } => {}
        What::Complete(_) | What::OpenOrders(_) => {}
        What::Account => {
            view.profile = profile(tx, id).await?;
            view.orders = orders(tx, id).await?;
        }
        What::Update(changed) => {
            if !changed.email.contains('@') || changed.name.trim().is_empty() {
                return Ok(Outcome::Declined("a profile needs a name and an e-mail address with an @"));
            }
            tx.rows(
                "UPDATE account_profile SET full_name = $1, email = $2, address = $3, card = $4 WHERE account_id = $5",
                &[
                    (&changed.name).into(),
                    (&changed.email).into(),
                    (&changed.address).into(),
                    (&changed.card).into(),
                    id.into(),
                ],
            )
            .await?;
            view.profile = profile(tx, id).await?;
            view.orders = orders(tx, id).await?;
        }
        What::Portfolio => view.holdings = holdings(tx, id).await?,
        What::Quotes(symbols) => {
            for symbol in symbols.iter().take(SYMBOLS_MAX) {
                view.quotes.extend(tx.rows(QUOTE, &[symbol.into()]).await?.iter().map(quote));
            }
        }
        What::Buy { symbol, quantity, key } => match buy(tx, action, id, symbol, *quantity, key).await? {
            Ok(order) => view.orders.push(order),
            Err(why) => return Ok(Outcome::Declined(why)),
        },
        What::Sell { holding, key } => match sell(tx, action, id, *holding, key).await? {
            Ok(order) => view.orders.push(order),
            Err(why) => return Ok(Outcome::Declined(why)),
        },
        What::OrderStatus(number) => match order(tx, id, *number).await? {
            Some(order) => view.orders.push(order),
            None => return Ok(Outcome::Declined("there is no such order")),
        },
    }
    view.account = account(tx, id).await?;
    Ok(done(view))
}

fn done(view: View) -> Outcome {
    Outcome::Done(Box::new(view))
}

async fn register(
    tx: &mut impl Transaction,
    action: &Action,
    user: &str,
    password: &str,
    profile: &Profile,
    opening: i64,
) -> Result<Outcome, StoreError> {
    if user.is_empty() || password.is_empty() || opening < 0 {
        return Ok(Outcome::Declined("an account needs a name, a password and money of 0 or more"));
    }
    if !tx.rows("SELECT id FROM account WHERE user_name = $1", &[user.into()]).await?.is_empty() {
        return Ok(Outcome::Declined("the name is taken"));
    }
    let made = tx
        .rows(
            "INSERT INTO account (user_name, password, balance, opening, entries, logins, last_login) \
             VALUES ($1, $2, $3, $3, 0, 1, $4) RETURNING id",
            &[user.into(), password.into(), opening.into(), action.now_ms.into()],
        )
        .await?;
    let id = made.first().map_or(0, |row| row.int(0));
    tx.rows(
        "INSERT INTO account_profile (account_id, full_name, email, address, card) VALUES ($1, $2, $3, $4, $5)",
        &[
            id.into(),
            (&profile.name).into(),
            (&profile.email).into(),
            (&profile.address).into(),
            (&profile.card).into(),
        ],
    )
    .await?;
    begin(tx, action, id).await
}

async fn login(
    tx: &mut impl Transaction,
    action: &Action,
    user: &str,
    password: &str,
) -> Result<Outcome, StoreError> {
    let known = tx
        .rows(
            "SELECT id FROM account WHERE user_name = $1 AND password = $2",
            &[user.into(), password.into()],
        )
        .await?;
    let Some(id) = known.first().map(|row| row.int(0)) else {
        return Ok(Outcome::Declined("the name or the password is wrong"));
    };
    tx.rows(
        "UPDATE account SET logins = logins + 1, last_login = $1 WHERE id = $2",
        &[action.now_ms.into(), id.into()],
    )
    .await?;
    tx.rows(
        "DELETE FROM session WHERE account_id = $1 AND begun < $2",
        &[id.into(), (action.now_ms - SESSION_MS_MAX).into()],
    )
    .await?;
    begin(tx, action, id).await
}

async fn begin(tx: &mut impl Transaction, action: &Action, id: i64) -> Result<Outcome, StoreError> {
    let token = format!("{:016x}{:016x}", action.random[0], action.random[1]);
    tx.rows(
        "INSERT INTO session (token, account_id, begun) VALUES ($1, $2, $3)",
        &[(&token).into(), id.into(), action.now_ms.into()],
    )
    .await?;
    let view = View { account: account(tx, id).await?, ..View::default() };
    Ok(Outcome::Begun(token, Box::new(view)))
}

/// The account as it is now, in one statement.
async fn account(tx: &mut impl Transaction, id: i64) -> Result<Option<Account>, StoreError> {
    let rows = tx
        .rows(
            "SELECT id, user_name, balance, opening, entries, logins, \
             (SELECT COUNT(*) FROM holding h WHERE h.account_id = a.id) FROM account a WHERE id = $1",
            &[id.into()],
        )
        .await?;
    Ok(rows.first().map(|row| Account {
        id: row.int(0),
        user: row.text(1),
        balance: row.int(2),
        opening: row.int(3),
        entries: row.int(4),
        logins: row.int(5),
        holdings: row.int(6),
    }))
}

async fn profile(tx: &mut impl Transaction, id: i64) -> Result<Option<Profile>, StoreError> {
    let sql = "SELECT full_name, email, address, card FROM account_profile WHERE account_id = $1";
    let rows = tx.rows(sql, &[id.into()]).await?;
    Ok(rows.first().map(|row| Profile {
        name: row.text(0),
        email: row.text(1),
        address: row.text(2),
        card: row.text(3),
    }))
}

async fn holdings(tx: &mut impl Transaction, id: i64) -> Result<Vec<Holding>, StoreError> {
    let sql = "SELECT h.id, h.symbol, h.quantity, h.price, q.price, h.selling FROM holding h \
               JOIN quote q ON q.symbol = h.symbol WHERE h.account_id = $1 ORDER BY h.id";
    let rows = tx.rows(sql, &[id.into()]).await?;
    let holding = |row: &Row| Holding {
        id: row.int(0),
        symbol: row.text(1),
        quantity: row.int(2),
        price: row.int(3),
        now: row.int(4),
        selling: row.int(5) != 0,
    };
    Ok(rows.iter().map(holding).collect())
}

fn quote(row: &Row) -> Quote {
    Quote {
        symbol: row.text(0),
        company: row.text(1),
        price: row.int(2),
        open: row.int(3),
        low: row.int(4),
        high: row.int(5),
        volume: row.int(6),
    }
}

fn an_order(row: &Row) -> Order {
    Order {
        id: row.int(0),
        kind: row.text(1),
        status: row.text(2),
        symbol: row.text(3),
        quantity: row.int(4),
        price: row.int(5),
        fee: row.int(6),
    }
}

async fn orders(tx: &mut impl Transaction, id: i64) -> Result<Vec<Order>, StoreError> {
    let sql = "SELECT id, kind, status, symbol, quantity, price, fee FROM orders WHERE account_id = $1 \
               ORDER BY id DESC LIMIT $2";
    Ok(tx.rows(sql, &[id.into(), ORDERS_SHOWN.into()]).await?.iter().map(an_order).collect())
}

async fn order(tx: &mut impl Transaction, account: i64, id: i64) -> Result<Option<Order>, StoreError> {
    let sql =
        "SELECT id, kind, status, symbol, quantity, price, fee FROM orders WHERE account_id = $1 AND id = $2";
    Ok(tx.rows(sql, &[account.into(), id.into()]).await?.first().map(an_order))
}

/// The order of that key, if it was placed before.
async fn placed(tx: &mut impl Transaction, account: i64, key: &str) -> Result<Option<Order>, StoreError> {
    if key.is_empty() {
        return Ok(None);
    }
    let sql = "SELECT id, kind, status, symbol, quantity, price, fee FROM orders WHERE account_id = $1 \
               AND order_key = $2";
    Ok(tx.rows(sql, &[account.into(), key.into()]).await?.first().map(an_order))
}

async fn price(tx: &mut impl Transaction, symbol: &str) -> Result<Option<i64>, StoreError> {
    Ok(tx.rows(QUOTE, &[symbol.into()]).await?.first().map(|row| quote(row).price))
}

fn key_value(key: &str) -> Value {
    if key.is_empty() { Value::Null } else { key.into() }
}

async fn buy(
    tx: &mut impl Transaction,
    action: &Action,
    account: i64,
    symbol: &str,
    quantity: i64,
    key: &str,
) -> Result<Result<Order, &'static str>, StoreError> {
    if !(1..=SHARES_MAX).contains(&quantity) {
        return Ok(Err("the number of shares must be from 1 to 1,000,000"));
    }
    if let Some(order) = placed(tx, account, key).await? {
        return Ok(Ok(order));
    }
    let Some(price) = price(tx, symbol).await? else { return Ok(Err("there is no such share")) };
    let paid = tx
        .rows(
            "UPDATE account SET balance = balance - $1, entries = entries + 1 WHERE id = $2 AND balance >= $1 RETURNING id",
            &[(quantity * price + FEE).into(), account.into()],
        )
        .await?;
    if paid.is_empty() {
        return Ok(Err("there is not enough money on the account"));
    }
    let values = [
        account.into(),
        symbol.into(),
        quantity.into(),
        price.into(),
        FEE.into(),
        key_value(key),
        action.now_ms.into(),
    ];
    let made = tx
        .rows(
            "INSERT INTO orders (account_id, kind, status, symbol, quantity, price, fee, order_key, opened) \
             VALUES ($1, 'buy', 'open', $2, $3, $4, $5, $6, $7) RETURNING id",
            &values,
        )
        .await?;
    place(tx, action, account, made.first().map_or(0, |row| row.int(0))).await
}

async fn sell(
    tx: &mut impl Transaction,
    action: &Action,
    account: i64,
    holding: i64,
    key: &str,
) -> Result<Result<Order, &'static str>, StoreError> {
    if let Some(order) = placed(tx, account, key).await? {
        return Ok(Ok(order));
    }
    let held = tx
        .rows(
            "UPDATE holding SET selling = 1 WHERE id = $1 AND account_id = $2 AND selling = 0 \
             RETURNING symbol, quantity",
            &[holding.into(), account.into()],
        )
        .await?;
    let Some((symbol, quantity)) = held.first().map(|row| (row.text(0), row.int(1))) else {
        return Ok(Err("there is no such holding, or it is being sold"));
    };
    let Some(price) = price(tx, &symbol).await? else {
        return Err(StoreError::Other(format!("{symbol} is held but has no quote")));
    };
    let values = [
        account.into(),
        (&symbol).into(),
        quantity.into(),
        price.into(),
        FEE.into(),
        holding.into(),
        key_value(key),
        action.now_ms.into(),
    ];
    let made = tx
        .rows(
            "INSERT INTO orders (account_id, kind, status, symbol, quantity, price, fee, holding_id, order_key, opened) \
             VALUES ($1, 'sell', 'open', $2, $3, $4, $5, $6, $7, $8) RETURNING id",
            &values,
        )
        .await?;
    place(tx, action, account, made.first().map_or(0, |row| row.int(0))).await
}

/// Completes an order that was made just now, unless the queue does.
async fn place(
    tx: &mut impl Transaction,
    action: &Action,
    account: i64,
    id: i64,
) -> Result<Result<Order, &'static str>, StoreError> {
    if action.complete {
        complete(tx, action, id).await?;
    }
    Ok(order(tx, account, id).await?.ok_or("the order does not exist"))
}

/// Completes an order if it is open; false if it is not.
async fn complete(tx: &mut impl Transaction, action: &Action, id: i64) -> Result<bool, StoreError> {
    let closed = tx
        .rows(
            "UPDATE orders SET status = 'closed', completed = $1 WHERE id = $2 AND status = 'open' \
             RETURNING kind, account_id, symbol, quantity, price, fee, holding_id",
            &[action.now_ms.into(), id.into()],
        )
        .await?;
    let Some(row) = closed.first() else { return Ok(false) };
    let (kind, account, symbol) = (row.text(0), row.int(1), row.text(2));
    let (quantity, price, fee, holding) = (row.int(3), row.int(4), row.int(5), row.int(6));
    if kind == "buy" {
        tx.rows(
            "INSERT INTO holding (account_id, order_id, symbol, quantity, price, selling) \
             VALUES ($1, $2, $3, $4, $5, 0)",
            &[account.into(), id.into(), (&symbol).into(), quantity.into(), price.into()],
        )
        .await?;
    } else {
        let sql = "DELETE FROM holding WHERE id = $1 RETURNING order_id";
        let Some(bought) = tx.rows(sql, &[holding.into()]).await?.first().map(|row| row.int(0)) else {
            return Err(StoreError::Other(format!("holding {holding} of order {id} does not exist")));
        };
        let sql = "UPDATE orders SET sold_by = $1 WHERE id = $2";
        tx.rows(sql, &[id.into(), bought.into()]).await?;
        tx.rows(
            "UPDATE account SET balance = balance + $1, entries = entries + 1 WHERE id = $2",
            &[(quantity * price - fee).into(), account.into()],
        )
        .await?;
    }
    trade(tx, action, &symbol, quantity).await?;
    Ok(true)
}

/// A trade moves the price by a factor of 0.9 to 1.1.
async fn trade(
    tx: &mut impl Transaction,
    action: &Action,
    symbol: &str,
    quantity: i64,
) -> Result<(), StoreError> {
    let permille = 900 + (action.random[0] % 201) as i64;
    let moved = tx
        .rows(
            "UPDATE quote SET price = CASE WHEN price * $1 / 1000 < $2 THEN $2 * 6 WHEN price * $1 / 1000 > $3 \
             THEN price / 2 ELSE price * $1 / 1000 END, volume = volume + $4 WHERE symbol = $5 \
             RETURNING price",
            &[permille.into(), PRICE_MIN.into(), PRICE_MAX.into(), quantity.into(), symbol.into()],
        )
        .await?;
    let price = moved.first().map_or(0, |row| row.int(0));
    tx.rows(
        "UPDATE quote SET low = CASE WHEN $1 < low THEN $1 ELSE low END, \
         high = CASE WHEN $1 > high THEN $1 ELSE high END WHERE symbol = $2",
        &[price.into(), symbol.into()],
    )
    .await?;
    Ok(())
}

async fn market(tx: &mut impl Transaction) -> Result<Market, StoreError> {
    let sums = tx
        .rows(
            "SELECT CAST(COALESCE(AVG(price), 0) AS BIGINT), CAST(COALESCE(AVG(open_price), 0) AS BIGINT), \
             CAST(COALESCE(SUM(volume), 0) AS BIGINT) FROM quote",
            &[],
        )
        .await?;
    let gainers = "SELECT symbol, company, price, open_price, low, high, volume FROM quote \
                   ORDER BY price - open_price DESC, symbol LIMIT 5";
    let losers = "SELECT symbol, company, price, open_price, low, high, volume FROM quote \
                  ORDER BY price - open_price, symbol LIMIT 5";
    let sums = sums.into_iter().next().unwrap_or_default();
    Ok(Market {
        index: sums.int(0),
        open: sums.int(1),
        volume: sums.int(2),
        gainers: tx.rows(gainers, &[]).await?.iter().map(quote).collect(),
        losers: tx.rows(losers, &[]).await?.iter().map(quote).collect(),
    })
}
