//! What the commands answer, beyond what is compared with memcached itself.

use pitot_proto::memcache::{Memcache, MemcacheOptions};
use pitot_proto::{Protocol, ViolationKind};
use pitot_proto_harness::End;

use super::support::{ask, cache, connect, say, stat};

#[test]
fn cas_goes_by_the_number_that_gets_has_told() {
    let mut pump = connect(&cache());
    let told = ask(&mut pump, "set a 4 0 1\r\n1\r\ngets a\r\n");
    let cas: u64 = told.split_ascii_whitespace().nth(5).unwrap().parse().unwrap();
    assert_eq!(told, format!("STORED\r\nVALUE a 4 1 {cas}\r\n1\r\nEND\r\n"));
    assert_eq!(ask(&mut pump, format!("cas a 0 0 1 {cas}\r\n2\r\n")), "STORED\r\n");
    assert_eq!(ask(&mut pump, format!("cas a 0 0 1 {cas}\r\n3\r\n")), "EXISTS\r\n");
    assert_eq!(ask(&mut pump, "get a\r\n"), "VALUE a 0 1\r\n2\r\nEND\r\n");
    // A key that was deleted and written again has another number.
    assert_eq!(ask(&mut pump, "delete a\r\nset a 0 0 1\r\n1\r\n"), "DELETED\r\nSTORED\r\n");
    assert_eq!(ask(&mut pump, format!("cas a 0 0 1 {cas}\r\n3\r\n")), "EXISTS\r\n");
}

#[test]
fn every_command_that_changes_an_item_changes_its_number() {
    let mut pump = connect(&cache());
    ask(&mut pump, "set a 0 0 1\r\n1\r\n");
    let mut seen = Vec::new();
    for change in [
        "incr a 1\r\n",
        "append a 0 0 1\r\n0\r\n",
        "prepend a 0 0 1\r\n1\r\n",
        "replace a 0 0 1\r\n1\r\n",
        "ma a\r\n",
    ] {
        ask(&mut pump, change);
        seen.push(ask(&mut pump, "mg a c\r\n"));
        assert_eq!(ask(&mut pump, "touch a 0\r\nmg a c\r\n"), format!("TOUCHED\r\n{}", seen.last().unwrap()));
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 5);
}

#[test]
fn quiet_commands_are_quiet_and_still_done() {
    let answer = say(
        "set a 0 0 1 noreply\r\n1\r\nadd a 0 0 1 noreply\r\n2\r\nappend a 0 0 1 noreply\r\n0\r\nincr a 5 noreply\r\n\
         touch a 100 noreply\r\nms b 1 q\r\n1\r\nma b q\r\nmg c q\r\ndelete c noreply\r\nverbosity 1 noreply\r\nget a b\r\n",
    );
    assert_eq!(answer, "VALUE a 0 2\r\n15\r\nVALUE b 0 1\r\n2\r\nEND\r\n");
}

#[test]
fn where_memcached_is_not_followed() {
    // The block of a bad key is not run as commands.
    let long = "k".repeat(251);
    let answer = say(format!("set {long} 0 0 11\r\nflush_all\r\n\r\nms {long} 4\r\nmn\r\n\r\nmn\r\n"));
    let error = "CLIENT_ERROR bad command line format\r\n";
    assert_eq!(answer, format!("{error}{error}MN\r\n"));
    // A value may have all of its limit.
    let block = "x".repeat(1 << 20);
    assert_eq!(
        say(format!("set a 0 0 1048576\r\n{block}\r\nset a 0 0 1048577\r\n{block}x\r\n")).as_str(),
        "STORED\r\nSERVER_ERROR object too large for cache\r\n"
    );
}

