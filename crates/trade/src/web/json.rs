//! Outcomes as JSON. Money is in cents.

use serde_json::{Value as Json, json};

use crate::action::{Holding, Market, Order, Quote, View};

pub(super) fn declined(why: &str) -> String {
    json!({ "ok": false, "declined": why }).to_string()
}

pub(super) fn ended() -> String {
    json!({ "ok": true, "action": "logout" }).to_string()
}

pub(super) fn view(action: &str, view: &View) -> String {
    let account = view.account.as_ref().map(|a| {
        json!({
            "id": a.id, "user": a.user, "balance": a.balance, "opening": a.opening, "entries": a.entries,
            "holdings": a.holdings, "logins": a.logins,
        })
    });
    let profile = view
        .profile
        .as_ref()
        .map(|p| json!({ "name": p.name, "email": p.email, "address": p.address, "card": p.card }));
    json!({
        "ok": true, "action": action, "account": account, "profile": profile,
        "quotes": view.quotes.iter().map(quote).collect::<Vec<_>>(),
        "holdings": view.holdings.iter().map(holding).collect::<Vec<_>>(),
        "orders": view.orders.iter().map(order).collect::<Vec<_>>(),
        "market": view.market.as_ref().map(market),
    })
    .to_string()
}

fn quote(q: &Quote) -> Json {
    json!({
        "symbol": q.symbol, "company": q.company, "price": q.price, "open": q.open, "low": q.low, "high": q.high,
        "volume": q.volume,
    })
}

fn holding(h: &Holding) -> Json {
    json!({
        "id": h.id, "symbol": h.symbol, "quantity": h.quantity, "price": h.price, "now": h.now, "selling": h.selling,
    })
}

fn order(o: &Order) -> Json {
    json!({
        "id": o.id, "kind": o.kind, "status": o.status, "symbol": o.symbol, "quantity": o.quantity,
        "price": o.price, "fee": o.fee, "cost": o.cost(),
    })
}

fn market(m: &Market) -> Json {
    json!({
        "index": m.index, "open": m.open, "volume": m.volume,
        "gainers": m.gainers.iter().map(quote).collect::<Vec<_>>(),
        "losers": m.losers.iter().map(quote).collect::<Vec<_>>(),
    })
}
