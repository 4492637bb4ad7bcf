use std::io::{Read, Write};
use std::net::TcpListener;

use super::scripted::{self, frame, goaway, ok, reset};
use super::{count, json, outcome};
use crate::support::{PITOT, stderr};

#[test]
fn resets_are_failures_by_their_code_and_the_connection_goes_on() {
    // Every third request.
    let address = scripted::start(&[], |n, id| if n % 3 == 2 { reset(id, 7) } else { ok(id) });
    let url = format!("http://{address}/");
    let result = json(&["-c", "1", "--streams", "4", "-n", "300", &url]);
    assert_eq!(outcome(&result), (200, vec!["protocol reset-refused-stream".to_owned()]));
    assert_eq!(count(&result, "reset-refused-stream"), 100);
    assert_eq!((&result["requests"]["failed"], &result["connections"]["opened"]), (&100.into(), &1.into()));
}

#[test]
fn an_end_for_cause_fails_what_is_under_way_by_its_code() {
    let address = scripted::start(&[], |n, id| if n == 9 { goaway(id, 11) } else { ok(id) });
    let url = format!("http://{address}/");
    let result = json(&["-c", "1", "--streams", "1", "-n", "50", &url]);
    // Each connection answers nine and ends with the tenth.
    assert_eq!(outcome(&result), (45, vec!["protocol goaway-enhance-your-calm".to_owned()]));
    assert_eq!(count(&result, "goaway-enhance-your-calm"), 5);
}

#[test]
fn what_a_server_gives_back_is_sent_again_on_the_next_connection() {
    // It looks at ten requests of a connection and ignores the rest.
    let address = scripted::start(&[], |n, id| match n {
        0..9 => ok(id),
        9 => [goaway(id, 0), ok(id)].concat(),
        _ => Vec::new(),
    });
    let url = format!("http://{address}/");
    let result = json(&["-c", "2", "--streams", "7", "-n", "400", &url]);
    assert_eq!(outcome(&result), (400, vec![]));
    assert!(count(&result, "goaway-no-error") >= 38, "{result}");
}

#[test]
fn a_push_that_nobody_asked_for_breaks_the_connection() {
    let push = |id| frame(scripted::PUSH_PROMISE, 4, id, &[0, 0, 0, 2, 0x82]);
    let address = scripted::start(&[], move |_, id| push(id));
    let result = json(&["-c", "1", "-n", "3", &format!("http://{address}/")]);
    assert_eq!(outcome(&result), (0, vec!["protocol malformed".to_owned()]));
}

#[test]
fn a_server_without_a_table_of_headers_is_sent_none() {
    let address = scripted::start(&[(1, 0)], |_, id| ok(id));
    let result = json(&["-c", "1", "--streams", "3", "-n", "30", &format!("http://{address}/")]);
    assert_eq!(outcome(&result), (30, vec![]));
}

#[test]
fn a_request_that_is_not_answered_in_time_is_reset_and_the_connection_goes_on() {
    // Every fifth request of a connection is never answered.
    let address = scripted::start(&[(3, 8)], |n, id| if n % 5 == 4 { Vec::new() } else { ok(id) });
    let url = format!("http://{address}/");
    let result = json(&["-c", "1", "--streams", "8", "-n", "40", "--timeout", "300ms", &url]);
    assert_eq!(outcome(&result), (32, vec!["timeout reply".to_owned()]));
    assert_eq!(result["errors"][0]["count"], 8);
    assert_eq!((&result["connections"]["opened"], &result["requests"]["failed"]), (&1.into(), &8.into()));
}

#[test]
fn a_server_that_falls_silent_is_connected_anew() {
    // It does not even answer a PING.
    let answer = |n, id| if n < 3 { ok(id) } else { Vec::new() };
    let address = scripted::start_in(scripted::Manner::Deaf, &[], answer);
    let url = format!("http://{address}/");
    let result = json(&["-c", "1", "--streams", "2", "-n", "12", "--timeout", "200ms", &url]);
    let (right, errors) = outcome(&result);
    assert_eq!(errors, ["timeout reply"], "{result}");
    assert!(right >= 6 && result["connections"]["opened"].as_u64() > Some(1), "{result}");
}

#[test]
fn a_server_that_does_not_speak_it_is_named_with_the_fix() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let output = super::load(&["-c", "1", "-n", "3", &format!("http://{address}/")]);
    let error = stderr(&output).to_owned();
    assert!(!output.status.success());
    assert!(error.contains("http-1-server") && error.contains("omit --http 2"), "{error}");
}

#[test]
fn a_server_that_goes_on_in_another_protocol_is_named_with_the_fix() {
    let settings: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
    let switching: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n";
    for (reply, kind, fix) in
        [(settings, "http-2-server", "add --http 2"), (switching, "switched-protocol", "Upgrade")]
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 1024]);
                let _ = stream.write_all(reply);
            }
        });
        let output = std::process::Command::new(PITOT)
            .args(["load", "-c", "1", "-n", "3", &format!("http://{address}/")])
            .output()
            .unwrap();
        let error = stderr(&output).to_owned();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains(kind) && error.contains(fix), "{error}");
    }
}

#[test]
fn contradicting_options_are_refused() {
    for arguments in [&["--streams", "0"][..], &["--pipeline", "2"], &["-H", "Connection: close"]] {
        let output = super::load(&[arguments, &["http://127.0.0.1:1/"]].concat());
        let error = stderr(&output).to_owned();
        assert_eq!((output.status.code(), error.lines().count()), (Some(2), 2), "{arguments:?}: {error}");
    }
}