#[test]
fn a_client_of_another_protocol_is_closed_behind_the_replies() {
    let cache = cache();
    for (input, reply) in [
        (&b"\x80"[..], ""),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", ""),
        (b"mn\r\nPOST /a HTTP/1.0\r\n", "MN\r\n"),
    ] {
        let mut pump = connect(&cache);
        assert_eq!(ask(&mut pump, input), reply);
        assert_eq!(pump.end, Some(End::Violation(ViolationKind::Malformed)), "{}", input.escape_ascii());
    }
    // What starts as a command is one.
    assert_eq!(say(b"get / HTTP/1.1\r\nmn\r\n\x80\r\n"), "END\r\nMN\r\nERROR\r\n");
}

#[test]
fn quit_and_a_server_that_stops_end_the_connection_behind_the_last_answer() {
    let mut pump = connect(&cache());
    assert_eq!(ask(&mut pump, "mn\r\nquit\r\nmn\r\n"), "MN\r\n");
    assert_eq!(pump.end, Some(End::Closed));
    let mut pump = connect(&cache());
    pump.worker.stopping = true;
    assert_eq!(ask(&mut pump, "set a 0 0 1\r\n1"), "");
    assert_eq!(
        (ask(&mut pump, "\r\nget a\r\nmn\r\n").as_str(), pump.end),
        ("STORED\r\nVALUE a 0 1\r\n1\r\nEND\r\nMN\r\n", Some(End::Closed))
    );
}

#[test]
fn statistics_tell_what_has_happened() {
    let cache = cache();
    let mut pump = connect(&cache);
    ask(
        &mut pump,
        "set a 0 0 1\r\n1\r\nget a b\r\ndelete a\r\ndelete a\r\nincr a 1\r\ntouch a 1\r\ncas a 0 0 1 1\r\n1\r\n",
    );
    for (name, count) in [
        ("cmd_get", 2),
        ("get_hits", 1),
        ("get_misses", 1),
        ("cmd_set", 2),
        ("delete_hits", 1),
        ("delete_misses", 1),
        ("incr_misses", 1),
        ("touch_misses", 1),
        ("cas_misses", 1),
        ("curr_items", 0),
        ("total_items", 1),
        ("curr_connections", 1),
        ("limit_maxbytes", 64 << 20),
    ] {
        assert_eq!(stat(&mut pump, name), count, "{name}");
    }
    drop(connect(&cache));
    assert_eq!((stat(&mut pump, "curr_connections"), stat(&mut pump, "total_connections")), (1, 2));
    for group in ["items", "slabs", "settings", "sizes"] {
        let stats = ask(&mut pump, format!("stats {group}\r\n"));
        assert!(stats.starts_with("STAT ") && stats.ends_with("\r\nEND\r\n"), "{stats}");
    }
    assert_eq!(ask(&mut pump, "stats reset\r\n"), "RESET\r\n");
    assert_eq!(stat(&mut pump, "cmd_get"), 0);
    assert!(ask(&mut pump, "version\r\n").starts_with("VERSION 1.6.0-pitot-"));
}

#[test]
fn a_binary_key_is_shown_in_base64_and_is_another_than_its_text() {
    let answer = say("ms AAEC 2 b\r\nhi\r\nmg AAEC b k v\r\nmg AAEC v\r\nme AAEC b\r\n");
    assert!(answer.starts_with("HD\r\nVA 2 kAAEC b\r\nhi\r\nEN\r\nME AAEC exp=-1 la=0 cas="), "{answer}");
}

#[test]
fn senseless_limits_are_refused_in_one_line() {
    for options in [
        MemcacheOptions { memory_bytes: 1 << 20, ..MemcacheOptions::default() },
        MemcacheOptions { shards: Some(3), ..MemcacheOptions::default() },
        MemcacheOptions { value_bytes_max: 0, ..MemcacheOptions::default() },
    ] {
        let error = Memcache::new(&options).err().unwrap();
        assert!(!error.contains('\n'), "{error}");
    }
    assert!(!Memcache::new(&MemcacheOptions::default()).unwrap().connect().mid_request());
}
