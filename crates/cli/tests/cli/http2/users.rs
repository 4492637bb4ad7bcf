//! Users over HTTP/2: cookies, redirects, pages and sessions.

use std::sync::atomic::{AtomicUsize, Ordering};

use pitot_needs::needs;

use super::scripted::{self, frame, goaway, ok, reset};
use super::servers::Server;
use super::{count, json, outcome};

/// A page with so many images, as a reply.
fn page(stream: u32, images: usize) -> Vec<u8> {
    let html: String = (0..images).map(|n| format!("<img src=/{n}.png>")).collect();
    // Status 200, and a literal with the name `content-type` of the table.
    let head = [&[0x88, 0x0f, 0x10, 9][..], b"text/html"].concat();
    [frame(scripted::HEADERS, 4, stream, &head), frame(scripted::DATA, 1, stream, html.as_bytes())].concat()
}

#[test]
fn a_browser_asks_for_all_that_is_embedded_at_once_on_one_connection() {
    for engine in ["epoll", "uring"] {
        // No image is answered before all of them are asked for.
        let address = scripted::start(&[], |n, id| match n % 31 {
            0 => page(id, 30),
            30 => (0..30).flat_map(|back| ok(id - 2 * back)).collect(),
            _ => Vec::new(),
        });
        let url = format!("http://{address}/");
        let result = json(&["--browser", "-c", "2", "-n", "6", "--engine", engine, &url]);
        assert_eq!(outcome(&result), (6 * 31, vec![]), "{result}");
        assert_eq!((&result["pages"]["ok"], &result["pages"]["objects_per_page"]), (&6.into(), &30.0.into()));
        assert_eq!((&result["connections"]["opened"], &result["options"]["users"]), (&2.into(), &2.into()));
    }
}

#[test]
fn a_browser_uses_no_more_streams_than_the_server_or_the_user_allows() {
    for (settings, streams) in [(&[(3, 4)][..], &[][..]), (&[], &["--streams", "4"])] {
        // Four are answered together, and whoever asks for a fifth is reset.
        let address = scripted::start(settings, |n, id| match n % 13 {
            0 => page(id, 12),
            4 | 8 | 12 => (0..4).flat_map(|back| ok(id - 2 * back)).collect(),
            _ => Vec::new(),
        });
        let url = format!("http://{address}/");
        let result = json(&[&["--browser", "-c", "1", "-n", "3", &url], streams].concat());
        assert_eq!(outcome(&result), (3 * 13, vec![]), "{result}");
        assert_eq!(result["pages"]["ok"], 3);
    }
}

#[test]
fn a_page_fails_with_a_reset_and_is_read_to_its_end_after_what_was_given_back() {
    let address = scripted::start(&[], |n, id| match n % 6 {
        0 => page(id, 5),
        3 => reset(id, 7),
        _ => ok(id),
    });
    let result = json(&["--browser", "-c", "1", "-n", "2", &format!("http://{address}/")]);
    assert_eq!(outcome(&result), (10, vec!["protocol reset-refused-stream".to_owned()]), "{result}");
    assert_eq!((&result["pages"]["failed"], &result["pages"]["completed"]), (&2.into(), &0.into()));
    assert_eq!(result["connections"]["opened"], 1);
    // The server looks at two of the five images, and gives the others back.
    let connections = AtomicUsize::new(0);
    let address = scripted::start(&[], move |n, id| {
        let first = n > 0 || connections.fetch_add(1, Ordering::SeqCst) == 0;
        match n {
            0 if first => page(id, 5),
            2 => [goaway(id, 0), ok(id)].concat(),
            3.. if connections.load(Ordering::SeqCst) == 1 => Vec::new(),
            _ => ok(id),
        }
    });
    let result = json(&["--browser", "-c", "1", "-n", "1", &format!("http://{address}/")]);
    assert_eq!(outcome(&result), (6, vec![]), "{result}");
    assert_eq!((&result["pages"]["ok"], count(&result, "given-back")), (&1.into(), 3));
}

