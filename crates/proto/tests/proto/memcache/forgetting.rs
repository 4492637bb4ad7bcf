//! Expiry, `flush_all` and eviction.

use pitot_proto::memcache::{Memcache, MemcacheOptions};
use pitot_proto_harness::UNIX_S;

use super::support::{ask, cache, connect, stat};

#[test]
fn items_expire_at_their_second_and_not_before() {
    let mut pump = connect(&cache());
    let (month, date) = (30 * 24 * 3600, UNIX_S + 40 * 24 * 3600);
    let sets = format!(
        "set a 0 10 1\r\n1\r\nset b 0 {month} 1\r\n1\r\nset c 0 {date} 1\r\n1\r\nset d 0 {} 1\r\n1\r\nset e 0 -1 1\r\n1\r\n",
        UNIX_S - 1
    );
    assert_eq!(ask(&mut pump, sets), "STORED\r\n".repeat(5));
    for (after_s, there) in [
        (0, "abc"),
        (9, "abc"),
        (10, "bc"),
        (month - 1, "bc"),
        (month, "c"),
        (date - UNIX_S - 1, "c"),
        (date - UNIX_S, ""),
    ] {
        pump.worker.unix_s = UNIX_S + after_s;
        let items: String = there.chars().map(|key| format!("VALUE {key} 0 1\r\n1\r\n")).collect();
        assert_eq!(ask(&mut pump, "get a b c d e\r\n"), items + "END\r\n", "{after_s} s later");
    }
    assert_eq!(stat(&mut pump, "curr_items"), 0);
    assert_eq!(stat(&mut pump, "expired_unfetched"), 1);
}

#[test]
fn touch_and_gat_move_the_end() {
    let mut pump = connect(&cache());
    ask(&mut pump, "set a 0 5 1\r\n1\r\nset b 0 5 1\r\n1\r\ntouch a 10\r\ngat 20 b\r\n");
    for (after_s, there) in [(9, 2), (10, 1), (19, 1), (20, 0)] {
        pump.worker.unix_s = UNIX_S + after_s;
        assert_eq!(ask(&mut pump, "get a b\r\n").matches("VALUE").count(), there, "{after_s} s later");
    }
}

#[test]
fn flush_all_forgets_now_or_later() {
    let mut pump = connect(&cache());
    ask(&mut pump, "set a 0 0 1\r\n1\r\n");
    assert_eq!(ask(&mut pump, "flush_all 10\r\nget a\r\n"), "OK\r\nVALUE a 0 1\r\n1\r\nEND\r\n");
    pump.worker.unix_s = UNIX_S + 9;
    assert_eq!(ask(&mut pump, "set b 0 0 1\r\n1\r\nget a b\r\n").matches("VALUE").count(), 2);
    pump.worker.unix_s = UNIX_S + 10;
    assert_eq!(ask(&mut pump, "get a b\r\nset c 0 0 1\r\n1\r\n"), "END\r\nSTORED\r\n");
    pump.worker.unix_s = UNIX_S + 11;
    assert_eq!(ask(&mut pump, "get c\r\n"), "VALUE c 0 1\r\n1\r\nEND\r\n");
    assert_eq!(ask(&mut pump, "flush_all\r\nget c\r\n"), "OK\r\nEND\r\n");
    assert_eq!((stat(&mut pump, "curr_items"), stat(&mut pump, "cmd_flush")), (0, 2));
}

fn small() -> Memcache {
    let options = MemcacheOptions {
        memory_bytes: 1 << 20,
        value_bytes_max: 16 << 10,
        shards: Some(1),
        ..MemcacheOptions::default()
    };
    Memcache::new(&options).unwrap()
}

#[test]
fn what_is_used_stays_and_what_is_not_goes_first() {
    let cache = small();
    let mut pump = connect(&cache);
    let value = "x".repeat(1000);
    for n in 0..10_000 {
        ask(&mut pump, format!("set k{n} 0 0 1000 noreply\r\n{value}\r\n"));
        if n % 50 == 0 {
            assert_eq!(
                ask(&mut pump, "get k0 k1 k2\r\n").matches("VALUE").count(),
                (n + 1).min(3),
                "after {n}"
            );
        }
        assert!(n % 100 != 0 || stat(&mut pump, "bytes") <= 1 << 20);
    }
    // The newest are all there, as many as the memory holds; those before them are gone.
    let held = stat(&mut pump, "curr_items");
    assert!((850..1000).contains(&held), "{held}");
    for (n, there) in
        [(9_999, true), (9_999 - held * 9 / 10, true), (9_999 - held - 5, false), (5_000, false)]
    {
        assert_eq!(ask(&mut pump, format!("get k{n}\r\n")).starts_with("VALUE"), there, "k{n}");
    }
    assert_eq!(stat(&mut pump, "evictions"), 10_000 - held);
}

#[test]
fn expired_items_make_room_before_live_ones() {
    let cache = small();
    let mut pump = connect(&cache);
    let value = "x".repeat(1000);
    for n in 0..800 {
        let exptime = if n < 400 { 1 } else { 0 };
        ask(&mut pump, format!("set k{n} 0 {exptime} 1000 noreply\r\n{value}\r\n"));
    }
    pump.worker.unix_s = UNIX_S + 2;
    for n in 800..1200 {
        ask(&mut pump, format!("set k{n} 0 0 1000 noreply\r\n{value}\r\n"));
    }
    assert_eq!(stat(&mut pump, "evictions"), 0);
    assert!(stat(&mut pump, "reclaimed") > 200);
}

#[test]
fn a_value_of_the_whole_limit_fits_wherever_it_comes_from() {
    let cache = small();
    let mut pump = connect(&cache);
    for n in 0..200 {
        let len = (n * 977) % (16 << 10);
        let block = "y".repeat(len);
        assert_eq!(ask(&mut pump, format!("set k{} 0 0 {len}\r\n{block}\r\n", n % 90)), "STORED\r\n");
        let item = ask(&mut pump, format!("get k{}\r\n", n % 90));
        assert_eq!(item.len(), format!("VALUE k{} 0 {len}\r\n\r\nEND\r\n", n % 90).len() + len);
    }
    assert!(stat(&mut pump, "bytes") <= 1 << 20);
}
