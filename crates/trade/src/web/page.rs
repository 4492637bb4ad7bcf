//! Outcomes as pages. A value for checks by clients is in an element with `data-trade="NAME"`, unformatted in its attribute
//! `data-value`.

use std::fmt::Write as _;

use crate::action::{Account, Holding, Market, Order, Profile, Quote, View};

const NAV: [(&str, &str); 6] = [
    ("home", "Home"),
    ("account", "Account"),
    ("portfolio", "Portfolio"),
    ("quotes&amp;symbols=s:0,s:1,s:2,s:3,s:4", "Quotes"),
    ("market", "Market"),
    ("logout", "Log off"),
];

/// Wraps the content of a page.
fn page(title: &str, content: &str) -> String {
    let mut text = String::with_capacity(content.len() + 2048);
    let _ = write!(
        text,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Trade: {title}</title>\n\
         <link rel=\"stylesheet\" href=\"/files/style.css\">\n</head>\n<body data-page=\"{title}\">\n\
         <header><h1><img src=\"/files/banner.bmp\" alt=\"\"> Trade</h1>\n<nav>\n"
    );
    for (action, name) in NAV {
        let _ = writeln!(text, "<a href=\"/app?action={action}\">{name}</a>");
    }
    let _ = write!(
        text,
        "</nav></header>\n<main>\n<h2>{title}</h2>\n{content}</main>\n<footer><img src=\"/files/bell.bmp\" alt=\"\"> \
         A brokerage that trades nothing, for experiments.</footer>\n</body>\n</html>\n"
    );
    text
}

/// The page at which one logs in or registers.
pub(super) fn login(note: Option<&str>) -> String {
    let mut text = note.map_or(String::new(), |note| format!("<p class=\"note\">{note}</p>\n"));
    text.push_str(
        "<form method=\"post\" action=\"/app?action=login\"><label>User <input name=\"uid\" value=\"uid:0\"></label> \
         <label>Password <input name=\"passwd\" type=\"password\" value=\"xxx\"></label> <button>Log in</button></form>\n\
         <h3>Register</h3>\n<form method=\"post\" action=\"/app?action=register\">\
         <label>User <input name=\"uid\"></label> <label>Password <input name=\"passwd\" type=\"password\"></label> \
         <label>Name <input name=\"fullname\"></label> <label>E-mail <input name=\"email\"></label> \
         <label>Address <input name=\"address\"></label> <label>Card <input name=\"creditcard\"></label> \
         <label>Money <input name=\"money\" value=\"1000000.00\"></label> <button>Register</button></form>\n",
    );
    page("login", &text)
}

/// The page of what cannot be done.
pub(super) fn declined(why: &str) -> String {
    let why = escaped(why);
    page("declined", &format!("<p class=\"note\" data-trade=\"declined\" data-value=\"{why}\">{why}</p>\n"))
}

/// The page of an action.
pub(super) fn view(action: &str, view: &View) -> String {
    let mut text = String::with_capacity(4096);
    if let Some(a) = &view.account {
        account(&mut text, a);
    }
    if let Some(p) = &view.profile {
        profile(&mut text, p);
    }
    if !view.orders.is_empty() {
        orders(&mut text, &view.orders);
    }
    match action {
        "quotes" => quotes(&mut text, "Quotes", &view.quotes, true),
        "portfolio" => holdings(&mut text, &view.holdings),
        _ => {}
    }
    if let Some(m) = &view.market {
        market(&mut text, m);
    }
    page(action, &text)
}

fn value(text: &mut String, term: &str, name: &str, value: impl std::fmt::Display, shown: &str) {
    let _ = writeln!(text, "<dt>{term}</dt><dd data-trade=\"{name}\" data-value=\"{value}\">{shown}</dd>");
}

fn account(text: &mut String, a: &Account) {
    text.push_str("<dl>\n");
    let user = escaped(&a.user);
    value(text, "User", "user", &user, &user);
    value(text, "Account", "account", a.id, &a.id.to_string());
    value(text, "Cash", "balance", a.balance, &money(a.balance));
    value(text, "Put in", "opening", a.opening, &money(a.opening));
    value(text, "Entries", "entries", a.entries, &a.entries.to_string());
    value(text, "Holdings", "holdings", a.holdings, &a.holdings.to_string());
    value(text, "Logins", "logins", a.logins, &a.logins.to_string());
    text.push_str("</dl>\n");
}

fn profile(text: &mut String, p: &Profile) {
    text.push_str("<form method=\"post\" action=\"/app?action=update_profile\"><h3>Profile</h3>\n");
    for (term, name, given) in [
        ("Name", "fullname", &p.name),
        ("E-mail", "email", &p.email),
        ("Address", "address", &p.address),
        ("Card", "creditcard", &p.card),
    ] {
        let given = escaped(given);
        let _ = writeln!(
            text,
            "<label>{term} <input name=\"{name}\" value=\"{given}\" data-trade=\"{name}\" data-value=\"{given}\"></label>"
        );
    }
    text.push_str("<button>Update</button></form>\n");
}

