//! Cookies and redirects.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::server::{Request, Server, ok};
use super::{json, load, refused};
use crate::support::stdout;

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

/// With both engines and both versions.
fn everywhere(mut each: impl FnMut(&[&str], &str)) {
    for (engine, http) in [("epoll", "1.1"), ("epoll", "2"), ("uring", "1.1"), ("uring", "2")] {
        each(&["--engine", engine, "--http", http], http);
    }
}

#[test]
fn each_connection_keeps_its_own_cookies_and_follows_redirects_with_both_engines() {
    everywhere(|how, http| {
        let server = Server::start(login);
        let url = server.url("/");
        let result = json(&[&[&*url, "-c", "3", "-n", "30", "--cookies", "--follow", "5"], how].concat());
        assert_eq!(result["requests"]["ok"], 30, "{http}: {result:#}");
        assert_eq!(result["statuses"], serde_json::json!({"200": 30}));
        assert_eq!(result["protocol"]["redirects_followed"], 6);
        assert_eq!(server.seen().len(), 36);
        let logins = server.seen().iter().filter(|r| r.line().starts_with("GET /login")).count();
        assert_eq!(logins, 3, "one for each connection");
    });
}

/// As [`login`], with a cookie for each who logs in.
fn login_of_many(request: &Request, logins: &AtomicUsize) -> String {
    let redirect = |to: &str, cookie: &str| {
        format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\n{cookie}Content-Length: 4\r\n\r\nmove")
    };
    match (request.line(), request.header("cookie")) {
        ("POST /", None) if request.body == b"hello" => redirect("login", ""),
        ("GET /login", None) if request.body.is_empty() => {
            let user = logins.fetch_add(1, Ordering::SeqCst);
            redirect("/home", &format!("Set-Cookie: user={user}; Path=/\r\n"))
        }
        ("POST /" | "GET /home", Some(cookie)) if cookie.starts_with("user=") => ok(request),
        _ => "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n".into(),
    }
}

#[test]
fn each_stream_is_a_user_with_cookies_of_its_own() {
    for engine in ["epoll", "uring"] {
        let logins = AtomicUsize::new(0);
        let server = Server::start(move |request| login_of_many(request, &logins));
        let url = server.url("/");
        let arguments = ["-c", "2", "--streams", "5", "-n", "200", "--cookies", "--follow", "5"];
        let how = ["--http", "2", "--body", "hello", "--engine", engine];
        let result = json(&[&[&*url], &arguments[..], &how].concat());
        assert_eq!(result["statuses"], serde_json::json!({"200": 200}), "{result:#}");
        // A POST that is sent on is one without a body, and each of the ten users logs in once.
        assert_eq!(result["protocol"]["redirects_followed"], 20);
        let mut users = BTreeMap::new();
        for request in server.seen() {
            if let Some(cookie) = request.header("cookie") {
                *users.entry(cookie.to_owned()).or_insert(0) += 1;
            }
        }
        assert_eq!(users.len(), 10, "{users:?}");
        assert!(users.values().all(|count| *count > 1), "{users:?}");
    }
}

#[test]
fn a_redirect_that_is_not_followed_is_a_reply() {
    everywhere(|how, http| {
        let server = Server::start(login);
        let result = json(&[&[&*server.url("/"), "-n", "4"], how].concat());
        assert_eq!((&result["statuses"]["302"], &result["requests"]["ok"]), (&4.into(), &4.into()));
        let away = Server::start(|_| {
            "HTTP/1.1 301 Moved\r\nLocation: http://elsewhere.invalid/\r\nContent-Length: 0\r\n\r\n".into()
        });
        let result = json(&[&[&*away.url("/"), "-n", "4", "--follow", "3"], how].concat());
        assert_eq!(
            (&result["statuses"]["301"], &result["protocol"]["redirects_elsewhere"]),
            (&4.into(), &4.into())
        );
        let endless = Server::start(|request| match request.line() {
            "GET /right" => "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".into(),
            _ => "HTTP/1.1 307 Again\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n".into(),
        });
        let paths = ["--path", "/right", "--path", "/", "--choice", "turn"];
        let result = json(&[&[&*endless.url("/"), "-n", "4", "--follow", "3"], &paths[..], how].concat());
        let counted = serde_json::json!({"redirects_followed": 6, "redirects_over_limit": 2});
        assert_eq!(result["protocol"], counted, "{http}");
        assert_eq!(result["errors"][0]["kind"], "redirect-limit", "{http}");
        assert_eq!(result["requests"]["ok"], 2, "{http}");
        // A connection that takes no more requests is not asked for what a redirect names.
        let closing = Server::start(|_| {
            "HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n".into()
        });
        let result = json(&[&[&*closing.url("/"), "-n", "3", "--follow", "3", "-c", "1"], how].concat());
        assert_eq!(result["protocol"]["redirects_on_closed_connections"], 3, "{http}: {result:#}");
        assert_eq!((&result["statuses"]["302"], closing.seen().len()), (&3.into(), 3), "{http}");
    });
}

#[test]
fn what_cannot_be_is_refused() {
    assert!(refused(&["http://127.0.0.1:1/", "--follow", "1", "--pipeline", "2"]).contains("--pipeline"));
    let body = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    assert!(
        refused(&["http://127.0.0.1:1/", "-X", "HEAD", "--expect-body", body])
            .contains("HEAD has no content")
    );
    assert!(refused(&["redis://127.0.0.1:1/", "--cookies"]).contains("no effect on redis://"));
}

#[test]
fn a_server_that_sends_all_elsewhere_is_told_in_the_head_of_the_summary() {
    let sends = |status: u16, to: &'static str| {
        Server::start(move |_| {
            format!("HTTP/1.1 {status} Moved\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
        })
    };
    let elsewhere = "https://www.example.com/";
    for (status, to, more, said) in [
        (301, elsewhere, &[][..], "all replies are redirects to https://www.example.com/: load that\n"),
        (
            302,
            elsewhere,
            &["--follow", "3"],
            "all replies are redirects to https://www.example.com/: load that\n",
        ),
        (
            308,
            "/there",
            &["--cookies"],
            "all replies are redirects to /there: load that, or follow it with --follow 1\n",
        ),
        (304, elsewhere, &[], ""),
    ] {
        let server = sends(status, to);
        let url = server.url("/");
        let output = load(&[&[&*url, "-n", "4", "-c", "2"], more].concat());
        let summary = stdout(&output);
        let head: String = summary.split_inclusive('\n').take(4).collect();
        assert!(head.contains(said) && said.is_empty() != head.contains("redirects"), "{summary}");
        let result = json(&[&[&*url, "-n", "4", "--processes", "2"], more].concat());
        let told = result["redirects_to"].as_str();
        assert_eq!(told, (status != 304).then_some(to));
    }
}
