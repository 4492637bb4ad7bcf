//! Commands of the user, and replies of any kind to them.

use std::sync::Arc;

use super::commands::{begin_array, write_array, write_bulk};
use super::login::{Greeting, Login, line};
use super::refusal;
use crate::cache::Incoming;
use crate::choice::RequestChoice;
use crate::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag, Verdict};
use crate::outgoing::Outgoing;
use crate::protocol::{ClientConn, ClientOptions};
use crate::said::Said;
use crate::session::{Form, Template, Values};
use pitot_proto::memcache::unsigned;

/// Commands that cannot be used in a run, and why.
const REFUSED: &[(&str, &str)] = &[
    ("AUTH", "write the user and the password in the URL: redis://USER:PASSWORD@host/"),
    ("HELLO", "the client uses version 2 of the protocol; write the user and the password in the URL"),
    ("MONITOR", "its reply does not end"),
    ("PSUBSCRIBE", "its reply does not end"),
    ("PSYNC", "its reply does not end"),
    ("PUNSUBSCRIBE", "its reply does not end"),
    ("RESET", "it would undo the login"),
    ("SSUBSCRIBE", "its reply does not end"),
    ("SUBSCRIBE", "its reply does not end"),
    ("SUNSUBSCRIBE", "its reply does not end"),
    ("SYNC", "its reply does not end"),
    ("UNSUBSCRIBE", "its reply does not end"),
];

pub(super) struct Commands {
    login: Login,
    commands: Vec<Command>,
    choice: RequestChoice,
    /// The first refusal of the server.
    pub(super) said: Said,
}

enum Command {
    /// The same each time.
    Fixed(&'static [u8]),
    /// With placeholders for numbers.
    Words(Vec<Template>),
}

impl Commands {
    /// The commands in the bodies of the requests.
    ///
    /// # Errors
    /// A body that is not a command, or a command that cannot be used in a run.
    pub(super) fn new(login: Login, options: &ClientOptions) -> Result<Commands, String> {
        let commands = options.requests.iter().map(|spec| Command::parse(&spec.body));
        Ok(Commands {
            login,
            commands: commands.collect::<Result<_, _>>()?,
            choice: RequestChoice::of(options)?,
            said: Said::default(),
        })
    }

    /// The length of the longest, if all are fixed.
    pub(super) fn bytes_max(&self) -> Option<usize> {
        let mut lengths = self.commands.iter().map(|command| match command {
            Command::Fixed(bytes) => Some(bytes.len()),
            Command::Words(_) => None,
        });
        lengths.try_fold(self.login.bytes().len(), |max, bytes| Some(max.max(bytes?)))
    }
}

impl Command {
    fn parse(text: &[u8]) -> Result<Command, String> {
        let words = words(text)?;
        let name =
            words.first().ok_or("the command is empty: write --command 'INCR hits'")?.to_ascii_uppercase();
        if let Some((name, why)) = REFUSED.iter().find(|(refused, _)| refused.as_bytes() == name) {
            return Err(format!("{name} cannot be used in a run: {why}"));
        }
        let second = words.get(1).map(|word| word.to_ascii_uppercase());
        if name == b"CLIENT" && second.as_deref() == Some(b"REPLY") {
            return Err("CLIENT REPLY cannot be used in a run: requests must have replies".into());
        }
        let templates =
            words.iter().map(|word| Template::of_numbers(word, Form::Raw)).collect::<Result<Vec<_>, _>>()?;
        let fixed: Option<Vec<&[u8]>> = templates.iter().map(Template::fixed).collect();
        Ok(match fixed {
            Some(words) => {
                let mut bytes = Vec::new();
                write_array(&words, |piece| bytes.extend_from_slice(piece));
                Command::Fixed(bytes.leak())
            }
            None => Command::Words(templates),
        })
    }
}

/// Splits a command into words, as redis-cli does: at white space outside `'...'` and `"..."`. In the latter a backslash escapes
/// the next character.
fn words(text: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    // Whether a word has begun, and the quote that it is in.
    let (mut begun, mut quote) = (false, None);
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (None, byte) if byte.is_ascii_whitespace() => begun = false,
            (Some(end), byte) if byte == end => quote = None,
            _ => {
                if !begun {
                    words.push(Vec::new());
                    begun = true;
                }
                let word = words.last_mut().ok_or("the command is empty")?;
                match (quote, byte) {
                    (None, b'\'' | b'"') => quote = Some(byte),
                    (Some(b'"'), b'\\') => word.push(match bytes.next() {
                        Some(b'n') => b'\n',
                        Some(b'r') => b'\r',
                        Some(b't') => b'\t',
                        Some(other) => other,
                        None => b'\\',
                    }),
                    _ => word.push(byte),
                }
            }
        }
    }
    match quote {
        None => Ok(words),
        Some(end) => {
            Err(format!("the command `{}` has no closing {}", String::from_utf8_lossy(text), char::from(end)))
        }
    }
}

