//! Sessions: steps in their order, values from replies, bursts, and what becomes of sessions that fail.

use super::server::{Act, Request, Server, ok};
use super::{file, load, load_with_input, refused};

/// Over both versions of HTTP.
fn both(mut each: impl FnMut(&str)) {
    ["1.1", "2"].into_iter().for_each(&mut each);
}

fn lines(seen: &[Request]) -> Vec<String> {
    seen.iter().map(Request::line).collect()
}

/// A shop: who logs in gets a token and a cookie, and everything else wants both.
fn shop(request: &Request) -> Act {
    match (&*request.method, &*request.path) {
        ("POST", "/login") => {
            let user = request.body.strip_prefix("user=").unwrap_or_default();
            let body = format!(r#"{{"user": {{"id": "{user}+1"}}, "next": "/cart"}}"#);
            Act::Reply(200, "X-Token: secret\r\nSet-Cookie: id=7; Path=/\r\n", body)
        }
        ("GET", path) if path.starts_with("/cart") && request.header("authorization") == "Bearer secret" => {
            Act::Reply(200, "", "<input name=\"csrf\" value=\"a/b+c\">".into())
        }
        ("POST", "/buy") => Act::Reply(302, "Location: /done?order=5\r\n", String::new()),
        ("GET", "/done?order=5") => ok(),
        _ => Act::Reply(403, "", String::new()),
    }
}

const SHOPPING: &str = r#"
[[session]]
name = "shop"

[[session.step]]
name = "login"
url = "/login"
headers = { Content-Type = "text/plain" }
body = "user={session}"
take = { token = { header = "X-Token" }, user = { json = "/user/id" }, cart = { json = "/next" } }

[[session.step]]
name = "cart"
url = "{cart}?user={user}"
headers = { Authorization = "Bearer {token}" }
think = "1ms"
take = { csrf = { regex = 'name="csrf" value="([^"]+)"' }, code = { status = true } }

[[session.step]]
name = "buy"
url = "/buy"
headers = { Content-Type = "application/x-www-form-urlencoded" }
body = "csrf={csrf}&code={code}&literal={{code}}"
expect = "302"
take = { done = { header = "location" } }

[[session.step]]
name = "done"
url = "{done}"
"#;

#[test]
fn values_of_replies_are_put_into_later_requests() {
    both(|http| {
        let server = Server::start(shop);
        let file = file(SHOPPING);
        let (result, code) =
            load(&[&server.url(), "--http", http, "--requests", &file.path, "-c", "1", "-n", "2"]);
        assert_eq!(code, 0, "{result}");
        let seen = server.seen();
        let one = |user: u32| {
            [
                "POST /login".to_owned(),
                format!("GET /cart?user={user}+1"),
                "POST /buy".into(),
                "GET /done?order=5".into(),
            ]
        };
        assert_eq!(lines(&seen), [one(0), one(1)].concat());
        assert_eq!(
            (&*seen[2].body, seen[2].header("content-length")),
            ("csrf=a%2Fb%2Bc&code=200&literal={code}", "38")
        );
        // A session is a new user with a connection and cookies of its own.
        assert_eq!(seen.iter().map(|r| r.connection).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 1, 1, 1]);
        let cookies: Vec<&str> = seen.iter().map(|r| r.header("cookie")).collect();
        assert_eq!(cookies, ["", "id=7", "id=7", "id=7", "", "id=7", "id=7", "id=7"]);
        let sessions = &result["sessions"];
        assert_eq!(
            (&sessions["begun"], &sessions["completed"], &sessions["failed"]),
            (&2.into(), &2.into(), &0.into())
        );
        assert_eq!((&sessions["time_ns"]["count"], &result["requests"]["ok"]), (&2.into(), &8.into()));
    });
}

#[test]
fn a_connection_may_be_kept_for_the_next_session() {
    both(|http| {
        let server = Server::start(shop);
        let file = file(SHOPPING);
        let arguments = [
            &*server.url(),
            "--requests",
            &file.path,
            "-c",
            "1",
            "-n",
            "2",
            "--http",
            http,
            "--session-connection",
            "keep",
        ];
        let (result, _) = load(&arguments);
        assert_eq!(result["sessions"]["completed"], 2, "{result}");
        assert!(server.seen().iter().all(|request| request.connection == 0));
        assert_eq!(server.seen()[4].header("cookie"), "");
    });
}

