//! Cookies and redirects.

use crate::server::{Request, Server, ok};
use crate::{json, refused};

/// A site with a login: `/` leads there, it sets a cookie, and its last page wants it.
fn login(request: &Request) -> String {
    let redirect = |to: &str, cookie: &str| {
        format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\n{cookie}Content-Length: 4\r\n\r\nmove")
    };
    match (request.line(), request.header("cookie")) {
        ("GET /", None) => redirect("login?to=/home", ""),
        ("GET /login?to=/home", None) => {
            redirect("/home", &format!("Set-Cookie: user={}; Path=/\r\n", request.connection))
        }
        ("GET /" | "GET /home", Some(cookie)) if cookie == format!("user={}", request.connection) => {
            ok(request)
        }
        _ => "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n".into(),
    }
}

#[test]
fn each_connection_keeps_its_own_cookies_and_follows_redirects_with_both_engines() {
    for engine in ["epoll", "uring"] {
        let server = Server::start(login);
        let url = server.url("/");
        let result = json(&[&url, "-c", "3", "-n", "30", "--cookies", "--follow", "5", "--engine", engine]);
        assert_eq!(result["requests"]["ok"], 30, "{result:#}");
        assert_eq!(result["statuses"], serde_json::json!({"200": 30}));
        assert_eq!(result["protocol"]["redirects_followed"], 6);
        assert_eq!(server.seen().len(), 36);
        let logins = server.seen().iter().filter(|r| r.line().starts_with("GET /login")).count();
        assert_eq!(logins, 3, "one for each connection");
    }
}

#[test]
fn a_redirect_that_is_not_followed_is_a_reply() {
    let server = Server::start(login);
    let result = json(&[&server.url("/"), "-n", "4"]);
    assert_eq!((&result["statuses"]["302"], &result["requests"]["ok"]), (&4.into(), &4.into()));
    let away = Server::start(|_| {
        "HTTP/1.1 301 Moved\r\nLocation: http://elsewhere.invalid/\r\nContent-Length: 0\r\n\r\n".into()
    });
    let result = json(&[&away.url("/"), "-n", "4", "--follow", "3"]);
    assert_eq!(
        (&result["statuses"]["301"], &result["protocol"]["redirects_elsewhere"]),
        (&4.into(), &4.into())
    );
    let endless =
        Server::start(|_| "HTTP/1.1 307 Again\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n".into());
    let result = json(&[&endless.url("/"), "-n", "2", "--follow", "3"]);
    assert_eq!(result["protocol"], serde_json::json!({"redirects_followed": 6, "redirects_over_limit": 2}));
}

#[test]
fn what_cannot_be_is_refused() {
    assert!(refused(&["http://127.0.0.1:1/", "--follow", "1", "--pipeline", "2"]).contains("--pipeline"));
    assert!(refused(&["redis://127.0.0.1:1/", "--cookies"]).contains("no effect on redis://"));
}
