//! One connection of the client.

use std::sync::Arc;

use super::login::Login;
use super::plan::Postgres;
use super::reader::{ErrorMessage, Message, Reader};
use super::sqlstate;
use crate::client::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag, Verdict};
use crate::client::outgoing::Outgoing;
use crate::client::protocol::ClientConn;

#[derive(Debug)]
pub(super) struct PostgresConn {
    run: Arc<Postgres>,
    reader: Reader,
    stage: Stage,
    /// Commands of the present reply that are over, and whatever else may end it.
    ended: u64,
    /// Rows of the present command, and of those before it in the same reply.
    rows: u64,
    rows_before: u64,
    verdict: Verdict,
    /// Rows of all replies.
    rows_all: u64,
}

#[derive(Debug)]
enum Stage {
    LoggingIn(Login),
    /// So many statements are still to be parsed.
    Preparing(usize),
    Open,
}

impl PostgresConn {
    pub(super) fn new(run: Arc<Postgres>) -> PostgresConn {
        PostgresConn {
            run,
            reader: Reader::default(),
            stage: Stage::LoggingIn(Login::Begun),
            ended: 0,
            rows: 0,
            rows_before: 0,
            verdict: Verdict::Right,
            rows_all: 0,
        }
    }

    /// Takes a message before the first request.
    fn greeting(&mut self, message: Message<'_>, out: &mut Outgoing) -> Result<Progress, Fault> {
        match (&mut self.stage, message) {
            (Stage::LoggingIn(login), Message::Authentication(method, data)) => {
                login.step(&self.run.account, method, data, out.buffer())?;
            }
            (Stage::LoggingIn(Login::Done), Message::Ready) if self.run.prepare.is_empty() => {
                self.stage = Stage::Open;
                return Ok(Progress::Ready);
            }
            (Stage::LoggingIn(Login::Done), Message::Ready) => {
                out.fixed(self.run.prepare);
                self.stage = Stage::Preparing(self.run.requests.len());
            }
            (Stage::Preparing(left @ 1..), Message::Parsed) => *left -= 1,
            (Stage::Preparing(0), Message::Ready) => {
                self.stage = Stage::Open;
                return Ok(Progress::Ready);
            }
            (_, Message::Error(error)) => {
                self.run.said.hear(error.text);
                return Err(Fault::Named(sqlstate::name(error.code)));
            }
            _ => return Err(Fault::Malformed),
        }
        Ok(Progress::More)
    }

    /// Takes a message of the reply to a request.
    fn reply(&mut self, tag: Tag, message: Message<'_>) -> Result<Progress, Fault> {
        match message {
            Message::Row { differs } => {
                self.rows += 1;
                if differs {
                    self.worsen(Verdict::Bytes);
                }
            }
            Message::Complete { rows } => {
                if rows.is_some_and(|rows| rows != self.rows) {
                    self.worsen(Verdict::Length);
                }
                self.rows_before += std::mem::take(&mut self.rows);
                self.ended += 1;
            }
            Message::Empty => self.ended += 1,
            Message::Error(ErrorMessage { code, is_fatal, text }) => {
                self.run.said.hear(text);
                self.worsen(Verdict::Refused(sqlstate::name(code)));
                self.ended += 1;
                if is_fatal {
                    return Ok(self.finish(tag, false));
                }
            }
            Message::Ready if self.ended > 0 => return Ok(self.finish(tag, true)),
            Message::Parsed | Message::Noted if !self.run.is_simple => {}
            Message::Ready | Message::Parsed | Message::Noted | Message::Authentication(..) => {
                return Err(Fault::Malformed);
            }
        }
        Ok(Progress::More)
    }

    /// The first thing that is wrong with a reply is what is reported.
    fn worsen(&mut self, verdict: Verdict) {
        if self.verdict == Verdict::Right {
            self.verdict = verdict;
        }
    }

    fn finish(&mut self, tag: Tag, persists: bool) -> Progress {
        let rows = self.rows_before + self.rows;
        if self.run.requests[tag.0 as usize].rows.is_some_and(|wanted| wanted != rows) {
            self.worsen(Verdict::Refused("rows"));
        }
        self.rows_all += rows;
        (self.ended, self.rows, self.rows_before) = (0, 0, 0);
        let verdict = std::mem::replace(&mut self.verdict, Verdict::Right);
        Progress::Reply(Reply { verdict, status: 0, persists })
    }
}

impl ClientConn for PostgresConn {
    fn open(&mut self, out: &mut Outgoing) -> Opening {
        let rows_all = self.rows_all;
        *self = PostgresConn { rows_all, ..PostgresConn::new(Arc::clone(&self.run)) };
        out.fixed(self.run.startup);
        Opening::Greeting
    }

    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag {
        let tag = self.run.choice.next(draw);
        self.run.requests[tag.0 as usize].query.write(draw.random, out);
        tag
    }

    fn receive(&mut self, tag: Option<Tag>, input: &[u8], out: &mut Outgoing) -> Result<Received, Fault> {
        let value = tag.and_then(|tag| self.run.requests[tag.0 as usize].value);
        let mut consumed = 0;
        loop {
            let (used, message) = self.reader.next(&input[consumed..], value)?;
            consumed += used;
            let Some(message) = message else {
                return Ok(Received { consumed, progress: Progress::More });
            };
            let progress = match (&self.stage, tag, message) {
                (Stage::Open, Some(tag), message) => self.reply(tag, message)?,
                // Such as that the server is being stopped.
                (Stage::Open, None, Message::Error(error)) => {
                    self.run.said.hear(error.text);
                    return Err(Fault::Named(sqlstate::name(error.code)));
                }
                (Stage::Open, None, _) => return Err(Fault::Unasked),
                (Stage::LoggingIn(_) | Stage::Preparing(_), _, message) => self.greeting(message, out)?,
            };
            if progress != Progress::More {
                return Ok(Received { consumed, progress });
            }
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("rows", self.rows_all)]
    }
}