#[test]
fn a_session_whose_burst_is_reset_or_not_answered_has_failed_at_that_step() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("session.toml");
    let step =
        |path: &str, more: &str| format!("[[session.step]]\nname = '{path}'\nurl = '/{path}'\n{more}\n");
    let steps = [step("a", ""), step("b", "burst = true"), step("c", "burst = true"), step("d", "")];
    std::fs::write(&file, format!("[[session]]\nname = 's'\n{}", steps.concat())).unwrap();
    let file = file.to_str().unwrap();
    for (kind, silent) in [("protocol reset-refused-stream", false), ("timeout reply", true)] {
        let answer = move |n, id| match n % 3 {
            1 if silent => Vec::new(),
            1 => reset(id, 7),
            _ => ok(id),
        };
        let address = scripted::start(&[], answer);
        let url = format!("http://{address}/");
        let how = ["--session-connection", "keep", "-c", "1", "-n", "2", "--timeout", "2s"];
        let result = json(&[&["--requests", file, &url][..], &how].concat());
        // The last step is not asked for.
        let sessions = &result["sessions"];
        assert_eq!((&sessions["failed"], &sessions["completed"]), (&2.into(), &0.into()), "{result}");
        assert_eq!(sessions["failed_at"][0], serde_json::json!({"step": "s/b", "count": 2}));
        assert!(outcome(&result).1.contains(&kind.to_owned()), "{result}");
        assert_eq!(result["connections"]["opened"], 1, "{result}");
    }
}

/// A site with a login, in nginx's words.
const LOGIN: &str = "location = / { if ($cookie_user = '') { return 302 /login; } return 200 'in'; }\n\
                     location = /login { add_header Set-Cookie \"user=$request_id; Path=/\"; return 302 /; }\n\
                     location = /token { add_header X-Token abc; return 200 '{\"id\": 5}'; }\n\
                     location = /item/5 { if ($http_authorization != 'abc') { return 403; } return 200 'item'; }";

#[needs("nginx")]
#[test]
fn users_of_nginx_log_in_read_pages_and_play_sessions_over_tls_and_without() {
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("session.toml");
    let text = "[[session]]\n[[session.step]]\nurl = '/token'\n\
                take = { token = { header = 'x-token' }, id = { json = '/id' }, code = { status = true } }\n\
                [[session.step]]\nurl = '/item/{id}?{code}'\nheaders = { Authorization = '{token}' }\n";
    std::fs::write(&session, text).unwrap();
    let session = session.to_str().unwrap();
    for tls in [false, true] {
        let server = if tls { Server::nginx_with_tls("http2", LOGIN) } else { Server::nginx(LOGIN) };
        let images: String = (0..40).map(|n| format!("<img src={n}.gif>")).collect();
        std::fs::write(server.folder.path().join("page.html"), images).unwrap();
        for n in 0..40 {
            std::fs::write(server.folder.path().join(format!("{n}.gif")), [b'x'; 5000]).unwrap();
        }
        let base = format!("{}://{}", if tls { "https" } else { "http" }, server.address);
        for engine in ["epoll", "uring"] {
            let run = |arguments: &[&str]| {
                let how = ["--engine", engine, "--insecure"];
                json(&[arguments, if tls { &how } else { &how[..2] }].concat())
            };
            let before = server.logged();
            let url = format!("{base}/");
            let login = ["-c", "3", "--streams", "4", "-n", "240", "--cookies", "--follow", "2", &url];
            let result = run(&login);
            assert_eq!(outcome(&result), (240, vec![]), "{result}");
            // Twelve users log in once each.
            assert_eq!(count(&result, "redirects_followed"), 24, "{result}");
            assert_eq!(server.logged() - before, 264);

            let before = server.logged();
            let result = run(&["--browser", "-c", "3", "-n", "9", &format!("{base}/page.html")]);
            assert_eq!(outcome(&result), (9 * 41, vec![]), "{result}");
            assert_eq!((&result["pages"]["ok"], &result["connections"]["opened"]), (&9.into(), &3.into()));
            assert_eq!(server.logged() - before, 9 * 41);

            let result = run(&["--requests", session, "-c", "2", "-n", "10", &base]);
            assert_eq!(outcome(&result), (20, vec![]), "{result}");
            assert_eq!(result["sessions"]["completed"], 10);
        }
    }
}
