//! Connections that keep cookies and follow redirects, against replies that a server could send.

use crate::exchange::{Draw, Progress, Reply, Tag, Verdict};
use crate::http::build::build;
use crate::outgoing::Outgoing;
use crate::protocol::{ClientConn, ClientOptions};
use crate::request::RequestSpec;
use crate::url::Url;
use crate::visit::VisitOptions;

struct Client {
    conn: Box<dyn ClientConn>,
    out: Outgoing,
}

impl Client {
    fn new(method: &str, body: &[u8], visit: VisitOptions, headers: &[(&str, &str)]) -> Client {
        let request = RequestSpec {
            method: method.into(),
            path: "/a/b".into(),
            body: body.to_vec(),
            ..RequestSpec::default()
        };
        let headers = headers.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let options = ClientOptions { requests: vec![request], visit, headers, ..ClientOptions::default() };
        let protocol = build(&Url::parse("http://h:81/").unwrap(), &options).unwrap();
        assert_eq!(protocol.request_bytes_max(), None);
        let mut client = Client { conn: protocol.connect(), out: Outgoing::new() };
        client.conn.open(&mut client.out);
        client
    }

    fn request(&mut self) -> String {
        self.out.clear();
        self.conn.request(Draw { random: 0, index: 0 }, &mut self.out);
        self.sent()
    }

    /// The outcome of a reply, and what was sent on it.
    fn reply(&mut self, text: &str) -> (Option<Reply>, String) {
        self.out.clear();
        let received = self.conn.receive(Some(Tag(0)), text.as_bytes(), &mut self.out).unwrap();
        assert_eq!(received.consumed, text.len());
        let reply = match received.progress {
            Progress::Reply(reply) => Some(Reply { content: 0, ..reply }),
            _ => None,
        };
        (reply, self.sent())
    }

    fn sent(&self) -> String {
        String::from_utf8(self.out.payload().as_slice().to_vec()).unwrap()
    }
}

fn redirect(status: u16, location: &str) -> String {
    format!("HTTP/1.1 {status} Moved\r\nContent-Length: 4\r\nLocation: {location}\r\n\r\nbody")
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn right(status: u16) -> Option<Reply> {
    Some(Reply { verdict: Verdict::Right, status, persists: true, content: 0 })
}

const FOLLOW: VisitOptions = VisitOptions { cookies: false, follow: 2, now_s: 0 };

#[test]
fn cookies_come_back_with_the_next_request_and_outlive_the_connection() {
    let visit = VisitOptions { cookies: true, follow: 0, now_s: 0 };
    let mut client = Client::new("POST", b"hello", visit, &[("X", "y")]);
    assert_eq!(
        client.request(),
        "POST /a/b HTTP/1.1\r\nHost: h:81\r\nX: y\r\nContent-Length: 5\r\n\r\nhello"
    );
    let set = "HTTP/1.1 200 OK\r\nset-cookie: id=7; Path=/\r\nSet-Cookie: no=1; Path=/c\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(client.reply(set).0, right(200));
    let with = "POST /a/b HTTP/1.1\r\nHost: h:81\r\nX: y\r\nContent-Length: 5\r\nCookie: id=7\r\n\r\nhello";
    assert_eq!(client.request(), with);
    client.conn.open(&mut Outgoing::new());
    assert_eq!(client.request(), with);
    let mut other = Client::new("GET", b"", visit, &[("Cookie", "mine=1")]);
    assert_eq!(other.request(), "GET /a/b HTTP/1.1\r\nHost: h:81\r\nCookie: mine=1\r\n\r\n");
}

#[test]
fn a_redirect_is_followed_on_the_same_connection_and_the_last_reply_counts() {
    let mut client = Client::new("POST", b"hello", FOLLOW, &[("X", "y")]);
    client.request();
    let (reply, next) = client.reply(&redirect(302, "c"));
    assert_eq!(
        (reply, &*next),
        (None, "GET /a/c HTTP/1.1\r\nHost: h:81\r\nX: y\r\n\r\n"),
        "the body goes by GET no more"
    );
    let (reply, next) = client.reply(&redirect(307, "http://h:81/d?e"));
    assert_eq!((reply, &*next), (None, "GET /d?e HTTP/1.1\r\nHost: h:81\r\nX: y\r\n\r\n"));
    assert_eq!(client.reply(OK), (right(200), String::new()));
    assert_eq!(client.conn.counts(), [("redirects_followed", 2)]);
    // The next request begins where the first did.
    assert!(client.request().starts_with("POST /a/b HTTP/1.1\r\n"));
    let (_, next) = client.reply(&redirect(308, "/d"));
    assert!(next.starts_with("POST /d HTTP/1.1\r\n") && next.ends_with("\r\n\r\nhello"), "{next}");
}

#[test]
fn what_is_not_followed_is_a_reply_like_any_other() {
    let mut client = Client::new("GET", b"", FOLLOW, &[]);
    for location in ["http://other/", "https://h:81/", "mailto:x"] {
        client.request();
        assert_eq!(client.reply(&redirect(301, location)), (right(301), String::new()), "{location}");
    }
    client.request();
    for _ in 0..2 {
        assert_eq!(client.reply(&redirect(301, "/again")).0, None);
    }
    let too_many = Reply { verdict: Verdict::Refused("redirect-limit"), ..right(301).unwrap() };
    assert_eq!(client.reply(&redirect(301, "/again")).0, Some(too_many));
    client.request();
    let closing = redirect(301, "/again").replace("Location", "Connection: close\r\nLocation");
    assert_eq!(client.reply(&closing).0, Some(Reply { persists: false, ..right(301).unwrap() }));
    client.request();
    assert_eq!(client.reply(&redirect(304, "/again").replace("\r\n\r\nbody", "\r\n\r\n")).0, right(304));
    assert_eq!(
        client.conn.counts(),
        [
            ("redirects_followed", 2),
            ("redirects_elsewhere", 3),
            ("redirects_over_limit", 1),
            ("redirects_on_closed_connections", 1)
        ]
    );
}

#[test]
fn cookies_that_a_redirect_sets_are_sent_to_where_it_leads() {
    let mut client = Client::new("GET", b"", VisitOptions { cookies: true, follow: 1, now_s: 0 }, &[]);
    client.request();
    let login = redirect(303, "/home").replace("Location", "Set-Cookie: s=1; Path=/home\r\nLocation");
    let (_, next) = client.reply(&login);
    assert_eq!(next, "GET /home HTTP/1.1\r\nHost: h:81\r\nCookie: s=1\r\n\r\n");
}
