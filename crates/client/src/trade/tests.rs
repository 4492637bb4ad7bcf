use std::collections::BTreeMap;
use std::sync::Arc;

use super::options::Options;
use super::step::Step;
use super::user::{Ask, User};
use super::users::{Last, Users};

fn user(query: &str) -> User {
    let options = Options::parse(query).unwrap();
    let users = Arc::new(Users::new(options.users));
    let mut user = User::new(Arc::new(options), users);
    user.begin(3);
    user
}

/// A brokerage as small as it can be: the account of one user.
struct Server {
    user: String,
    balance: i64,
    entries: i64,
    holdings: Vec<i64>,
}

impl Server {
    fn new() -> Server {
        Server { user: "uid:3".into(), balance: 90_000_000, entries: 1, holdings: vec![7] }
    }

    fn page(&self, kind: &str, more: &str) -> String {
        format!(
            "<body data-page=\"{kind}\"><dd data-trade=\"user\" data-value=\"{}\"><dd data-trade=\"balance\" \
             data-value=\"{}\"><dd data-trade=\"entries\" data-value=\"{}\"><dd data-trade=\"holdings\" data-value=\"{}\">{more}",
            self.user,
            self.balance,
            self.entries,
            self.holdings.len()
        )
    }

    fn answer(&mut self, ask: &Ask) -> String {
        let form = ask.form.clone().unwrap_or_default();
        let field = |name: &str| {
            let find = |pair: &str| {
                Some(pair.strip_prefix(name)?.strip_prefix('=')?.replace("%3A", ":").replace("%40", "@"))
            };
            form.split('&').find_map(find).unwrap_or_default()
        };
        let order = |cost: i64| {
            format!(
                "<i data-trade=\"status\" data-value=\"closed\"><i data-trade=\"cost\" data-value=\"{cost}\">"
            )
        };
        match ask.step {
            Step::Login | Step::Home => self.page("home", ""),
            Step::Register => {
                (self.user, self.balance, self.entries) = (field("uid"), 100_000_000, 0);
                self.holdings.clear();
                self.page("home", "")
            }
            Step::Logout | Step::RegisterLogout => "<body data-page=\"login\">".into(),
            Step::Quotes | Step::BuyQuotes => {
                let symbols = ask.query.split_once("symbols=").unwrap().1.split(',');
                let rows: String =
                    symbols.map(|s| format!("<tr data-trade=\"symbol\" data-value=\"{s}\">")).collect();
                self.page("quotes", &rows)
            }
            Step::Portfolio | Step::SellPortfolio => {
                let rows: String = self
                    .holdings
                    .iter()
                    .map(|id| format!("<i data-trade=\"holding\" data-value=\"{id}\">"))
                    .collect();
                self.page("portfolio", &rows)
            }
            Step::Account | Step::UpdateAccount => self.page("account", ""),
            Step::Update => {
                let email = field("email");
                self.page("update", &format!("<input data-trade=\"email\" data-value=\"{email}\">"))
            }
            Step::Buy => {
                let cost = 100 * field("quantity").parse::<i64>().unwrap() + 2495;
                self.balance -= cost;
                self.entries += 1;
                self.holdings.push(self.entries + 100);
                self.page("buy", &order(cost))
            }
            Step::Sell => {
                let id: i64 = field("holdingID").parse().unwrap();
                self.holdings.retain(|known| *known != id);
                self.balance += 50_000;
                self.entries += 1;
                self.page("sell", &order(-50_000))
            }
        }
    }
}

#[test]
fn the_published_mix_is_played_and_every_page_is_right() {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut seed = 1u64;
    let mut actions = 0;
    for session in 0..1500 {
        let mut user = user("/app");
        let mut server = Server::new();
        loop {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let ask = user.next(seed >> 3);
            let page = server.answer(&ask);
            assert_eq!(user.answered(ask.step, page.as_bytes()), None, "session {session}: {ask:?} {page}");
            let name = ask.step.name();
            if !name.contains('/') {
                *counts.entry(name).or_default() += 1;
                actions += 1;
            }
            if ask.step == Step::Logout {
                break;
            }
        }
    }
    // A login belongs to each session, so that the others have the rest.
    let share = |name: &str| 100.0 * counts[name] as f64 / (actions - counts["login"]) as f64;
    for (name, percent) in
        [("quotes", 40.0), ("home", 20.0), ("portfolio", 12.0), ("account", 10.0), ("logout", 4.0)]
    {
        assert!((share(name) - percent).abs() < 1.0, "{name}: {}", share(name));
    }
    for (name, percent) in [("buy", 4.0), ("sell", 4.0), ("update", 4.0), ("register", 2.0)] {
        assert!((share(name) - percent).abs() < 1.0, "{name}: {}", share(name));
    }
}

