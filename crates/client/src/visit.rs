/// What a connection does in addition to its requests, like a browser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VisitOptions {
    /// Send back cookies that replies on the same connection have set.
    pub cookies: bool,
    /// Follow up to so many redirects in a row, to the same host and on the same connection.
    pub follow: u16,
    /// The time of day when the run begins, seconds since 1970: a cookie that expired before is deleted.
    pub now_s: u64,
}

impl VisitOptions {
    /// True if connections do any of it.
    pub fn any(self) -> bool {
        self.cookies || self.follow > 0
    }
}
