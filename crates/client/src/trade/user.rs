//! A user: the next request, and the checks of the replies.

use std::fmt::Write as _;
use std::sync::Arc;

use percent_encoding::{PercentEncode, utf8_percent_encode};

use super::options::Options;
use super::page;
use super::step::Step;
use super::users::{Account, Last, Users};
use crate::stream::Stream;
use pitot_proto::percent::RESERVED;

/// The balance of a new account, cents.
const OPENING: i64 = 100_000_000;
/// The most symbols on a page of quotes.
const SYMBOLS_MAX: u64 = 10;
/// The most shares of an order.
const SHARES_MAX: u64 = 200;
/// The reply to a purchase that the account cannot pay.
const NO_MONEY: &str = "there is not enough money on the account";

/// A request without its head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) step: Step,
    /// The text behind `action=`.
    pub(super) query: String,
    /// The form; none for a GET.
    pub(super) form: Option<String>,
}

/// A user in a session.
#[derive(Debug)]
pub(super) struct User {
    options: Arc<Options>,
    users: Arc<Users>,
    /// The number of the user, if it is in the population.
    number: Option<u64>,
    /// Registered in this session, so no other session knows the user.
    is_new: bool,
    name: String,
    password: String,
    /// The step that has to follow.
    follow: Option<Step>,
    last: Last,
    /// An order was sent and not answered.
    ordering: bool,
    holding: i64,
    symbols: Vec<String>,
    email: String,
    /// Sales that were replaced by purchases since there were no holdings.
    owed: u64,
    stream: Stream,
}

impl User {
    pub(super) fn new(options: Arc<Options>, users: Arc<Users>) -> User {
        User {
            options,
            users,
            number: None,
            is_new: false,
            name: String::new(),
            password: String::new(),
            follow: None,
            last: Last::default(),
            ordering: false,
            holding: 0,
            symbols: Vec::new(),
            email: String::new(),
            owed: 0,
            stream: Stream::new(0),
        }
    }

    /// The symbols of the last request.
    #[cfg(test)]
    pub(super) fn symbols(&self) -> &[String] {
        &self.symbols
    }

    /// Begins the session of another user.
    pub(super) fn begin(&mut self, session: u64) {
        self.end();
        let (number, last) = self.users.take(session).unzip();
        self.number = number;
        self.is_new = false;
        self.last = last.unwrap_or_default();
        self.name = format!("uid:{}", self.number.unwrap_or(session % self.options.users));
        self.password = "xxx".into();
        self.follow = Some(Step::Login);
        self.owed = 0;
    }

    /// Ends the session, or the user of it.
    pub(super) fn end(&mut self) {
        let uncertain = self.last.uncertain || std::mem::take(&mut self.ordering);
        let last = Last { uncertain, ..std::mem::take(&mut self.last) };
        if let Some(number) = self.number.take() {
            self.users.give(number, last);
        }
    }

    /// The next request; all choices derive from `random`.
    pub(super) fn next(&mut self, random: u64) -> Ask {
        // The low digits draw the action.
        self.stream = Stream::new(random / 100);
        let step = self.follow.take().unwrap_or_else(|| self.draw(random));
        self.ask(step)
    }

    /// A random action. A user who owes a sale sells instead of buying, unless the account is known to have no holdings.
    fn draw(&mut self, random: u64) -> Step {
        match Step::drawn(random) {
            Step::BuyQuotes
                if self.owed > 0 && self.last.account.is_none_or(|account| account.holdings > 0) =>
            {
                self.owed -= 1;
                Step::SellPortfolio
            }
            step => step,
        }
    }

    /// A number below `n`.
    fn below(&mut self, n: u64) -> u64 {
        self.stream.next() % n
    }