/// Plays to a purchase, whose page is changed by `spoil`, and says what is wrong with it.
fn spoiled(spoil: impl Fn(&mut Server)) -> Option<&'static str> {
    let (mut user, mut server) = (user("/app"), Server::new());
    // The digits draw a purchase: quotes to logout are 86 of a hundred.
    for _ in 0..3 {
        let ask = user.next(87);
        if ask.step == Step::Buy {
            spoil(&mut server);
        }
        let page = server.answer(&ask);
        let wrong = user.answered(ask.step, page.as_bytes());
        if ask.step == Step::Buy {
            return wrong;
        }
        assert_eq!(wrong, None);
    }
    Some("no purchase")
}

#[test]
fn money_and_orders_that_are_lost_or_doubled_are_noticed() {
    assert_eq!(spoiled(|_| {}), None);
    assert_eq!(spoiled(|server| server.balance += 1), Some("wrong-balance"));
    assert_eq!(spoiled(|server| server.entries -= 1), Some("order-lost"));
    assert_eq!(spoiled(|server| server.holdings.clear()), Some("wrong-holdings"));
    assert_eq!(spoiled(|server| server.user = "uid:4".into()), Some("wrong-page"));
    assert_eq!(spoiled(|server| server.entries += 1), Some("order-doubled"));
}

/// A server and the users of one process.
fn shared() -> (Arc<Options>, Arc<Users>, Server) {
    let options = Arc::new(Options::parse("/app").unwrap());
    (Arc::clone(&options), Arc::new(Users::new(options.users)), Server::new())
}

/// Sends the request that these digits draw: what is wrong with its page.
fn answered(user: &mut User, server: &mut Server, random: u64) -> Option<&'static str> {
    let ask = user.next(random);
    let page = server.answer(&ask);
    user.answered(ask.step, page.as_bytes())
}

/// The next session of the user: what is wrong with the page of its login.
fn login(user: &mut User, server: &mut Server) -> Option<&'static str> {
    user.begin(3);
    answered(user, server, 0)
}

#[test]
fn what_is_lost_or_doubled_between_sessions_is_noticed_at_the_next_login() {
    let (options, users, mut server) = shared();
    let mut user = User::new(options, users);
    assert_eq!(login(&mut user, &mut server), None);
    assert_eq!(login(&mut user, &mut server), None);
    server.entries += 1;
    assert_eq!(login(&mut user, &mut server), Some("order-doubled"));
    assert_eq!(login(&mut user, &mut server), None);
    server.entries -= 1;
    assert_eq!(login(&mut user, &mut server), Some("order-lost"));
    server.balance -= 1;
    assert_eq!(login(&mut user, &mut server), Some("wrong-balance"));
}

#[test]
fn an_order_without_an_answer_may_have_been_carried_out_and_none_may_be_lost() {
    let (options, users, mut server) = shared();
    let mut user = User::new(options, users);
    assert_eq!(login(&mut user, &mut server), None);
    assert_eq!(answered(&mut user, &mut server, 87), None);
    let buy = user.next(87);
    assert_eq!(buy.step, Step::Buy);
    server.answer(&buy);
    assert_eq!(login(&mut user, &mut server), None);
    server.entries -= 1;
    assert_eq!(login(&mut user, &mut server), Some("order-lost"));
}

#[test]
fn sales_that_are_completed_later_are_not_doubled() {
    let (options, users, mut server) = shared();
    let mut user = User::new(options, users);
    assert_eq!(login(&mut user, &mut server), None);
    assert_eq!(answered(&mut user, &mut server, 92), None);
    let sell = user.next(0);
    let page = server.page(
        "sell",
        "<i data-trade=\"status\" data-value=\"open\"><i data-trade=\"cost\" data-value=\"-500\">",
    );
    assert_eq!((sell.step, user.answered(sell.step, page.as_bytes())), (Step::Sell, None));
    (server.entries, server.balance) = (server.entries + 1, server.balance + 500);
    assert_eq!(login(&mut user, &mut server), None);
    server.entries += 1;
    assert_eq!(login(&mut user, &mut server), Some("order-doubled"));
}

