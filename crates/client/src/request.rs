/// One request to be built, as the user wrote it. Protocols without methods and bodies use the path only.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestSpec {
    /// `GET`.
    pub method: String,
    /// What follows the authority in a URL.
    pub path: String,
    /// Headers of this request alone, which take the place of those of all requests.
    pub headers: Vec<(String, String)>,
    /// How often it is chosen, relative to the others.
    pub weight: f64,
    /// The body; empty for none.
    pub body: Vec<u8>,
}

impl Default for RequestSpec {
    /// `GET /`.
    fn default() -> RequestSpec {
        RequestSpec {
            method: "GET".into(),
            path: "/".into(),
            headers: Vec::new(),
            weight: 1.0,
            body: Vec::new(),
        }
    }
}
