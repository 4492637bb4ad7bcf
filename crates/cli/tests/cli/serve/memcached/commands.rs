//! Random commands over a few keys, sound and malformed.
//!
//! What the servers are known to answer differently is not generated, each kind with its reason where it is left out;
//! `docs/memcache.md` lists what of it a client can notice.

/// Longest block of a malformed command: that many bytes of what follows it may be taken for its block.
pub(crate) const STRAY_BYTES_MAX: usize = 64;

/// A command, with its block.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) parts: Vec<Part>,
    /// It is sent with no other: the connection may be closed, which costs memcached replies that it has not sent.
    pub(crate) is_alone: bool,
    /// The command after it is sent only when this one is answered.
    pub(crate) ends_batch: bool,
    /// Keys whose items are sent, and keys whose items are numbers to be changed, as bits. memcached changes a number
    /// in its place, and so keeps its length, unless an earlier reply with it is still unsent.
    pub(crate) sends: u32,
    pub(crate) counts: u32,
}

/// A piece of a command.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Text(Vec<u8>),
    /// The unique number that the server has reported last for a key, or the one before it.
    Cas {
        key: String,
        earlier: bool,
    },
}

/// Keys of which text commands are made.
const KEYS: u64 = 6;
/// Keys in base64, of bytes that no text command can have. They are a space of their own, since memcached shows a key in
/// base64 if its item was stored under one, and we if it was asked for by one.
const BINARY_KEYS: [&str; 2] = ["/wE=", "/wID"];