#[test]
fn a_failed_step_ends_its_session_and_is_counted_by_its_name() {
    both(|http| {
        let server = Server::start(shop);
        let broken = file(&SHOPPING.replace("Bearer {token}", "Bearer other"));
        let (result, _) =
            load(&[&server.url(), "--http", http, "--requests", &broken.path, "-c", "1", "-n", "3"]);
        assert_eq!(lines(&server.seen()[..2]), ["POST /login", "GET /cart?user=0+1"]);
        assert_eq!(server.seen().len(), 6);
        let sessions = &result["sessions"];
        assert_eq!((&sessions["failed"], &sessions["completed"]), (&3.into(), &0.into()), "{result}");
        assert_eq!(sessions["failed_at"][0]["step"], "shop/cart");
        let error = &result["errors"][0];
        assert_eq!(
            (&error["kind"], &error["count"]),
            (&"shop/cart:status-403".into(), &3.into()),
            "{result}"
        );

        let missing = file(&SHOPPING.replace("/user/id", "/user/name"));
        let (result, _) =
            load(&[&server.url(), "--http", http, "--requests", &missing.path, "-c", "1", "-n", "1"]);
        assert_eq!(result["errors"][0]["kind"], "shop/login:no-user", "{result}");
    });
}

#[test]
fn a_session_whose_connection_is_lost_has_failed() {
    both(|http| {
        let server = Server::start(|request| if request.path == "/b" { Act::Close } else { ok() });
        let file = file(
            "[[session]]\n[[session.step]]\nurl = '/a'\n[[session.step]]\nurl = '/b'\n[[session.step]]\nurl = '/c'\n",
        );
        let (result, _) =
            load(&[&server.url(), "--http", http, "--requests", &file.path, "-c", "1", "-n", "2"]);
        assert_eq!(lines(&server.seen()), ["GET /a", "GET /b", "GET /a", "GET /b"]);
        assert_eq!(
            (&result["sessions"]["failed"], &result["sessions"]["failed_at"][0]["step"]),
            (&2.into(), &"1/2".into())
        );
    });
}

#[test]
fn a_session_goes_on_after_its_server_has_closed_in_order() {
    both(|http| {
        let server = Server::start(|_| Act::Reply(200, "Connection: close\r\n", String::new()));
        let file = file(
            "[[session]]\n[[session.step]]\nurl = '/a'\n[[session.step]]\nurl = '/b'\n[[session.step]]\nurl = '/c'\n",
        );
        let (result, code) =
            load(&[&server.url(), "--http", http, "--requests", &file.path, "-c", "1", "-n", "1"]);
        assert_eq!((code, &result["sessions"]["completed"]), (0, &1.into()), "{result}");
        assert_eq!(lines(&server.seen()), ["GET /a", "GET /b", "GET /c"]);
    });
}

/// Replies to no request of a burst but the first before the last of them has come.
fn bursts(last: &'static str) -> impl Fn(&Request) -> Act {
    move |request| if request.path.contains("embedded") && request.path != last { Act::Wait } else { ok() }
}

#[test]
fn the_first_request_of_a_burst_goes_alone_and_the_others_at_once() {
    both(|http| {
        let server = Server::start(bursts("/embedded3"));
        let burst = |n: u32| format!("[[session.step]]\nurl = '/embedded{n}'\nburst = true\n");
        let file = file(
            &("[[session]]\n[[session.step]]\nurl = '/page'\n".to_owned()
                + &burst(1)
                + &burst(2)
                + &burst(3)),
        );
        let (result, code) =
            load(&[&server.url(), "--http", http, "--requests", &file.path, "-c", "1", "-n", "2"]);
        assert_eq!((code, &result["sessions"]["completed"]), (0, &2.into()), "{result}");
        let one = ["GET /page", "GET /embedded1", "GET /embedded2", "GET /embedded3"];
        assert_eq!(lines(&server.seen()), [one, one].concat());
        // Whatever was sent before the page's reply would have been there when it was written.
        assert!(server.seen().iter().filter(|r| r.path == "/page").all(|r| r.ahead == 0));
    });
}

