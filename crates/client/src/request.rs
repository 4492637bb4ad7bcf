/// A request as the user wrote it. Protocols without methods and bodies use the path only.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestSpec {
    /// `GET`.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// Headers of this request, which replace those of all requests.
    pub headers: Vec<(String, String)>,
    /// Its weight, relative to the others.
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
