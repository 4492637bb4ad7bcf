//! From parameters to an action.

use super::form::Form;
use crate::action::{OPENING, Profile, What};

/// The action of a request; `None` for the login page.
///
/// # Errors
/// One line, if it is not an action.
pub(super) fn what(form: &Form) -> Result<Option<What>, &'static str> {
    let text = |names: &[&str]| form.get(names).to_owned();
    let whole = |names: &[&str]| form.get(names).trim().parse::<i64>().ok();
    let profile = || Profile {
        name: text(&["fullname", "Full Name"]),
        email: text(&["email"]),
        address: text(&["address", "snail mail"]),
        card: text(&["creditcard", "Credit Card Number"]),
    };
    Ok(Some(match form.get(&["action"]) {
        "" => return Ok(None),
        "register" => What::Register {
            user: text(&["uid", "user id"]),
            password: text(&["passwd"]),
            profile: profile(),
            opening: match form.get(&["money"]) {
                "" => OPENING,
                money => cents(money).ok_or("the money must be an amount such as 10000.00")?,
            },
        },
        "login" => What::Login { user: text(&["uid"]), password: text(&["passwd"]) },
        "logout" => What::Logout,
        "home" => What::Home,
        "account" => What::Account,
        "update_profile" | "update" => What::Update(profile()),
        "portfolio" => What::Portfolio,
        "quotes" => What::Quotes(
            form.get(&["symbols"])
                .split([',', ' ', ';'])
                .filter(|s| !s.is_empty())
                .map(str::to_owned)
                .collect(),
        ),
        "buy" => What::Buy {
            symbol: text(&["symbol"]),
            quantity: whole(&["quantity"]).ok_or("the number of shares must be a whole number")?,
            key: text(&["key"]),
        },
        "sell" => What::Sell {
            holding: whole(&["holdingID"]).ok_or("the holding must be a number")?,
            key: text(&["key"]),
        },
        "order" => What::OrderStatus(whole(&["orderID"]).ok_or("the order must be a number")?),
        "market" | "mksummary" => What::Market,
        _ => return Err("no such action"),
    }))
}

/// An amount of money, in cents.
fn cents(text: &str) -> Option<i64> {
    let (whole, part) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let part = match part.len() {
        0 => 0,
        1 => part.parse::<u32>().ok()? * 10,
        _ => part.get(..2)?.parse::<u32>().ok()?,
    };
    // Sums of all accounts must fit as well.
    whole.parse::<i64>().ok().filter(|n| (0..1_000_000_000).contains(n)).map(|n| n * 100 + i64::from(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_make_an_action() {
        let of = |query: &str| what(&Form::parse(query, b""));
        assert_eq!(of(""), Ok(None));
        assert_eq!(
            of("action=quotes&symbols=s:1,s:2"),
            Ok(Some(What::Quotes(vec!["s:1".into(), "s:2".into()])))
        );
        assert_eq!(
            of("action=buy&symbol=s:1&quantity=5&key=k"),
            Ok(Some(What::Buy { symbol: "s:1".into(), quantity: 5, key: "k".into() }))
        );
        assert!(of("action=buy&symbol=s:1&quantity=many").is_err());
        assert!(of("action=complete").is_err() && of("action=sell").is_err());
    }

    #[test]
    fn money_is_counted_in_cents() {
        assert_eq!(
            (cents("10000"), cents("1.5"), cents("0.05"), cents("2.999")),
            (Some(1_000_000), Some(150), Some(5), Some(299))
        );
        assert_eq!((cents("-1"), cents("x"), cents("99999999999999")), (None, None, None));
    }
}
