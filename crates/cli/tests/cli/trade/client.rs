//! Requests by hand, with the cookie of one user.

use serde_json::Value;

pub(crate) struct Client {
    agent: ureq::Agent,
    address: String,
    cookie: String,
}

impl Client {
    pub(crate) fn new(address: &str) -> Client {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        Client { agent, address: address.to_owned(), cookie: String::new() }
    }

    /// The status, and the text.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let request = self.agent.get(format!("http://{}{path}", self.address)).header("Cookie", &self.cookie);
        let mut reply = request.call().unwrap();
        let bytes = reply.body_mut().read_to_vec().unwrap();
        (reply.status().as_u16(), String::from_utf8_lossy(&bytes).into_owned())
    }

    /// An action as JSON.
    pub(crate) fn see(&self, action: &str) -> Value {
        serde_json::from_str(&self.get(&format!("/api?action={action}")).1).unwrap()
    }

    /// An action that changes something, as JSON.
    pub(crate) fn act(&mut self, action: &str, form: &str) -> Value {
        self.try_act(action, form).unwrap_or_else(|e| panic!("{action}: {e}"))
    }

    /// The same, of a server that may not be there.
    pub(crate) fn try_act(&mut self, action: &str, form: &str) -> Result<Value, String> {
        let request = self.agent.post(format!("http://{}/api?action={action}", self.address));
        let request = request.header("Cookie", &self.cookie);
        let request = request.header("Content-Type", "application/x-www-form-urlencoded");
        let mut reply = request.send(form).map_err(|e| e.to_string())?;
        if let Some(set) = reply.headers().get("set-cookie") {
            let attributes = set.to_str().unwrap().split_once(';').unwrap().1;
            for attribute in ["Path=/", "HttpOnly", "SameSite=Lax"] {
                assert!(attributes.contains(attribute), "{attributes}");
            }
            self.cookie = set.to_str().unwrap().split(';').next().unwrap().to_owned();
        }
        let text = reply.body_mut().read_to_string().map_err(|e| e.to_string())?;
        serde_json::from_str(&text).map_err(|e| format!("{e}: {text}"))
    }

    pub(crate) fn audit(&self) -> Value {
        serde_json::from_str(&self.get("/audit").1).unwrap()
    }
}
