/// One request of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    Login,
    Quotes,
    Home,
    Portfolio,
    Account,
    Logout,
    BuyQuotes,
    Buy,
    SellPortfolio,
    Sell,
    UpdateAccount,
    Update,
    RegisterLogout,
    Register,
}

/// All steps and their names. Those with a slash are parts of an action; its last request has its name.
pub(super) const STEPS: [(Step, &str); 14] = [
    (Step::Login, "login"),
    (Step::Quotes, "quotes"),
    (Step::Home, "home"),
    (Step::Portfolio, "portfolio"),
    (Step::Account, "account"),
    (Step::Logout, "logout"),
    (Step::BuyQuotes, "buy/quotes"),
    (Step::Buy, "buy"),
    (Step::SellPortfolio, "sell/portfolio"),
    (Step::Sell, "sell"),
    (Step::UpdateAccount, "update/account"),
    (Step::Update, "update"),
    (Step::RegisterLogout, "register/logout"),
    (Step::Register, "register"),
];

/// The published mix in percent, by the first step of each action.
pub(super) const MIX: [(Step, u64); 9] = [
    (Step::Quotes, 40),
    (Step::Home, 20),
    (Step::Portfolio, 12),
    (Step::Account, 10),
    (Step::Logout, 4),
    (Step::BuyQuotes, 4),
    (Step::SellPortfolio, 4),
    (Step::UpdateAccount, 4),
    (Step::RegisterLogout, 2),
];

impl Step {
    /// Its number in [`STEPS`].
    pub(super) fn number(self) -> u16 {
        STEPS.iter().position(|(step, _)| *step == self).unwrap_or(0) as u16
    }

    pub(super) fn name(self) -> &'static str {
        STEPS[usize::from(self.number())].1
    }

    /// The first step of a random action.
    pub(super) fn drawn(random: u64) -> Step {
        let mut rest = random % 100;
        for (step, share) in MIX {
            match rest.checked_sub(share) {
                None => return step,
                Some(left) => rest = left,
            }
        }
        Step::Quotes
    }
}
