//! Who may see pages, and who may stop a run.
//!
//! A page of another site cannot read these pages, since it has another origin. It could if it had its name resolved to 127.0.0.1 (DNS
//! rebinding), so a request must name a loopback address; a port is not compared, so that `ssh -L` works. Stopping takes the token that
//! was printed. It comes once in the address and is kept in a cookie that scripts cannot read and other sites cannot send (RFC 6265bis,
//! section 5.6.7). Another server of this machine is the same site on another port, so the origin of a form is compared too.

use std::net::IpAddr;

use axum::http::{HeaderMap, Method, StatusCode, header};
use ring::digest::{SHA256, digest};

use crate::query::Query;

/// What decides.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    pub(crate) token: String,
    /// Whether every page takes the token, and not only what stops a run.
    pub(crate) is_private: bool,
    /// Whether pages come over TLS. Then the cookie goes over nothing else.
    pub(crate) is_secure: bool,
    /// Cookies are of a host and not of a port.
    pub(crate) port: u16,
}

/// What a request may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It may see pages.
    See,
    /// It may also stop runs.
    Stop,
    /// It brought the token in its address: it is to be sent there again, with a cookie.
    Enter,
    /// It may do nothing.
    None(StatusCode, &'static str),
}

impl Guard {
    /// What a request may do.
    pub(crate) fn access(&self, method: &Method, headers: &HeaderMap, query: &Query) -> Access {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let host = text(header::HOST).unwrap_or_default();
        // Where the token is needed, a foreign name gains nothing: the browser has no cookie for it.
        if !self.is_private && !is_loopback(host) {
            return Access::None(
                StatusCode::MISDIRECTED_REQUEST,
                "This server answers to 127.0.0.1 and localhost only.",
            );
        }
        let given = query.get("token");
        let is_given = !given.is_empty() && self.is_token(given);
        let is_kept = self.cookies(headers).any(|value| self.is_token(value));
        match (is_given, is_kept) {
            (true, _) if method == Method::GET => Access::Enter,
            (_, true) if method != Method::GET && !is_own_origin(text(header::ORIGIN), host) => {
                Access::None(StatusCode::FORBIDDEN, "This was sent by a page of another server.")
            }
            (true, _) | (_, true) => Access::Stop,
            _ if self.is_private => Access::None(
                StatusCode::FORBIDDEN,
                "This page takes the token: open the address that `pitot web` printed.",
            ),
            _ => Access::See,
        }
    }

    /// The cookie that keeps the token.
    pub(crate) fn cookie(&self) -> String {
        let secure = if self.is_secure { "; Secure" } else { "" };
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict{secure}", self.cookie_name(), self.token)
    }

    fn cookie_name(&self) -> String {
        format!("pitot-{}", self.port)
    }

    fn cookies<'h>(&self, headers: &'h HeaderMap) -> impl Iterator<Item = &'h str> {
        let name = self.cookie_name();
        let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        all.flat_map(|value| value.split(';'))
            .filter_map(move |pair| pair.trim().strip_prefix(&*name)?.strip_prefix('='))
    }

    /// Digests are compared, so that the time it takes says nothing of the token.
    fn is_token(&self, text: &str) -> bool {
        let of = |text: &str| digest(&SHA256, text.as_bytes());
        of(text).as_ref() == of(&self.token).as_ref()
    }
}

/// Whether a host, with a port or without, is a loopback address or its usual name.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Whether a form is of a page of this server. Browsers name the origin of every POST (Fetch, section 3.2); other clients need not.
fn is_own_origin(origin: Option<&str>, host: &str) -> bool {
    origin.is_none_or(|origin| origin.split_once("://").is_some_and(|(_, of)| of == host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(is_private: bool, method: &Method, headers: &[(&'static str, &str)], query: &str) -> Access {
        let guard = Guard { token: "secret".into(), is_private, is_secure: false, port: 7 };
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        guard.access(method, &headers.collect(), &Query::parse(Some(query)))
    }

    #[test]
    fn only_loopback_names_are_answered_unless_the_token_is_needed_for_everything() {
        let of = |host: &str| access(false, &Method::GET, &[("host", host)], "");
        for host in ["127.0.0.1:7468", "localhost", "LOCALHOST:1", "[::1]:7468", "127.0.0.2:80"] {
            assert_eq!(of(host), Access::See, "{host}");
        }
        for host in ["evil.test:7468", "127.0.0.1.evil.test", "", "localhost.evil.test", "192.168.0.1"] {
            assert!(matches!(of(host), Access::None(StatusCode::MISDIRECTED_REQUEST, _)), "{host}");
        }
        let private = |query: &str| access(true, &Method::GET, &[("host", "lab.example")], query);
        assert!(matches!(private(""), Access::None(StatusCode::FORBIDDEN, _)));
        assert!(matches!(private("token=wrong"), Access::None(StatusCode::FORBIDDEN, _)));
        assert_eq!(private("token=secret"), Access::Enter);
    }

    #[test]
    fn a_run_is_stopped_with_the_token_and_from_a_page_of_this_server() {
        let host = ("host", "127.0.0.1:7");
        let of = |headers: &[(&'static str, &str)], query: &str| {
            access(false, &Method::POST, &[&[host], headers].concat(), query)
        };
        assert_eq!(of(&[], ""), Access::See);
        assert_eq!(of(&[("cookie", "pitot-7=wrong")], ""), Access::See);
        assert_eq!(of(&[("cookie", "pitot-8=secret")], ""), Access::See, "it is of another server");
        assert_eq!(of(&[], "token=secret"), Access::Stop);
        let cookie = ("cookie", "a=b; pitot-7=secret");
        assert_eq!(of(&[cookie], ""), Access::Stop);
        assert_eq!(of(&[cookie, ("origin", "http://127.0.0.1:7")], ""), Access::Stop);
        for foreign in ["http://127.0.0.1:8", "http://evil.test", "null"] {
            let refused = of(&[cookie, ("origin", foreign)], "");
            assert!(matches!(refused, Access::None(StatusCode::FORBIDDEN, _)), "{foreign}");
        }
    }
}
