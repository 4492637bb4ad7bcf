//! What users do, and what comes of it: plain data.

/// The fee of an order, cents.
pub const FEE: i64 = 2495;
/// The default opening balance of an account, cents.
pub const OPENING: i64 = 100_000_000;
/// The most symbols of one page of quotes.
pub const SYMBOLS_MAX: usize = 100;
/// The most shares of an order.
pub const SHARES_MAX: i64 = 1_000_000;

/// One action, with all that its outcome depends on besides the database.
#[derive(Clone, Debug)]
pub struct Action {
    /// The action.
    pub what: What,
    /// The session of the user, by its token; empty for none.
    pub session: String,
    /// The time, milliseconds since 1970.
    pub now_ms: i64,
    /// Chance: what a price moves by, and the token of a new session.
    pub random: [u64; 2],
    /// Whether an order is completed in this transaction.
    pub complete: bool,
}

/// The kinds of actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Opens an account and a session.
    Register {
        /// Name of the user.
        user: String,
        /// Password.
        password: String,
        /// Who it is.
        profile: Profile,
        /// Money put in, cents.
        opening: i64,
    },
    /// Opens a session.
    Login {
        /// Name of the user.
        user: String,
        /// Password.
        password: String,
    },
    /// Ends the session.
    Logout,
    /// The page after the login.
    Home,
    /// The account with its profile and its last orders.
    Account,
    /// Changes the profile.
    Update(Profile),
    /// The user's holdings.
    Portfolio,
    /// Prices of those symbols.
    Quotes(Vec<String>),
    /// Orders shares.
    Buy {
        /// Of this.
        symbol: String,
        /// So many.
        quantity: i64,
        /// The key of the order: the same key is the same order, however often it is sent. Empty for none.
        key: String,
    },
    /// Sells a holding.
    Sell {
        /// Its number.
        holding: i64,
        /// As for [`What::Buy`].
        key: String,
    },
    /// The status of an order.
    OrderStatus(i64),
    /// The market as a whole.
    Market,
    /// Completes an order of the queue.
    Complete(i64),
    /// The orders that are open, by number, up to so many.
    OpenOrders(i64),
}

impl What {
    /// The name of the action.
    pub fn name(&self) -> &'static str {
        match self {
            What::Register { .. } => "register",
            What::Login { .. } => "login",
            What::Logout => "logout",
            What::Home => "home",
            What::Account => "account",
            What::Update(_) => "update",
            What::Portfolio => "portfolio",
            What::Quotes(_) => "quotes",
            What::Buy { .. } => "buy",
            What::Sell { .. } => "sell",
            What::OrderStatus(_) => "order",
            What::Market => "market",
            What::Complete(_) => "complete",
            What::OpenOrders(_) => "open-orders",
        }
    }

    /// Whether it only reads.
    pub fn reads_only(&self) -> bool {
        matches!(
            self,
            What::Home
                | What::Account
                | What::Portfolio
                | What::Quotes(_)
                | What::OrderStatus(_)
                | What::Market
                | What::OpenOrders(_)
        )
    }
}

/// The outcome of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The session does not exist: the user has to log in.
    NoSession,
    /// It cannot be done, for this reason. Nothing has changed.
    Declined(&'static str),
    /// A session has begun, with its token.
    Begun(String, Box<View>),
    /// The session has ended.
    Ended,
    /// What there is to show.
    Done(Box<View>),
    /// Numbers of open orders.
    Orders(Vec<i64>),
}

/// What a page shows; each action fills in its part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The account of the user, as it is at the end of the transaction.
    pub account: Option<Account>,
    /// The profile.
    pub profile: Option<Profile>,
    /// Quotes.
    pub quotes: Vec<Quote>,
    /// Holdings.
    pub holdings: Vec<Holding>,
    /// Orders, the newest first.
    pub orders: Vec<Order>,
    /// The market.
    pub market: Option<Market>,
}

/// An account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Its number.
    pub id: i64,
    /// The name of its user.
    pub user: String,
    /// Money, cents.
    pub balance: i64,
    /// Money put in, cents.
    pub opening: i64,
    /// How many orders have changed the balance so far. Who knows the balance after one of them knows whether another came
    /// between.
    pub entries: i64,
    /// How many holdings it has.
    pub holdings: i64,
    /// Logins so far.
    pub logins: i64,
}

/// Who a user is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Name.
    pub name: String,
    /// E-mail.
    pub email: String,
    /// Postal address.
    pub address: String,
    /// Credit card.
    pub card: String,
}

/// A share and its price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    /// Its symbol.
    pub symbol: String,
    /// The company.
    pub company: String,
    /// Price, cents.
    pub price: i64,
    /// Price when the market opened, cents.
    pub open: i64,
    /// Lowest price, cents.
    pub low: i64,
    /// Highest price, cents.
    pub high: i64,
    /// Shares traded.
    pub volume: i64,
}

/// Shares that are held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Its number.
    pub id: i64,
    /// What.
    pub symbol: String,
    /// How many.
    pub quantity: i64,
    /// For how much each was bought, cents.
    pub price: i64,
    /// What each costs now, cents.
    pub now: i64,
    /// It is being sold.
    pub selling: bool,
}

/// An order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Its number.
    pub id: i64,
    /// `buy` or `sell`.
    pub kind: String,
    /// `open` or `closed`.
    pub status: String,
    /// What.
    pub symbol: String,
    /// How many.
    pub quantity: i64,
    /// For how much each, cents.
    pub price: i64,
    /// Fee, cents.
    pub fee: i64,
}

impl Order {
    /// The amount taken from the balance, or added to it if negative, cents.
    pub fn cost(&self) -> i64 {
        let shares = self.quantity * self.price;
        if self.kind == "buy" { shares + self.fee } else { self.fee - shares }
    }
}

/// The market as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Market {
    /// The mean price, cents.
    pub index: i64,
    /// The mean price when the market opened, cents.
    pub open: i64,
    /// Shares traded.
    pub volume: i64,
    /// Those that have risen most.
    pub gainers: Vec<Quote>,
    /// Those that have fallen most.
    pub losers: Vec<Quote>,
}
