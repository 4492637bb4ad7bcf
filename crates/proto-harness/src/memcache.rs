//! A model of a memcache server, and a driver that compares the two: it generates requests, and checks each reply against
//! what the model knows.
//!
//! A hit must match exactly. A miss of a key that should be there is allowed, since it may have been evicted, and is
//! counted as lost; the caller compares that count with the evictions that the server reports. Several
//! drivers may work on one server at a time, each on keys of its own.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use pitot_proto::PATTERN;

/// What a driver does.
#[derive(Clone, Copy, Debug)]
pub struct SoakOptions {
    /// Distinguishes the keys of this driver from those of others, and seeds its choices.
    pub driver: u32,
    /// Keys, of which one in eight is a counter.
    pub keys: u32,
    /// The longest value of the usual requests; one in a hundred is up to sixteen times as long.
    pub value_bytes_max: u32,
    /// Seconds by which the server's clock may be behind.
    pub lag_s: u32,
}

/// The counts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoakCounts {
    /// Replies that were judged.
    pub operations: u64,
    /// Keys that were found.
    pub hits: u64,
    /// Keys that were missed, and rightly so.
    pub misses: u64,
    /// Keys that were missed and should have been there: evicted, if all is well.
    pub lost: u64,
}

/// A driver on one connection, with its model.
#[derive(Debug)]
pub struct Soak {
    options: SoakOptions,
    random: u64,
    model: Vec<Option<Known>>,
    asked: VecDeque<Asked>,
    counts: SoakCounts,
}

/// What is known of an item.
#[derive(Clone, Debug)]
struct Known {
    value: Content,
    flags: u32,
    /// Its unique number, while that is known.
    cas: Option<u64>,
    /// The seconds in which it may come to its end.
    ends_s: Option<RangeInclusive<u32>>,
}

/// A value.
#[derive(Clone, Debug)]
enum Content {
    /// A number, with blanks behind it up to the length of the longest one since it was written.
    Number(u64, usize),
    Pieces(Vec<Piece>),
}

/// Bytes that follow from a number: the number, and generated content.
#[derive(Clone, Copy, Debug)]
struct Piece {
    id: u64,
    len: u32,
}

