//! The same commands to the real memcached and to ours: the same answers, to the byte.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use pitot_needs::needs;
use pitot_proto_harness::memcached::Memcached;

use super::support::{ask, cache, connect};

/// What memcached says to `script` on a connection of its own.
fn hear(address: SocketAddr, script: &[u8]) -> String {
    const END: &[u8] = b"MN\r\n";
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket.write_all(&[script, b"mn\r\n"].concat()).unwrap();
    let (mut all, mut piece) = (Vec::new(), [0; 4096]);
    // A script that asks for the mark itself gets it once more.
    let marks = 1 + usize::from(script.starts_with(b"mn"));
    while all.windows(END.len()).filter(|four| *four == END).count() < marks {
        let n = socket.read(&mut piece).unwrap();
        assert!(n > 0, "memcached hangs up on {:?} after {all:?}", String::from_utf8_lossy(script));
        all.extend_from_slice(&piece[..n]);
    }
    String::from_utf8(all).unwrap()
}

/// Scripts, each of which starts with an empty cache. What memcached does otherwise on purpose of ours is not here; the
/// module docs of `memcache` tell of it.
fn scripts() -> Vec<Vec<u8>> {
    let long = |len| "k".repeat(len);
    let texts = [
        // Lines.
        "\r\n",
        " \r\n",
        "foo\r\n",
        "foo bar baz\r\n",
        "GET a\r\n",
        "  get a\r\n",
        "get a \r\n",
        "get\ta\r\n",
        "getx a\r\n",
        "set a 0 0 1\n1\r\nget a\n",
        // get and its kin.
        "get\r\n",
        "gets\r\n",
        "gat\r\n",
        "gat 1\r\n",
        "gat x a\r\n",
        "gat 0 a\r\n",
        "gats 0 a\r\n",
        "gets a b\r\n",
        "set a 5 0 3\r\nabc\r\nset b 0 0 0\r\n\r\nget a b c a\r\ngat 10 a b\r\nmg a t\r\n",
        &format!("get {}\r\n", long(250)),
        &format!("get {}\r\n", long(251)),
        &format!("get a {}\r\n", long(251)),
        // Storage.
        "set\r\n",
        "set a 0 0\r\n",
        "set a 0 0 x\r\n",
        "set a x 0 1\r\n1\r\n",
        "set a 0 x 1\r\n1\r\n",
        "set a -1 0 1\r\n1\r\n",
        "set a 4294967295 0 1\r\n1\r\nget a\r\n",
        "set a 0 0 -1\r\n",
        "set a 0 0 1\r\n12\r\n",
        "set a 0 0 3\r\nabcdef\r\n",
        "set a 0 0 1 noreply\r\n1\r\nget a\r\n",
        "set a 0 0 1 foo\r\n1\r\n",
        "set a 0 0 1 noreply x\r\n1\r\n",
        "set a 0 0 1 noreply\r\n12\r\n",
        "set a 0 0 2147483647\r\n",
        "cas a 0 0 1\r\n1\r\n",
        "cas a 0 0 1 x\r\n1\r\n",
        "cas a 0 0 1 1\r\n1\r\n",
        "set a 0 0 1\r\n5\r\ncas a 0 0 1 999999\r\n1\r\n",
        "add a 0 0 1\r\n1\r\nadd a 0 0 1\r\n2\r\nget a\r\n",
        "add a 0 -1 1\r\n1\r\nget a\r\n",
        "replace a 0 0 1\r\n1\r\nset a 0 0 1\r\n1\r\nreplace a 1 0 1\r\n2\r\nget a\r\n",
        "append a 0 0 1\r\n1\r\nprepend a 0 0 1\r\n1\r\nset a 3 0 1\r\nm\r\nappend a 9 0 1\r\n>\r\nprepend a 9 0 1\r\n<\r\nget a\r\n",
        "append a 0 0 1 noreply\r\n1\r\n",
        // Counters.
        "incr\r\n",
        "incr a\r\n",
        "incr a x\r\n",
        "incr a -1\r\n",
        "incr a 1\r\n",
        "decr a 1\r\n",
        "set n 0 0 1\r\nx\r\nincr n 1\r\n",
        "set n 0 0 0\r\n\r\nincr n 1\r\n",
        "set n 0 0 2\r\n-7\r\nincr n 1\r\nget n\r\n",
        "set n 0 0 20\r\n18446744073709551615\r\nincr n 2\r\n",
        "set n 7 0 2\r\n10\r\ndecr n 1\r\ndecr n 20\r\n",
        "set n 0 0 21\r\n184467440737095516150\r\nincr n 1\r\n",
        "set n 0 0 1\r\n5\r\nincr n 1 2\r\nincr n 1 noreply\r\nget n\r\n",
        "set n 3 0 1\r\n9\r\nincr n 1\r\nget n\r\n",
        // delete, touch, flush_all and the rest.
        "delete\r\n",
        "delete a\r\n",
        "set a 0 0 1\r\n1\r\ndelete a 0\r\n",
        "delete a 1\r\n",
        "delete a noreply\r\n",
        "delete a 0 noreply\r\n",
        "delete a b c d\r\n",
        &format!("delete {}\r\n", long(251)),
        "touch\r\n",
        "touch a\r\n",
        "touch a x\r\n",
        "touch a 1\r\n",
        "touch a 1 2\r\n",
        "set a 0 0 1\r\n1\r\ntouch a 100\r\nmg a t\r\ntouch a -1\r\nget a\r\n",
        "flush_all x\r\n",
        "flush_all 0 noreply\r\n",
        "flush_all noreply\r\n",
        "set a 0 0 1\r\n1\r\nflush_all\r\nget a\r\n",
        "verbosity\r\n",
        "verbosity 1\r\n",
        "verbosity x\r\n",
        "verbosity 0 noreply\r\n",
        "verbosity 1 2\r\n",
        "stats foo\r\n",
        "stats reset\r\n",
        "stats noreply\r\n",
        "stats a b\r\n",
        "lru tune\r\n",
        // mg.
        "mn x\r\n",
        "mg\r\n",
        "mg a\r\n",
        "mg a q\r\n",
        "mg a v k O1\r\n",
        "mg a qq\r\n",
        "mg a x\r\n",
        "mg a !\r\n",
        "mg a 5\r\n",
        "mg a Nx\r\n",
        "mg a N\r\n",
        "mg a k k\r\n",
        &format!("mg {}\r\n", long(251)),
        &format!("mg a O{}\r\n", long(31)),
        &format!("mg a O{}\r\n", long(32)),
        "set a 7 0 2\r\nhi\r\nmg a s v f k O8 h t\r\nmg a h u\r\nmg a h\r\nmg a\r\nmg a k q\r\n",
        "mg a N30 t v\r\nmg a N30 t v\r\nmg a v k\r\nms a 2\r\nhi\r\nmg a v\r\n",
        "ms r 1 T20\r\n1\r\nmg r R30 v t\r\nmg r R30 v t\r\nmg r R10 v\r\nmg r T100 t\r\n",
        // ms.
        "ms\r\n",
        "ms a\r\n",
        "ms a x\r\n",
        "ms a S1\r\n1\r\n",
        "ms a 1 q\r\n1\r\n",
        "ms a 1\r\n12\r\n",
        "ms a -1\r\n",
        "ms a 1 k O9 F7 T10\r\n1\r\nmg a t f v k O8 s\r\n",
        "ms a 1 Mx\r\n1\r\n",
        "ms a 1 MEE\r\n1\r\n",
        "ms a 1 M\r\n1\r\n",
        "ms a 1 MR\r\n1\r\nms a 1 MA\r\n1\r\nms a 1 ME\r\n1\r\nms a 1 ME\r\n2\r\nms a 1 MP\r\n0\r\nms a 1 MA\r\n2\r\nmg a v s\r\n",
        "ms a 1 C1 k\r\n1\r\n",
        "ms a 1\r\n1\r\nms a 1 C9999999\r\n1\r\n",
        "ms a 1 Fx\r\n1\r\n",
        "ms a 1 Tx\r\n1\r\n",
        "ms a 1 S1 O1\r\n1\r\n",
        "ms a 1 x\r\n1\r\n",
        "ms a 1 \r\n1\r\n",
        "ms ** 1 b\r\n1\r\n",
        "mg === b k\r\n",
        "ms eno= 1 b k\r\n1\r\nmg eno= b k v\r\nmg eno= k v\r\nget zz\r\n",
        "ms a 1\r\n1\r\nms a 1 I C1\r\n2\r\nmg a v\r\nmg a v\r\n",
        // md and ma.
        "md\r\n",
        "md a\r\n",
        "md a q\r\n",
        "ms a 1\r\n1\r\nmd a q k\r\nmg a\r\n",
        "ms a 1\r\n1\r\nmd a C9999999\r\nmd a x\r\nmd a k O3\r\n",
        "ms a 1\r\n1\r\nmd a I T30\r\nmg a t v\r\nmg a t v\r\nms a 1\r\n2\r\nmg a v\r\n",
        "ma\r\n",
        "ma a\r\n",
        "ma a q\r\n",
        "ma n N0 J13 v t\r\nma n N0 J13 v t\r\nma n MD D20 v\r\nma n M+ D5 v\r\nma n M- v k O5\r\n",
        "ma n N60\r\nma n q\r\nma n T50 t v\r\nma n C99999\r\nma n MI\r\nma n Mx\r\nma n MII\r\nma n Dx\r\n",
        "ms t 1\r\nx\r\nma t\r\n",
        "me a\r\n",
        "me\r\n",
        "me a x\r\n",
        // What a differential test found.
        "set n 0 0 1\r\n5\r\nincr n +1\r\nincr n \t1\r\nincr n -1\r\n",
        "set n 0 0 2\r\n 5\r\nincr n 1\r\nget n\r\n",
        "set a 0 +5 1\r\n1\r\nmg a t\r\n",
        "set a 4294967297 0 1\r\n1\r\nget a\r\n",
        "set a 0 4294967296 4294967297\r\n1\r\nmg a v t\r\n",
        "set n 0 0 2\r\n10\r\ndecr n 1\r\nget n\r\n",
        "ma n N0 J10 v\r\nma n MD v\r\nmg n s v\r\n",
        "ms a 1 ME C0\r\n1\r\nms a 1 ME C0\r\n1\r\nms a 1 MA C0\r\n2\r\nms a 1 MP C0\r\n0\r\nms a 1 C0\r\n3\r\nmg a v\r\n",
        "ms a 1 MA C9\r\n1\r\nms a 1 MR C0\r\n1\r\nma a C0\r\nms a 1 ME C9\r\n1\r\n",
        "ms a 1 Ma\r\n1\r\nma a Mi\r\n",
        "mg a t N30 t\r\nmg a t T60 t\r\nmg a h\r\n",
        "mg a N-1 v\r\nmg a v\r\nma n N-1 J5 v\r\nma n v\r\n",
        "mg a O1 O2\r\nmd a O1 O2\r\nms a 1 O1 O2\r\n1\r\n",
        &format!("md a O{}\r\nms a 1 O{}\r\n1\r\n", long(32), long(32)),
        "mg a Fx Tx\r\nmg a Tx Fx\r\nmg ** b Tx\r\nmg ** Tx b\r\n",
        "delete noreply\r\ndelete a noreply\r\nverbosity 0 0 0\r\nset a 0 0 noreply\r\n",
        "stats cachedump 1 9\r\nlru_crawler metadump all\r\nlru_crawler\r\n",
        "mx a\r\n",
    ];
    let mut scripts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    // Too large: the block is skipped, and the old value is gone.
    for line in ["set a 0 0 2000000\r\n", "ms a 2000000\r\n", "add a 0 0 2000000\r\n"] {
        let block = vec![b'x'; 2_000_000];
        scripts.push([b"set a 0 0 1\r\n1\r\n", line.as_bytes(), &block, b"\r\nget a\r\n"].concat());
    }
    let (large, more) = (vec![b'x'; 1_000_000], vec![b'y'; 100_000]);
    scripts.push(
        [b"set a 0 0 1000000\r\n", &large[..], b"\r\nappend a 0 0 100000\r\n", &more, b"\r\n"].concat(),
    );
    scripts
}

#[needs("memcached")]
#[test]
fn every_answer_is_that_of_memcached() {
    let memcached = Memcached::start(&["-X", "-o", "no_lru_crawler"]);
    let cache = cache();
    let mut differences = Vec::new();
    let scripts = scripts();
    for script in &scripts {
        assert_eq!(hear(memcached.address, b"flush_all\r\n"), "OK\r\nMN\r\n");
        assert_eq!(ask(&mut connect(&cache), "flush_all\r\n"), "OK\r\n");
        let theirs = hear(memcached.address, script);
        let ours = ask(&mut connect(&cache), [&script[..], b"mn\r\n"].concat());
        if theirs != ours {
            let shown = String::from_utf8_lossy(&script[..script.len().min(200)]).into_owned();
            differences.push(format!("{shown:?}\n  memcached: {theirs:?}\n  ours:      {ours:?}"));
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {}:\n{}",
        differences.len(),
        scripts.len(),
        differences.join("\n")
    );
}