    fn ask(&mut self, step: Step) -> Ask {
        let ask = |query: &str| Ask { step, query: query.into(), form: None };
        let post = |query: &str, form: String| Ask { step, query: query.into(), form: Some(form) };
        self.ordering = matches!(step, Step::Buy | Step::Sell);
        match step {
            Step::Login => post("login", format!("uid={}&passwd={}", form_value(&self.name), self.password)),
            Step::Home => ask("home"),
            Step::Portfolio | Step::SellPortfolio => ask("portfolio"),
            Step::Account | Step::UpdateAccount => ask("account"),
            Step::Logout | Step::RegisterLogout => post("logout", String::new()),
            Step::Quotes | Step::BuyQuotes => {
                let count = if step == Step::Quotes { 1 + self.below(SYMBOLS_MAX) } else { 1 };
                self.symbols.clear();
                for _ in 0..count {
                    let symbol = format!("s:{}", self.below(self.options.quotes));
                    if !self.symbols.contains(&symbol) {
                        self.symbols.push(symbol);
                    }
                }
                ask(&format!("quotes&symbols={}", self.symbols.join(",")))
            }
            Step::Buy => {
                let (quantity, key) = (1 + self.below(SHARES_MAX), self.below(u64::MAX));
                let symbol = self.symbols.first().map_or("s:0", |symbol| symbol);
                post("buy", format!("symbol={}&quantity={quantity}&key={key:x}", form_value(symbol)))
            }
            Step::Sell => {
                let key = self.below(u64::MAX);
                post("sell", format!("holdingID={}&key={key:x}", self.holding))
            }
            Step::Update => {
                let code = self.below(1 << 48);
                self.email = format!("e{code:012x}@trade.test");
                let form = self.profile(&format!("Name {code}"));
                post("update_profile", form)
            }
            Step::Register => {
                // 128 bits, so that the name is unique.
                let code = (self.below(u64::MAX), self.below(u64::MAX));
                self.end();
                self.is_new = true;
                self.name = format!("ru:{:016x}{:016x}", code.0, code.1);
                self.password = "yyy".into();
                self.email = format!("r{:016x}@trade.test", code.0);
                let mut form = self.profile("New User");
                let name = form_value(&self.name);
                let _ = write!(
                    form,
                    "&uid={name}&user+id={name}&confirm+passwd=yyy&Full+Name=New+User&snail+mail=1+Wall+Street\
                     &Credit+Card+Number=1234&money={}.00",
                    OPENING / 100
                );
                post("register", form)
            }
        }
    }

    fn profile(&self, name: &str) -> String {
        let (email, name) = (form_value(&self.email), form_value(name));
        let user = form_value(&self.name);
        let password = &self.password;
        format!(
            "userID={user}&fullname={name}&email={email}&address=1+Wall+Street&creditcard=1234&passwd={password}\
             &password={password}&cpassword={password}"
        )
    }

