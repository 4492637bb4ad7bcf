//! The answer does not depend on how the input is cut.

use pitot_proto::memcache::LINE_BYTES_MAX;
use pitot_proto::{Context, Exchange, Next, Protocol, ViolationKind};
use pitot_proto_harness as harness;
use pitot_proto_harness::End;

use super::support::{NO_FILES, ask, cache, connect, say};

const SCRIPT: &[u8] = b"set a 1 0 3\r\nabc\r\nget a b  a \r\ngets a\r\nset long 0 0 3 noreply\r\nab\r\nXX\r\nms m 2 c k\r\nhi\r\n\
    mg m v s\r\nset big 0 0 2000000\r\nincr a 1\r\nappend a 0 0 2\r\nde\r\nmg a v\r\ndelete a\r\nfoo\r\n\r\nmn\r\n";

#[test]
fn one_script_cut_at_every_byte_and_byte_by_byte() {
    let whole = harness::exchange(&cache(), &NO_FILES, [SCRIPT]);
    assert!(whole.mid_request, "the block of 2000000 bytes swallows what follows");
    let mut input = SCRIPT.to_vec();
    let at = SCRIPT.windows(7).position(|w| w == b"incr a ").unwrap();
    input.splice(at..at, std::iter::repeat_n(b'x', 2_000_002));
    let whole = harness::exchange(&cache(), &NO_FILES, [&input[..]]);
    assert!(whole.sent.ends_with(b"VA 5\r\nabcde\r\nDELETED\r\nERROR\r\nERROR\r\nMN\r\n"), "{whole:?}");
    let whole = harness::exchange(&cache(), &NO_FILES, [SCRIPT]);
    for at in 0..SCRIPT.len() {
        let (head, tail) = SCRIPT.split_at(at);
        assert_eq!(harness::exchange(&cache(), &NO_FILES, [head, tail]), whole, "cut at {at}");
    }
    assert_eq!(harness::exchange(&cache(), &NO_FILES, SCRIPT.chunks(1)), whole);
}

#[test]
fn a_get_of_any_length_is_answered_and_no_other_line_may_be_long() {
    let keys: Vec<String> = (0..2000).map(|n| format!("key-{n}")).collect();
    let sets: String = keys.iter().map(|key| format!("set {key} 0 0 1 noreply\r\nx\r\n")).collect();
    let get = format!("get {}\r\n", keys.join(" "));
    assert!(get.len() > 8 * LINE_BYTES_MAX);
    let wanted: String =
        keys.iter().map(|key| format!("VALUE {key} 0 1\r\nx\r\n")).collect::<String>() + "END\r\nMN\r\n";
    for size in [1, 3, 100, 2047, 2048, 2049, 100_000] {
        let mut pump = connect(&cache());
        pump.feed(sets.as_bytes());
        for piece in [get.as_bytes(), b"mn\r\n"].concat().chunks(size) {
            pump.feed(piece);
        }
        assert_eq!(String::from_utf8_lossy(&pump.sent), wanted, "in pieces of {size}");
    }
    // A key that is too long, far back in the line, ends it.
    let bad = format!("get {} {} key-1\r\nmn\r\n", keys[..500].join(" "), "k".repeat(251));
    let answer = say(bad);
    assert_eq!(answer, "CLIENT_ERROR bad command line format\r\nMN\r\n");

    let mut pump = connect(&cache());
    assert_eq!(ask(&mut pump, vec![b'x'; LINE_BYTES_MAX - 1]), "");
    assert_eq!(ask(&mut pump, b"x"), "CLIENT_ERROR line too long\r\n");
    assert_eq!(pump.end, Some(End::Violation(ViolationKind::TooLarge)));
}

#[test]
fn many_large_values_wait_for_their_reader() {
    let cache = cache();
    let mut pump = connect(&cache);
    for n in 0..20 {
        let set =
            [format!("set k{n} 0 0 100000 noreply\r\n").as_bytes(), &vec![b'x'; 100_000], b"\r\n"].concat();
        pump.feed(&set);
    }
    let keys: Vec<String> = (0..20).map(|n| format!("k{n}")).collect();
    let line = format!("get {}\r\n", keys.join(" "));
    let (mut conn, mut exchange) = (cache.connect(), Exchange::new());
    let cx = Context { unix_s: harness::UNIX_S, date: harness::DATE, stopping: false };
    let (mut input, mut sent, mut flushes) = (line.as_bytes(), 0, 0);
    while !input.is_empty() {
        let step = conn.receive(&cx, input, &mut exchange).unwrap();
        input = &input[step.consumed..];
        assert!(exchange.out.len() < 400_000, "{} bytes are unsent", exchange.out.len());
        flushes += u32::from(step.next == Next::Flush);
        sent += exchange.out.len();
        exchange.out.advance(exchange.out.len());
    }
    assert_eq!(flushes, 6);
    let heads: usize = keys.iter().map(|key| format!("VALUE {key} 0 100000\r\n\r\n").len()).sum();
    assert_eq!(sent, 20 * 100_000 + heads as u64 + 5);
}