#[test]
fn with_other_processes_or_other_sessions_of_the_same_user_orders_may_come_between() {
    let (options, users, mut server) = shared();
    users.shares_server();
    let mut user = User::new(options, users);
    assert_eq!(login(&mut user, &mut server), None);
    server.entries += 1;
    assert_eq!(answered(&mut user, &mut server, 45), None);
    server.entries -= 1;
    assert_eq!(login(&mut user, &mut server), None, "what another has seen is not known");

    let users = Arc::new(Users::new(1));
    let session = || {
        let mut user = User::new(Arc::new(Options::parse("/app?users=1").unwrap()), Arc::clone(&users));
        user.begin(0);
        user
    };
    let (mut one, _other) = (session(), session());
    let mut server = Server { user: "uid:0".into(), ..Server::new() };
    assert_eq!(answered(&mut one, &mut server, 0), None);
    server.entries += 1;
    assert_eq!(answered(&mut one, &mut server, 45), None);
}

#[test]
fn who_holds_nothing_buys_though_the_pages_do_not_say_what_is_held() {
    let mut user = user("/?app=daytrader");
    let mut steps = Vec::new();
    // A sale, of 90 to 93, for want of holdings is a purchase; a later purchase, of 86 to 89, is a sale.
    for (random, page) in [
        (1, "DayTrader Home uid:3"),
        (92, "DayTrader Portfolio"),
        (1, "DayTrader Quotes"),
        (1, "Order has been submitted"),
        (87, "DayTrader Portfolio <A href=\"app?action=sell&holdingID=17\">"),
        (1, "Order has been submitted"),
    ] {
        let ask = user.next(random);
        let symbols: String = user.symbols().iter().map(|symbol| format!("<A>{symbol}</A>")).collect();
        steps.push(ask.step);
        let page = format!("{page}{symbols}");
        assert_eq!(user.answered(ask.step, page.as_bytes()), None, "{ask:?} {page}");
    }
    use Step::{Buy, BuyQuotes, Login, Sell, SellPortfolio};
    assert_eq!(steps, [Login, SellPortfolio, BuyQuotes, Buy, SellPortfolio, Sell]);
}

#[test]
fn what_daytrader_was_asked_for_and_does_not_show_is_noticed() {
    let told = |random: u64, pages: [&str; 3]| {
        let mut user = user("/?app=daytrader");
        let mut wrong = None;
        for page in pages {
            let ask = user.next(random);
            wrong = user.answered(ask.step, page.as_bytes());
        }
        wrong
    };
    let account = "DayTrader Account uid:3";
    assert_eq!(told(95, ["DayTrader Home uid:3", account, account]), Some("profile-unchanged"));
    assert_eq!(told(87, ["DayTrader Home uid:3", account, account]), Some("wrong-page"));
    assert_eq!(told(5, ["DayTrader Home uid:3", "DayTrader Quotes", ""]), Some("wrong-page"));
}

#[test]
fn a_user_is_logged_in_once_and_given_back() {
    let users = Users::new(2);
    let take = |session| users.take(session).map(|(user, _)| user);
    assert_eq!((take(1), take(1), take(0)), (Some(1), Some(0), None));
    users.give(0, Last::default());
    assert_eq!(take(5), Some(0));
}

#[test]
fn options_are_read_and_wrong_ones_refused() {
    let options = Options::parse("/?app=daytrader&users=15000&think=250").unwrap();
    assert_eq!((&*options.path, options.users, options.think.as_millis()), ("/daytrader/app", 15_000, 250));
    assert_eq!(Options::parse("/x/app").unwrap().path, "/x/app");
    for wrong in ["/?app=other", "/?users=0", "/?users=x", "/?mix=1"] {
        assert!(Options::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn any_page_is_survived() {
    for page in [
        &b""[..],
        b"data-trade=\"balance\" data-value=\"",
        b"\xff\x00<",
        b"data-trade=\"declined\" data-value=\"\"",
    ] {
        for query in ["/app", "/?app=daytrader"] {
            let mut user = user(query);
            let ask = user.next(5);
            assert!(user.answered(ask.step, page).is_some());
        }
    }
}