fn orders(text: &mut String, all: &[Order]) {
    text.push_str("<h3>Orders</h3>\n<table><tr><th>Order<th>Status<th>Type<th>Symbol<th>Shares<th>Price<th>Fee<th>Total</tr>\n");
    for o in all {
        let _ = writeln!(
            text,
            "<tr data-trade=\"order\" data-value=\"{}\"><td><a href=\"/app?action=order&amp;orderID={}\">{}</a><td>\
             <span data-trade=\"status\" data-value=\"{}\">{}</span><td>{}<td>{}<td>{}<td>{}<td>{}\
             <td data-trade=\"cost\" data-value=\"{}\">{}</tr>",
            o.id,
            o.id,
            o.id,
            o.status,
            o.status,
            o.kind,
            escaped(&o.symbol),
            o.quantity,
            money(o.price),
            money(o.fee),
            o.cost(),
            money(o.cost()),
        );
    }
    text.push_str("</table>\n");
}

fn holdings(text: &mut String, all: &[Holding]) {
    text.push_str(
        "<table><tr><th>Holding<th>Symbol<th>Shares<th>Bought at<th>Now<th>Basis<th>Value<th>Gain<th></tr>\n",
    );
    for h in all {
        let gain = (h.now - h.price) * h.quantity;
        let _ = write!(
            text,
            "<tr><td>{}<td><a href=\"/app?action=quotes&amp;symbols={}\">{}</a><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>",
            h.id,
            escaped(&h.symbol),
            escaped(&h.symbol),
            h.quantity,
            money(h.price),
            money(h.now),
            money(h.price * h.quantity),
            money(h.now * h.quantity),
            arrow(gain),
        );
        if h.selling {
            text.push_str("being sold</tr>\n");
        } else {
            let _ = writeln!(
                text,
                "<form method=\"post\" action=\"/app?action=sell\"><input type=\"hidden\" name=\"holdingID\" \
                 value=\"{}\" data-trade=\"holding\" data-value=\"{}\"><button>Sell</button></form></tr>",
                h.id, h.id
            );
        }
    }
    text.push_str("</table>\n");
}

fn quotes(text: &mut String, title: &str, all: &[Quote], forms: bool) {
    let _ = writeln!(
        text,
        "<h3>{title}</h3>\n<table><tr><th>Symbol<th>Company<th>Volume<th>Low<th>High<th>Open<th>Price<th>Change<th></tr>"
    );
    for q in all {
        let symbol = escaped(&q.symbol);
        let _ = write!(
            text,
            "<tr data-trade=\"symbol\" data-value=\"{symbol}\"><td><a href=\"/app?action=quotes&amp;symbols={symbol}\">\
             {symbol}</a><td>{}<td>{}<td>{}<td>{}<td>{}<td data-trade=\"price\" data-value=\"{}\">{}<td>{}<td>",
            escaped(&q.company),
            q.volume,
            money(q.low),
            money(q.high),
            money(q.open),
            q.price,
            money(q.price),
            arrow(q.price - q.open),
        );
        if forms {
            let _ = write!(
                text,
                "<form method=\"post\" action=\"/app?action=buy\"><input type=\"hidden\" name=\"symbol\" \
                 value=\"{symbol}\"><input name=\"quantity\" size=\"4\" value=\"100\"><button>Buy</button></form>"
            );
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</table>\n");
}

fn market(text: &mut String, m: &Market) {
    text.push_str("<h3>Market</h3>\n<dl>\n");
    value(text, "Index", "index", m.index, &money(m.index));
    value(text, "Open", "open", m.open, &money(m.open));
    value(text, "Volume", "volume", m.volume, &m.volume.to_string());
    text.push_str("</dl>\n");
    quotes(text, "Top gainers", &m.gainers, false);
    quotes(text, "Top losers", &m.losers, false);
}

fn arrow(change: i64) -> String {
    let file = if change < 0 { "down" } else { "up" };
    format!("{} <img src=\"/files/{file}.bmp\" alt=\"{file}\">", money(change))
}

/// Cents as dollars.
fn money(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}${}.{:02}", cents.unsigned_abs() / 100, cents.unsigned_abs() % 100)
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_users_write_stays_text() {
        let profile = Profile { name: "<script>\"&".into(), ..Profile::default() };
        let text = view("account", &View { profile: Some(profile), ..View::default() });
        assert!(text.contains("value=\"&lt;script&gt;&quot;&amp;\"") && !text.contains("<script>"));
    }

    #[test]
    fn money_is_shown_in_dollars() {
        assert_eq!(
            (money(123_456), money(-5), money(0)),
            ("$1234.56".into(), "-$0.05".into(), "$0.00".into())
        );
    }
}
