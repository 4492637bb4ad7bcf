/// The options about sessions.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// `N1,N2,X`: N1 sessions of N2 requests, with X seconds between bursts.
    pub wsess: Option<String>,
    /// Requests of a burst of `wsess`; one if `None`.
    pub burst_length: Option<u64>,
    /// `N,X,F`: N sessions of those in the file F, in turn, with X seconds between bursts.
    pub wsesslog: Option<String>,
    /// `y|n,F`: the URIs of the file F, which are separated by NUL, over and over or once.
    pub wlog: Option<String>,
    /// A session continues on the connection of the one before it; the protocol's default if `None`.
    pub keep_connection: Option<bool>,
}