pub(super) struct CommandConn {
    run: Arc<Commands>,
    greeting: Greeting,
    /// Values of the current reply still to come; an array counts as one, and so does each of its elements.
    left: u64,
    /// The first of them has begun.
    begun: bool,
    /// The value that is arriving, if its length is known.
    value: Option<Incoming>,
    verdict: Verdict,
    /// Bytes of the current reply.
    content: u64,
    /// Nil replies.
    nil: u64,
    word: Vec<u8>,
}

impl CommandConn {
    pub(super) fn new(run: Arc<Commands>) -> CommandConn {
        CommandConn {
            run,
            greeting: Greeting::default(),
            left: 1,
            begun: false,
            value: None,
            verdict: Verdict::Right,
            content: 0,
            nil: 0,
            word: Vec::new(),
        }
    }

    /// Takes the first line of a value.
    fn line(&mut self, line: &[u8]) -> Result<(), Fault> {
        let is_whole = !std::mem::replace(&mut self.begun, true);
        let (kind, rest) = line.split_first().ok_or(Fault::Malformed)?;
        match kind {
            b'+' => self.left -= 1,
            b':' if rest.strip_prefix(b"-").unwrap_or(rest).iter().all(u8::is_ascii_digit) => self.left -= 1,
            b'-' => {
                self.run.said.hear(rest);
                self.verdict.worsen(Verdict::Refused(refusal::name(rest)));
                self.left -= 1;
            }
            b'$' | b'*' if rest == b"-1" => {
                self.nil += u64::from(is_whole);
                self.left -= 1;
            }
            b'$' => self.value = Some(Incoming::of_length(unsigned(rest).ok_or(Fault::Malformed)?)),
            b'*' => {
                let more = unsigned(rest).ok_or(Fault::Malformed)?;
                self.left = (self.left - 1).checked_add(more).ok_or(Fault::TooLarge)?;
            }
            _ => return Err(Fault::Malformed),
        }
        Ok(())
    }
}

impl ClientConn for CommandConn {
    fn open(&mut self, out: &mut Outgoing) -> Opening {
        (self.left, self.begun, self.value, self.content) = (1, false, None, 0);
        self.verdict = Verdict::Right;
        let (greeting, opening) = self.run.login.open(out);
        self.greeting = greeting;
        opening
    }

    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag {
        let tag = self.run.choice.next(draw);
        match &self.run.commands[tag.0 as usize] {
            Command::Fixed(bytes) => out.fixed(bytes),
            Command::Words(words) => {
                let values = Values::of(draw);
                let mut draws = values.draws();
                let out = out.buffer();
                begin_array(words.len() as u64, |piece| out.extend_from_slice(piece));
                for word in words {
                    self.word.clear();
                    word.write(values, &mut draws, 0, &mut self.word);
                    write_bulk(&self.word, &mut |piece: &[u8]| out.extend_from_slice(piece));
                }
            }
        }
        tag
    }

    fn receive(&mut self, tag: Option<Tag>, input: &[u8], _: &mut Outgoing) -> Result<Received, Fault> {
        if !self.greeting.is_over() {
            return self.greeting.receive(input, &self.run.said);
        }
        // The greeting may be the last input.
        if input.is_empty() {
            return Ok(Received { consumed: 0, progress: Progress::More });
        }
        if tag.is_none() {
            return Err(Fault::Unasked);
        }
        let mut consumed = 0;
        while self.left > 0 {
            let rest = &input[consumed..];
            if let Some(value) = &mut self.value {
                if rest.is_empty() {
                    return Ok(Received { consumed, progress: Progress::More });
                }
                let taken = value.take(rest, false)?.consumed;
                consumed += taken;
                self.content += taken as u64;
                if value.is_done() {
                    self.value = None;
                    self.left -= 1;
                }
                continue;
            }
            let Some((line, used)) = line(rest)? else {
                return Ok(Received { consumed, progress: Progress::More });
            };
            consumed += used;
            self.content += used as u64;
            self.line(line)?;
        }
        (self.left, self.begun) = (1, false);
        let verdict = self.verdict.take();
        let content = std::mem::take(&mut self.content);
        let reply = Reply { verdict, status: 0, persists: true, content };
        Ok(Received { consumed, progress: Progress::Reply(reply) })
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("nil", self.nil)]
    }
}