/// A request that is not answered.
#[derive(Debug)]
struct Asked {
    key: u32,
    request: Request,
    /// Not before this second was it sent.
    sent_s: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    Get,
    Gets,
    Gat { exptime: u32 },
    MetaGet,
    Set(New),
    MetaSet(New),
    Add(New),
    Replace(New),
    Cas(New, u64),
    Append(Tail),
    Prepend(Tail),
    Delete,
    MetaDelete,
    Touch { exptime: u32 },
    Incr(u64),
    Decr(u64),
    MetaIncr(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct New {
    id: u64,
    len: u32,
    flags: u32,
    exptime: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tail {
    id: u64,
    len: u32,
}

/// A reply, taken apart.
#[derive(Debug, PartialEq, Eq)]
enum Reply<'a> {
    Line(&'a [u8]),
    Item { flags: Option<u32>, cas: Option<u64>, data: &'a [u8] },
}

impl Soak {
    /// A driver whose keys the server does not hold.
    pub fn new(options: SoakOptions) -> Soak {
        assert!(options.keys >= 8 && options.value_bytes_max >= 64);
        Soak {
            options,
            random: u64::from(options.driver),
            model: vec![None; options.keys as usize],
            asked: VecDeque::new(),
            counts: SoakCounts::default(),
        }
    }

    /// Appends so many requests to `out`, at a second of the clock.
    pub fn write(&mut self, requests: usize, now_s: u32, out: &mut Vec<u8>) {
        for _ in 0..requests {
            let key = self.below(u64::from(self.options.keys)) as u32;
            let request = self.choose(key);
            self.put(key, request, out);
            self.asked.push_back(Asked { key, request, sent_s: now_s });
        }
    }

    /// Requests that are not answered.
    pub fn outstanding(&self) -> usize {
        self.asked.len()
    }

    /// What came of it so far.
    pub fn counts(&self) -> SoakCounts {
        self.counts
    }

    /// Judges the replies that are complete in `input`, which has arrived by a second of the clock, and returns how
    /// many bytes they are.
    ///
    /// # Errors
    /// What is wrong with a reply.
    pub fn read(&mut self, now_s: u32, input: &[u8]) -> Result<usize, String> {
        let mut used = 0;
        while let Some(asked) = self.asked.front() {
            let is_meta = matches!(asked.request, Request::MetaGet | Request::MetaIncr(_));
            let Some((reply, len)) = parse(&input[used..], is_meta)? else { break };
            used += len;
            let Some(asked) = self.asked.pop_front() else { break };
            self.counts.operations += 1;
            self.judge(&asked, now_s, &reply).map_err(|why| {
                let shown = match &reply {
                    Reply::Line(line) => String::from_utf8_lossy(line).into_owned(),
                    Reply::Item { flags, cas, data } => {
                        format!("flags {flags:?} cas {cas:?} and {} bytes", data.len())
                    }
                };
                format!("{why}: {asked:?} got {shown}; known was {:?}", self.model[asked.key as usize])
            })?;
        }
        if self.asked.is_empty() && used < input.len() {
            return Err("bytes that were not requested".into());
        }
        Ok(used)
    }

    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn exptime(&mut self) -> u32 {
        if self.below(10) == 0 { 1 + self.below(3) as u32 } else { 0 }
    }

    fn new_value(&mut self) -> New {
        let id = self.next();
        let max = u64::from(self.options.value_bytes_max) * if self.below(100) == 0 { 16 } else { 1 };
        let len = self.below(max + 1) as u32;
        New { id, len, flags: self.next() as u32, exptime: self.exptime() }
    }

    fn is_counter(&self, key: u32) -> bool {
        key.is_multiple_of(8)
    }

    fn choose(&mut self, key: u32) -> Request {
        if self.is_counter(key) {
            let delta = self.below(1000);
            return match self.below(8) {
                0 => Request::Set(New { id: delta, len: 0, flags: 7, exptime: 0 }),
                1 => Request::Decr(delta),
                2 => Request::MetaIncr(delta),
                3 => Request::Delete,
                4 => Request::Get,
                _ => Request::Incr(delta),
            };
        }
        match self.below(100) {
            0..40 => Request::Get,
            40..48 => Request::Gets,
            48..50 => Request::Gat { exptime: self.exptime() },
            50..54 => Request::MetaGet,
            54..74 => Request::Set(self.new_value()),
            74..78 => Request::MetaSet(self.new_value()),
            78..82 => Request::Add(self.new_value()),
            82..85 => Request::Replace(self.new_value()),
            85..91 => {
                let known = self.model[key as usize].as_ref().and_then(|known| known.cas);
                // No item will ever have had so many before it.
                Request::Cas(self.new_value(), known.unwrap_or(u64::MAX))
            }
            n @ 91..95 => {
                let tail = Tail { id: self.next(), len: self.below(40) as u32 };
                if n < 93 { Request::Append(tail) } else { Request::Prepend(tail) }
            }
            95..97 => Request::Delete,
            97 => Request::MetaDelete,
            _ => Request::Touch { exptime: self.exptime() },
        }
    }

    fn put(&self, key: u32, request: Request, out: &mut Vec<u8>) {
        let name = format!("{:x}.{key:x}", self.options.driver);
        let mut line = |text: String| out.extend_from_slice(text.as_bytes());
        let mut storage = |verb: &str, new: New, cas: Option<u64>| {
            let content = self.content(key, new);
            let cas = cas.map_or_else(String::new, |cas| format!(" {cas}"));
            line(format!("{verb} {name} {} {} {}{cas}\r\n", new.flags, new.exptime, content.len()));
            content
        };
        let content = match request {
            Request::Get => return line(format!("get {name}\r\n")),
            Request::Gets => return line(format!("gets {name}\r\n")),
            Request::Gat { exptime } => return line(format!("gat {exptime} {name}\r\n")),
            Request::MetaGet => return line(format!("mg {name} f c v\r\n")),
            Request::Delete => return line(format!("delete {name}\r\n")),
            Request::MetaDelete => return line(format!("md {name}\r\n")),
            Request::Touch { exptime } => return line(format!("touch {name} {exptime}\r\n")),
            Request::Incr(delta) => return line(format!("incr {name} {delta}\r\n")),
            Request::Decr(delta) => return line(format!("decr {name} {delta}\r\n")),
            Request::MetaIncr(delta) => return line(format!("ma {name} v D{delta}\r\n")),
            Request::Set(new) => storage("set", new, None),
            Request::Add(new) => storage("add", new, None),
            Request::Replace(new) => storage("replace", new, None),
            Request::Cas(new, cas) => storage("cas", new, Some(cas)),
            Request::MetaSet(new) => {
                let content = self.content(key, new);
                line(format!("ms {name} {} F{} T{}\r\n", content.len(), new.flags, new.exptime));
                content
            }
            Request::Append(tail) => {
                line(format!("append {name} 0 0 {}\r\n", tail.len));
                Content::Pieces(vec![tail.into()])
            }
            Request::Prepend(tail) => {
                line(format!("prepend {name} 0 0 {}\r\n", tail.len));
                Content::Pieces(vec![tail.into()])
            }
        };
        content.put(out);
        out.extend_from_slice(b"\r\n");
    }

    fn content(&self, key: u32, new: New) -> Content {
        if self.is_counter(key) {
            Content::Number(new.id, 0)
        } else {
            Content::Pieces(vec![Piece { id: new.id, len: new.len }])
        }
    }

    /// Compares a reply with the model and brings that up to date.
    fn judge(&mut self, asked: &Asked, now_s: u32, reply: &Reply<'_>) -> Result<(), String> {
        let key = asked.key as usize;
        let line = match reply {
            Reply::Line(line) => *line,
            Reply::Item { .. } => b"",
        };
        let found = match (asked.request, line) {
            (_, b"") => true,
            (_, b"END" | b"EN" | b"NOT_FOUND" | b"NF") => false,
            (Request::Set(_), b"STORED") | (Request::MetaSet(_), b"HD") => {
                // Whether there was one does not show.
                self.model[key] = None;
                return self.written(asked, now_s);
            }
            (Request::Add(_), b"STORED") => false,
            (Request::Add(_), b"NOT_STORED") => true,
            (Request::Replace(_) | Request::Append(_) | Request::Prepend(_), b"STORED") => true,
            (Request::Replace(_) | Request::Append(_) | Request::Prepend(_), b"NOT_STORED") => false,
            (Request::Cas(..), b"STORED" | b"EXISTS") => true,
            (Request::Delete, b"DELETED") | (Request::MetaDelete, b"HD") => true,
            (Request::Touch { .. }, b"TOUCHED") => true,
            (Request::Incr(_) | Request::Decr(_), digits) if unsigned(digits).is_some() => true,
            _ => return Err("no such reply may come".into()),
        };
        self.observe(asked, now_s, found)?;
        if !found {
            return if matches!(asked.request, Request::Add(_)) {
                self.written(asked, now_s)
            } else {
                Ok(())
            };
        }
        let lag_s = self.options.lag_s;
        let Some(known) = &mut self.model[key] else { return Err("it cannot be there".into()) };
        match (asked.request, reply) {
            (Request::MetaIncr(delta), Reply::Item { data, .. }) => known.count(delta, true, data),
            (Request::Incr(delta), Reply::Line(digits)) => known.count(delta, true, digits),
            (Request::Decr(delta), Reply::Line(digits)) => known.count(delta, false, digits),
            (request, Reply::Item { flags, cas, data }) => {
                if flags.is_some_and(|flags| flags != known.flags) {
                    return Err("the flags are wrong".into());
                }
                if !known.value.is(data) {
                    return Err("the value is wrong".into());
                }
                if let (Some(shown), Some(known)) = (cas, known.cas)
                    && *shown != known
                {
                    return Err("the unique number has changed, and nothing else".into());
                }
                known.cas = known.cas.or(*cas);
                if let Request::Gat { exptime } = request {
                    known.ends_s = ends_s(exptime, asked.sent_s, now_s, lag_s);
                }
                Ok(())
            }
            (Request::Touch { exptime }, _) => {
                known.ends_s = ends_s(exptime, asked.sent_s, now_s, lag_s);
                Ok(())
            }
            (Request::Cas(_, cas), _) => {
                let stored = line == b"STORED";
                // A number that is not known any more is that of an earlier state.
                if stored != (known.cas == Some(cas)) {
                    return Err("the unique numbers were compared wrongly".into());
                }
                if stored { self.written(asked, now_s) } else { Ok(()) }
            }
            (Request::Replace(_), _) => self.written(asked, now_s),
            (Request::Append(tail), _) => {
                known.grow(|pieces| pieces.push(tail.into()));
                Ok(())
            }
            (Request::Prepend(tail), _) => {
                known.grow(|pieces| pieces.insert(0, tail.into()));
                Ok(())
            }
            (Request::Delete | Request::MetaDelete, _) => {
                self.model[key] = None;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Handles a reply that shows whether the key was there.
    fn observe(&mut self, asked: &Asked, now_s: u32, found: bool) -> Result<(), String> {
        let known = &mut self.model[asked.key as usize];
        let server_s = asked.sent_s - self.options.lag_s..=now_s;
        if found {
            self.counts.hits += 1;
            match known {
                None => Err("it cannot be there".into()),
                Some(Known { ends_s: Some(ends_s), .. }) if ends_s.end() <= server_s.start() => {
                    Err("it must have expired".into())
                }
                Some(_) => Ok(()),
            }
        } else {
            let expired =
                |known: &Known| known.ends_s.as_ref().is_some_and(|ends_s| ends_s.start() <= server_s.end());
            match known.take() {
                Some(known) if !expired(&known) => self.counts.lost += 1,
                _ => self.counts.misses += 1,
            }
            Ok(())
        }
    }

    /// The request has written a new item.
    fn written(&mut self, asked: &Asked, now_s: u32) -> Result<(), String> {
        let (Request::Set(new)
        | Request::MetaSet(new)
        | Request::Add(new)
        | Request::Replace(new)
        | Request::Cas(new, _)) = asked.request
        else {
            return Err("this request writes nothing".into());
        };
        self.model[asked.key as usize] = Some(Known {
            value: self.content(asked.key, new),
            flags: new.flags,
            cas: None,
            ends_s: ends_s(new.exptime, asked.sent_s, now_s, self.options.lag_s),
        });
        Ok(())
    }
}

/// The seconds in which an item may expire that was given so many seconds between two seconds of the clock.
fn ends_s(exptime: u32, sent_s: u32, now_s: u32, lag_s: u32) -> Option<RangeInclusive<u32>> {
    (exptime > 0).then(|| sent_s - lag_s + exptime..=now_s + exptime)
}

impl Known {
    fn count(&mut self, delta: u64, up: bool, reported: &[u8]) -> Result<(), String> {
        let len = self.value.len();
        let Content::Number(n, padded) = &mut self.value else { return Err("it is not a number".into()) };
        *padded = len;
        *n = if up { n.wrapping_add(delta) } else { n.saturating_sub(delta) };
        self.cas = None;
        if reported == n.to_string().as_bytes() { Ok(()) } else { Err(format!("it should be {n}")) }
    }

    fn grow(&mut self, change: impl FnOnce(&mut Vec<Piece>)) {
        if let Content::Pieces(pieces) = &mut self.value {
            change(pieces);
        }
        self.cas = None;
    }
}

impl From<Tail> for Piece {
    fn from(tail: Tail) -> Piece {
        Piece { id: tail.id, len: tail.len }
    }
}

impl Piece {
    /// Its bytes, in parts.
    fn parts(self) -> impl Iterator<Item = Vec<u8>> {
        let id = format!("{:016x}", self.id).into_bytes();
        let id_len = (self.len as usize).min(id.len());
        let start = (self.id % 4096) as usize;
        let rest = self.len as usize - id_len;
        let mut pattern = PATTERN[start..].iter().chain(PATTERN.iter().cycle()).copied();
        std::iter::once(id[..id_len].to_vec())
            .chain(std::iter::once_with(move || pattern.by_ref().take(rest).collect()))
    }
}

impl Content {
    fn len(&self) -> usize {
        match self {
            Content::Number(n, padded) => n.to_string().len().max(*padded),
            Content::Pieces(pieces) => pieces.iter().map(|piece| piece.len as usize).sum(),
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Content::Number(n, padded) => out.extend_from_slice(format!("{n:<padded$}").as_bytes()),
            Content::Pieces(pieces) => {
                for part in pieces.iter().flat_map(|piece| piece.parts()) {
                    out.extend_from_slice(&part);
                }
            }
        }
    }

    fn is(&self, data: &[u8]) -> bool {
        let mut whole = Vec::with_capacity(self.len());
        self.put(&mut whole);
        whole == data
    }
}

/// The first reply in `input` and its length, if it is complete. An item of a classic command ends with `END`.
fn parse(input: &[u8], is_meta: bool) -> Result<Option<(Reply<'_>, usize)>, String> {
    let Some(end) = input.iter().position(|&b| b == b'\n') else { return Ok(None) };
    let line = input[..end].strip_suffix(b"\r").ok_or("a line ends without a carriage return")?;
    let after = end + 1;
    let bad = || format!("`{}` is not the head of an item", String::from_utf8_lossy(line));
    let words: Vec<&[u8]> = line.split(|&b| b == b' ').collect();
    let (len, flags, cas, behind): (_, _, _, &[u8]) = match (is_meta, words.as_slice()) {
        (false, [b"VALUE", _, flags, len, cas @ ..]) => {
            (unsigned(len), unsigned(flags), cas.first().map(|cas| unsigned(cas)), b"\r\nEND\r\n")
        }
        (true, [b"VA", len, shown @ ..]) => {
            let token =
                |letter: u8| shown.iter().find(|word| word[0] == letter).map(|word| unsigned(&word[1..]));
            (unsigned(len), token(b'f').unwrap_or(None), token(b'c'), b"\r\n")
        }
        _ => return Ok(Some((Reply::Line(line), after))),
    };
    let len = len.ok_or_else(bad)? as usize;
    let Some(rest) = input.get(after..after + len + behind.len()) else { return Ok(None) };
    let (data, rest) = rest.split_at(len);
    if rest != behind {
        return Err(format!("{}: its data does not end where it should", bad()));
    }
    let flags = flags.map(|flags| u32::try_from(flags).map_err(|_| bad())).transpose()?;
    let cas = cas.map(|cas| cas.ok_or_else(bad)).transpose()?;
    Ok(Some((Reply::Item { flags, cas, data }, after + len + behind.len())))
}

/// A decimal number without a sign, as the server writes it.
fn unsigned(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: SoakOptions = SoakOptions { driver: 1, keys: 8, value_bytes_max: 64, lag_s: 0 };

    /// Lets the driver ask for key 1 after it is known to hold `value`, and judges a reply.
    fn judge(request: Request, known: bool, reply: &[u8]) -> Result<SoakCounts, String> {
        let mut soak = Soak::new(OPTIONS);
        let value = Content::Pieces(vec![Piece { id: 5, len: 3 }]);
        if known {
            soak.model[1] = Some(Known { value, flags: 2, cas: Some(9), ends_s: Some(100..=101) });
        }
        soak.asked.push_back(Asked { key: 1, request, sent_s: 50 });
        let used = soak.read(50, reply)?;
        assert_eq!(used, reply.len());
        Ok(soak.counts())
    }

    #[test]
    fn a_right_hit_and_an_eviction_pass_and_everything_else_does_not() {
        let counts = judge(Request::Gets, true, b"VALUE 1.1 2 3 9\r\n000\r\nEND\r\n").unwrap();
        assert_eq!((counts.hits, counts.lost), (1, 0));
        let counts = judge(Request::Get, true, b"END\r\n").unwrap();
        assert_eq!((counts.hits, counts.lost), (0, 1));
        for (request, known, reply) in [
            (Request::Get, false, &b"VALUE 1.1 2 3\r\n000\r\nEND\r\n"[..]),
            (Request::Get, true, b"VALUE 1.1 2 3\r\n001\r\nEND\r\n"),
            (Request::Get, true, b"VALUE 1.1 2 4\r\n0000\r\nEND\r\n"),
            (Request::Get, true, b"VALUE 1.1 3 3\r\n000\r\nEND\r\n"),
            (Request::Gets, true, b"VALUE 1.1 2 3 8\r\n000\r\nEND\r\n"),
            (Request::Get, true, b"STORED\r\n"),
            (Request::Get, true, b"END\r\nEND\r\n"),
            (Request::Delete, false, b"DELETED\r\n"),
            (Request::Cas(New { id: 1, len: 1, flags: 0, exptime: 0 }, 9), true, b"EXISTS\r\n"),
            (Request::Cas(New { id: 1, len: 1, flags: 0, exptime: 0 }, 8), true, b"STORED\r\n"),
        ] {
            assert!(judge(request, known, reply).is_err(), "{request:?} {}", String::from_utf8_lossy(reply));
        }
    }

    #[test]
    fn what_has_expired_must_not_come_back_and_is_not_lost() {
        let mut soak = Soak::new(OPTIONS);
        let value = || Content::Pieces(vec![]);
        let ask = |soak: &mut Soak, sent_s, now_s, reply: &[u8]| {
            soak.model[1] = Some(Known { value: value(), flags: 0, cas: None, ends_s: Some(100..=101) });
            soak.asked.push_back(Asked { key: 1, request: Request::Get, sent_s });
            soak.read(now_s, reply)
        };
        let hit = b"VALUE 1.1 0 0\r\n\r\nEND\r\n";
        assert!(ask(&mut soak, 100, 100, hit).is_ok());
        assert!(ask(&mut soak, 101, 101, hit).is_err());
        assert!(ask(&mut soak, 100, 100, b"END\r\n").is_ok());
        assert_eq!(soak.counts().lost, 0);
        assert!(ask(&mut soak, 98, 99, b"END\r\n").is_ok());
        assert_eq!(soak.counts().lost, 1);
    }
}