#[test]
fn sessions_of_httperf_are_played() {
    both(|http| {
        let server = Server::start(bursts("/embedded2"));
        let url = server.url();
        let log = file(
            "/page method=POST contents='typed'\n  /embedded1\n  /embedded2 think=0.001\n/next\n\n/other\n",
        );
        let (result, code) =
            load(&[&url, "--http", http, &format!("--wsesslog=3,0,{}", log.path), "-c", "1"]);
        assert_eq!((code, &result["sessions"]["completed"]), (0, &3.into()), "{result}");
        let first = ["POST /page", "GET /embedded1", "GET /embedded2", "GET /next"];
        assert_eq!(lines(&server.seen()), [&first[..], &["GET /other"], &first[..]].concat());
        assert_eq!(server.seen()[0].body, "typed");

        let before = server.seen().len();
        let (result, code) = load(&[
            &format!("{url}/x"),
            "--http",
            http,
            "--wsess=2,3,0.001",
            "--burst-length",
            "2",
            "-c",
            "2",
        ]);
        assert_eq!((code, &result["sessions"]["completed"]), (0, &2.into()), "{result}");
        assert_eq!(server.seen().len() - before, 6);

        let before = server.seen().len();
        let uris = file("/a\0/b\0/c\0");
        let (result, code) = load(&[&url, "--http", http, &format!("--wlog=n,{}", uris.path), "-c", "1"]);
        assert_eq!((code, &result["requests"]["ok"]), (0, &3.into()), "{result}");
        assert_eq!(lines(&server.seen()[before..]), ["GET /a", "GET /b", "GET /c"]);
    });
}

#[test]
fn a_rate_is_that_of_sessions() {
    both(|http| {
        let server = Server::start(|_| ok());
        let file =
            file("[[session]]\n[[session.step]]\nurl = '/a'\nthink = '1ms'\n[[session.step]]\nurl = '/b'\n");
        let (result, code) = load(&[
            &server.url(),
            "--http",
            http,
            "--requests",
            &file.path,
            "-c",
            "20",
            "-R",
            "100",
            "-n",
            "30",
            "-t",
            "2",
        ]);
        assert_eq!(code, 0, "{result}");
        let sessions = &result["sessions"];
        let all =
            |what: &str| sessions[what].as_u64().unwrap() + result["requests"]["missed"].as_u64().unwrap();
        assert_eq!(
            (all("begun"), sessions["asked_per_s"].as_f64().map(f64::round)),
            (30, Some(100.0)),
            "{result}"
        );
        assert_eq!(server.seen().len() as u64, 2 * sessions["begun"].as_u64().unwrap());
        assert!(result["asked_rps"].is_null());
    });
}

#[test]
fn the_summary_tells_what_became_of_sessions() {
    let server = Server::start(shop);
    let file = file(&SHOPPING.replace("expect = \"302\"", ""));
    let output = load_with_input(&[&server.url(), "--requests", &file.path, "-n", "4", "-c", "2"], "");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("4 sessions: 4 completed, 0 failed") && said.contains("time of a session: "),
        "{said}"
    );
}

#[test]
fn what_contradicts_sessions_is_refused() {
    let session = file(SHOPPING);
    let url = "http://127.0.0.1:9";
    for more in [
        &["--pipeline", "2"][..],
        &["--http", "2", "--streams", "2"],
        &["--follow", "2"],
        &["--verify"],
        &["--choice", "zipf"],
        &["--idle", "1", "--idle-trickle", "1s"],
        &["--wsess=1,1,1"],
    ] {
        let said = refused(&[&[url, "--requests", &session.path], more].concat());
        let option = more.iter().rfind(|word| word.starts_with("--")).unwrap();
        assert!(said.contains(option.split('=').next().unwrap()), "{more:?}: {said}");
    }
    assert!(refused(&["redis://127.0.0.1:9", "--wsess=1,1,1"]).contains("http"));
    assert!(refused(&[url, "--wsess=1,1,1", "-n", "5"]).contains("-n"));
    let unknown = file(&SHOPPING.replace("{cart}", "/{nobody}"));
    let said = refused(&[url, "--requests", &unknown.path]);
    assert!(said.contains("step `cart`") && said.contains("`{nobody}`"), "{said}");
}