/// Generator of commands.
#[derive(Debug)]
pub(crate) struct Generator {
    random: u64,
    /// Commands with blocks are sound, and these may be large: after a malformed one the block would be taken for lines.
    has_large: bool,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        Generator { random: seed, has_large: false }
    }

    /// A session: commands for one connection.
    pub(crate) fn session(&mut self, commands: usize) -> Vec<Command> {
        self.has_large = self.one_in(4);
        (0..commands).map(|_| self.command()).collect()
    }

    fn command(&mut self) -> Command {
        let mut command =
            Command { parts: Vec::new(), is_alone: false, ends_batch: self.one_in(8), sends: 0, counts: 0 };
        match self.below(100) {
            0..14 => self.retrieval(&mut command),
            14..38 => self.storage(&mut command),
            38..50 => self.arithmetic(&mut command),
            50..54 => self.touch(&mut command),
            54..59 => self.delete(&mut command),
            59..70 => self.meta_get(&mut command),
            70..80 => self.meta_set(&mut command),
            80..84 => self.meta_delete(&mut command),
            84..92 => self.meta_arithmetic(&mut command),
            92..93 => self.closing(&mut command),
            _ => self.other(&mut command),
        }
        command
    }

    fn retrieval(&mut self, command: &mut Command) {
        let verb = self.pick(&["get", "gets", "gat", "gats"]);
        command.text(verb);
        if verb.starts_with("gat") {
            let exptime = self.exptime();
            command.word(exptime);
        }
        if self.one_in(40) {
            // A refused key costs memcached the replies before it that it has not sent, and the keys before it count as
            // fetched.
            command.is_alone = true;
            command.word(&"k".repeat(251));
        }
        for _ in 0..self.below(4) {
            let key = self.key(command, true);
            command.word(&key);
        }
        self.line_end(command);
    }

    fn storage(&mut self, command: &mut Command) {
        let verb = self.pick(&["set", "set", "set", "add", "replace", "append", "prepend", "cas"]);
        let key = self.key(command, false);
        let (flags, exptime) = (self.flags(), self.exptime());
        let block = self.block();
        let len = self.len(&block);
        command.text(verb);
        command.word(&key);
        command.word(flags);
        command.word(exptime);
        command.word(&len);
        if verb == "cas" {
            self.cas(command, &key, " ");
        }
        self.noreply(command);
        self.line_end(command);
        command.parts.push(Part::Text(block));
        command.text("\r\n");
    }

    fn arithmetic(&mut self, command: &mut Command) {
        let verb = self.pick(&["incr", "decr"]);
        let key = self.key(command, false);
        command.counts |= bit_of(&key);
        let delta = self.pick(&[
            "1",
            "1",
            "5",
            "10",
            "0",
            "+1",
            "-1",
            "95",
            "18446744073709551616",
            "-18446744073709551615",
            "x",
            "1x",
            "\t2",
            "2\tx",
            "",
        ]);
        // No number from 2^63 on is made: memcached looks for a minus sign in the memory behind it.
        let delta = if verb == "decr" && self.one_in(8) { "18446744073709551615" } else { delta };
        command.text(verb);
        command.word(&key);
        command.word(delta);
        self.noreply(command);
        self.line_end(command);
    }

    fn touch(&mut self, command: &mut Command) {
        let key = self.key(command, false);
        let exptime = self.exptime();
        command.text("touch");
        command.word(&key);
        command.word(exptime);
        self.noreply(command);
        self.line_end(command);
    }

    fn delete(&mut self, command: &mut Command) {
        let key = self.key(command, false);
        let rest = self.pick(&[
            "",
            "",
            "",
            " 0",
            " 1",
            " noreply",
            " 0 noreply",
            " 1 noreply",
            " 0 0",
            " 0 noreply x",
        ]);
        command.text("delete");
        command.word(&key);
        command.text(rest);
        self.line_end(command);
    }

    fn meta_get(&mut self, command: &mut Command) {
        let (key, is_binary) = self.meta_key(command, true);
        command.text("mg");
        command.word(&key);
        let mut flags =
            vec!["s", "v", "f", "k", "t", "h", "l", "u", "q", "Oabc", "R30", "R5000", "R0", "R-1"];
        flags.extend(["T0", "T1000", "T+1000", "T-1", "T100000", "R", "Rx", "Tx", "I", "P", "L", "D1", "F1"]);
        if !is_binary {
            // memcached does not remember of an item that it makes that its key is shown in base64.
            flags.extend(["N0", "N1000", "N-1", "N", "N100000"]);
        }
        self.meta_flags(command, &key, is_binary, &flags);
    }

    fn meta_set(&mut self, command: &mut Command) {
        let (key, is_binary) = self.meta_key(command, false);
        let block = self.block();
        let len = self.len(&block);
        command.text("ms");
        command.word(&key);
        command.word(&len);
        let long_opaque = format!("O{}", "o".repeat(32));
        let mut flags = vec!["k", "q", "Oabc", &long_opaque, "F5", "F4294967297", "F-1", "Fx", "T0", "T1000"];
        flags.extend(["T-1", "Tx", "ME", "MR", "MS", "Ma", "MEE", "M", "Mx", "ME", "I", "I"]);
        if !is_binary {
            flags.extend(["MA", "MP", "MA", "MP"]);
        }
        self.meta_flags(command, &key, is_binary, &flags);
        command.parts.push(Part::Text(block));
        command.text("\r\n");
    }

    fn meta_delete(&mut self, command: &mut Command) {
        let (key, is_binary) = self.meta_key(command, false);
        command.text("md");
        command.word(&key);
        let long_opaque = format!("O{}", "o".repeat(32));
        let flags = ["k", "q", "Oabc", &long_opaque, "I", "I", "I", "T1000", "T0", "T-1", "Tx"];
        self.meta_flags(command, &key, is_binary, &flags);
    }

    fn meta_arithmetic(&mut self, command: &mut Command) {
        let (key, is_binary) = self.meta_key(command, false);
        command.counts |= bit_of(&key);
        command.text("ma");
        command.word(&key);
        let mut flags =
            vec!["k", "q", "Oabc", "t", "v", "v", "D5", "D95", "D0", "D+5", "Dx", "D-1", "J7", "Jx"];
        flags.extend(["J999999999999999999", "J99999999999999999999", "I"]);
        if !is_binary {
            flags.extend(["N0", "N1000", "N-1", "Nx"]);
        }
        if is_binary || self.one_in(3) {
            // memcached loses a new time of expiry if the number becomes longer at the same time.
            command.text(self.pick(&[" MD", " M-", " Md"]));
            flags.extend(["T0", "T1000", "T-1", "Tx"]);
        } else {
            flags.extend(["MI", "M+", "Mi", "MII", "M", "Mx"]);
        }
        self.meta_flags(command, &key, is_binary, &flags);
    }

    /// A few flags out of those, perhaps one that is unknown or twice there.
    fn meta_flags(&mut self, command: &mut Command, key: &str, is_binary: bool, flags: &[&str]) {
        if is_binary {
            command.word("b");
        }
        let (may_repeat, may_be_unknown) = (self.one_in(12), self.one_in(20));
        let mut letters: Vec<u8> = Vec::new();
        let wants_cas = self.one_in(4);
        for _ in 0..self.below(6) {
            let flag = self.pick(flags);
            let letter = flag.as_bytes()[0];
            let is_there = letters.contains(&letter) || wants_cas && letter == b'k';
            if may_repeat || !is_there {
                letters.push(letter);
                command.word(flag);
            }
        }
        if wants_cas {
            // The number is compared with others of its key, so that the reply shows the key as well.
            command.word("c");
            command.word("k");
        }
        if self.one_in(5) {
            self.cas(command, key, " C");
        }
        if may_be_unknown {
            command.word(self.pick(&["!", "x", "S", "Z", "E", "5", "\u{7f}", "é"]));
        }
        self.line_end(command);
    }

    /// What ends the connection.
    fn closing(&mut self, command: &mut Command) {
        command.is_alone = true;
        command.text(self.pick(&[
            "quit",
            "quit x",
            "GET / HTTP/1.1",
            "POST /a HTTP/1.0",
            "OPTIONS * HTTP/1.1",
            "HTTP/",
            "foo  HTTP/2 ",
        ]));
        self.line_end(command);
    }

    fn other(&mut self, command: &mut Command) {
        let line = self.pick(&[
            "",
            " ",
            "\r",
            "foo",
            "f",
            "GET",
            "get",
            "gats",
            "gat 0",
            "getx k0",
            "G HTTP/1.1",
            "get / HTTP/1.1",
            "add / HTTP/1.1",
            "set",
            "set k0",
            "set k0 0 0 noreply",
            "cas k0 0 0 1 noreply",
            "set k0 0 0 1 noreply noreply",
            "incr k0",
            "incr k0 noreply",
            "touch k0",
            "touch k0 noreply",
            "delete",
            "delete noreply",
            "delete a b c d",
            "verbosity",
            "verbosity 0",
            "verbosity x",
            "verbosity noreply",
            "verbosity 0 noreply",
            "verbosity 0 0 0",
            "flush_all",
            "flush_all 0",
            "flush_all -1",
            "flush_all x",
            "flush_all noreply",
            "flush_all 0 noreply",
            "flush_all noreply noreply",
            "flush_all 0 0 0",
            "mn",
            "mn x y",
            "mx k0",
            "mx k0 HTTP/1.1",
            "mg",
            "ms",
            "ms k0",
            "md",
            "ma",
            "me",
            "me k0",
            "me k1 x",
            "me /wE= b",
            "me ** b",
            "mg ** b",
            "mg ** b x",
            "mg ** b Tx",
            "mg ** Tx b",
            "mg k0 F",
            "mg k0 F T",
            "mg k0 T F",
            "stats foo",
            "stats noreply",
            "stats cachedump 1 100",
            "stats cachedump",
            "lru_crawler",
            "lru_crawler crawl all",
            "lru_crawler metadump all",
            "lru_crawler metadump",
            "lru_crawler x y",
        ]);
        // A malformed command before it could take its first byte for its block, and make another verb of it.
        command.is_alone = line.contains("HTTP/");
        command.text(line);
        self.line_end(command);
    }

    /// A key of text; the command that sends its item says so.
    fn key(&mut self, command: &mut Command, sends: bool) -> String {
        let key = match self.below(60) {
            0 => "k".repeat(250),
            _ => format!("k{}", self.below(KEYS)),
        };
        if sends {
            command.sends |= bit_of(&key);
        }
        key
    }

    fn meta_key(&mut self, command: &mut Command, sends: bool) -> (String, bool) {
        if self.one_in(10) {
            let key = self.pick(&BINARY_KEYS).to_owned();
            if sends {
                command.sends |= bit_of(&key);
            }
            return (key, true);
        }
        (self.key(command, sends), false)
    }

    fn cas(&mut self, command: &mut Command, key: &str, before: &str) {
        command.text(before);
        match self.below(8) {
            0..4 => command.parts.push(Part::Cas { key: key.to_owned(), earlier: false }),
            4..6 => command.parts.push(Part::Cas { key: key.to_owned(), earlier: true }),
            _ if self.has_large => command.text("0"),
            _ => command.text(self.pick(&["0", "0", "999999999999", "x", "", "-1"])),
        }
    }

    /// A time of expiry: far away or in the past, for the servers' seconds do not begin at the same moment.
    fn exptime(&mut self) -> &'static str {
        if self.has_large {
            return self.pick(&["0", "0", "0", "1000", "-1", "100000"]);
        }
        self.pick(&[
            "0",
            "0",
            "0",
            "0",
            "1000",
            "+1000",
            "100000",
            "-1",
            "2592000",
            "2592001",
            "2147483647",
            "2147483648",
            "4294967296",
            "x",
            "10x",
            "1000\tx",
            "\u{b}1000",
            "99999999999999999999",
        ])
    }

    fn flags(&mut self) -> &'static str {
        if self.has_large {
            return self.pick(&["0", "5", "4294967295", "4294967296"]);
        }
        self.pick(&[
            "0",
            "0",
            "0",
            "5",
            "+7",
            "-0",
            "-1",
            "x",
            "4294967295",
            "4294967296",
            "4294967301",
            "18446744073709551615",
            "18446744073709551616",
        ])
    }

    fn block(&mut self) -> Vec<u8> {
        if self.has_large && self.one_in(4) {
            // The limit of memcached includes the overhead of an item, so that it is somewhat below 1 MiB.
            let len = [1500, 20_000, 70_000, 600_000, 1_040_000, 1_048_577][self.below(6) as usize];
            return vec![b'a' + self.below(26) as u8; len];
        }
        // No value of white space alone: memcached looks for its number in the memory behind it.
        let numbers = ["5", "9", "10", "99", "100", "1000", "0", "007", "999999999999999999"];
        let nearly = ["-5", "+5", " 5", "5 ", "5 x", "\t7", "7\tx", "5x", "-0", "12345678901234567890123"];
        let others = ["", "abc", "a\r\nb", "mn", "mn\r\nmn", "x", "\r\n5"];
        match self.below(8) {
            0..4 => self.pick(&numbers).into(),
            4 => self.pick(&nearly).into(),
            5 | 6 => self.pick(&others).into(),
            _ => {
                let letter = b'a' + self.below(26) as u8;
                vec![letter; self.below(STRAY_BYTES_MAX as u64) as usize]
            }
        }
    }

    /// The length that is announced for a block.
    fn len(&mut self, block: &[u8]) -> String {
        let len = block.len();
        if self.has_large || !self.one_in(8) {
            return len.to_string();
        }
        match self.below(8) {
            0 => (len + 1).to_string(),
            1 => len.saturating_sub(1).to_string(),
            2 => format!("+{len}"),
            3 => (len + (1 << 32)).to_string(),
            4 => "-1".to_owned(),
            5 => "2147483646".to_owned(),
            6 => "99999999999999999999".to_owned(),
            _ => format!("{len}x"),
        }
    }

    fn noreply(&mut self, command: &mut Command) {
        match self.below(16) {
            0 | 1 => command.word("noreply"),
            2 if !self.has_large => command.word("x"),
            _ => {}
        }
    }

    fn line_end(&mut self, command: &mut Command) {
        command.text(match self.below(20) {
            0 => "\n",
            1 => " \r\n",
            _ => "\r\n",
        });
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn below(&mut self, end: u64) -> u64 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

impl Command {
    fn text(&mut self, text: &str) {
        self.parts.push(Part::Text(text.into()));
    }

    fn word(&mut self, word: &str) {
        self.text(" ");
        self.text(word);
    }
}

/// A bit for each key.
fn bit_of(key: &str) -> u32 {
    match (BINARY_KEYS.iter().position(|&binary| binary == key), key.strip_prefix('k')) {
        (Some(at), _) => 1 << (8 + at),
        (None, Some(digit)) if digit.len() == 1 => 1 << digit.parse::<u32>().expect("a digit"),
        _ => 1 << 31,
    }
}

/// Cuts a session into what is sent at once.
pub(crate) fn batches(session: &[Command]) -> Vec<&[Command]> {
    let (mut batches, mut start, mut sent) = (Vec::new(), 0, 0);
    for (at, command) in session.iter().enumerate() {
        if at > start && (command.is_alone || command.counts & sent != 0) {
            batches.push(&session[start..at]);
            (start, sent) = (at, 0);
        }
        sent |= command.sends;
        if command.is_alone || command.ends_batch {
            batches.push(&session[start..=at]);
            (start, sent) = (at + 1, 0);
        }
    }
    if start < session.len() {
        batches.push(&session[start..]);
    }
    batches
}