    /// Checks the page that answers a step; returns what is wrong with it.
    pub(super) fn answered(&mut self, step: Step, page: &[u8]) -> Option<&'static str> {
        self.ordering = false;
        if self.options.dialect.has_account
            && let Some(why) = page::values(page, "declined").next()
        {
            if step == Step::Buy && why == NO_MONEY.as_bytes() && self.is_poor() {
                return None;
            }
            self.users.said.hear_of(&format!("{} of {}", step.name(), self.name), why);
            return Some("declined");
        }
        if !(self.options.dialect.is_right)(page, step, &self.name) {
            return Some("wrong-page");
        }
        let wrong = match self.options.dialect.has_account {
            true => self.check(step, page),
            false => self.check_texts(step, page),
        };
        self.follow = match step {
            Step::BuyQuotes => Some(Step::Buy),
            Step::UpdateAccount => Some(Step::Update),
            Step::RegisterLogout => Some(Step::Register),
            Step::SellPortfolio => match (self.options.dialect.holding)(page) {
                Some(holding) => {
                    self.holding = holding;
                    Some(Step::Sell)
                }
                None => {
                    self.owed += 1;
                    Some(Step::BuyQuotes)
                }
            },
            _ => None,
        };
        wrong
    }

    /// Whether every order of the account comes from these sessions and was answered.
    fn has_all_orders(&self) -> bool {
        self.number.map_or(self.is_new, |number| self.users.is_certain(number))
    }

    /// Less money than the most expensive order costs.
    fn is_poor(&self) -> bool {
        const ORDER_MAX: i64 = 40_000 * SHARES_MAX as i64 + 2495;
        self.last.account.is_none_or(|account| account.balance < ORDER_MAX)
    }

    /// Checks a page without an account.
    fn check_texts(&self, step: Step, page: &[u8]) -> Option<&'static str> {
        match step {
            Step::Quotes | Step::BuyQuotes => {
                let is_shown = |symbol: &String| page::has(page, &format!(">{symbol}<"));
                (!self.symbols.iter().all(is_shown)).then_some("quotes-missing")
            }
            Step::Update => (!page::has(page, &self.email)).then_some("profile-unchanged"),
            _ => None,
        }
    }

    /// Checks a page of Pitot's implementation.
    fn check(&mut self, step: Step, page: &[u8]) -> Option<&'static str> {
        if matches!(step, Step::Logout | Step::RegisterLogout) {
            return None;
        }
        let of = |name| page::number(page, name);
        let (Some(balance), Some(entries), Some(holdings)) = (of("balance"), of("entries"), of("holdings"))
        else {
            return Some("no-account");
        };
        let now = Account { balance, entries, holdings };
        let before = self.last.account.replace(now);
        match step {
            Step::Quotes | Step::BuyQuotes => {
                let shown: Vec<&[u8]> = page::values(page, "symbol").collect();
                if shown.len() != self.symbols.len()
                    || !self.symbols.iter().all(|symbol| shown.contains(&symbol.as_bytes()))
                {
                    return Some("quotes-missing");
                }
            }
            Step::Portfolio | Step::SellPortfolio => {
                let shown = page::values(page, "holding").count() as i64;
                // An order may be completed between the two statements by which the server reads the page.
                let is_still = !self.last.queued && !self.last.uncertain;
                if is_still && (shown > holdings || shown < holdings && !page::has(page, "being sold")) {
                    return Some("holdings-missing");
                }
            }
            Step::Update if page::values(page, "email").next() != Some(self.email.as_bytes()) => {
                return Some("profile-unchanged");
            }
            Step::Register => {
                return (now != Account { balance: OPENING, entries: 0, holdings: 0 })
                    .then_some("wrong-opening");
            }
            _ => {}
        }
        let ordered = matches!(step, Step::Buy | Step::Sell);
        let cost = if ordered { of("cost") } else { Some(0) };
        let Some(cost) = cost else { return Some("no-order") };
        if ordered && (cost > 0) != (step == Step::Buy) && cost.abs() > 2495 {
            return Some("wrong-cost");
        }
        // An order that is completed later changes holdings, and the balance of a sale, later.
        let closed = page::values(page, "status").next().is_none_or(|status| status == b"closed");
        self.last.queued |= !closed;
        self.last.open_sales += i64::from(step == Step::Sell && !closed);
        let between =
            now.entries - before?.entries - i64::from(step == Step::Buy || step == Step::Sell && closed);
        if between > 0 {
            // The queue has completed sales, or another session of the same user has ordered: the balance is unknown.
            let doubled = between > self.last.open_sales && self.has_all_orders();
            self.last.open_sales = (self.last.open_sales - between).max(0);
            return doubled.then_some("order-doubled");
        }
        compare(before?, now, step, cost, closed)
    }
}

/// Compares an account before and after a step, if no other order came between.
fn compare(before: Account, now: Account, step: Step, cost: i64, closed: bool) -> Option<&'static str> {
    let moved = i64::from(step == Step::Buy || step == Step::Sell && closed);
    let wanted = match now.entries - before.entries - moved {
        0 if moved == 1 => before.balance - cost,
        0 => before.balance,
        _ => return Some("order-lost"),
    };
    if now.balance != wanted {
        return Some("wrong-balance");
    }
    let change = now.holdings - before.holdings;
    let right = match step {
        Step::Buy if closed => change == 1,
        Step::Sell if closed => change == -1,
        // Orders that are open may be completed at any time.
        _ => true,
    };
    (!right).then_some("wrong-holdings")
}

impl Drop for User {
    fn drop(&mut self) {
        self.end();
    }
}

fn form_value(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, RESERVED)
}
