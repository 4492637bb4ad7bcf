use std::sync::Arc;

use super::login::Login;
use super::plan::{Plays, Postgres};
use super::reader::{ErrorMessage, Message, Reader};
use super::sqlstate;
use crate::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag, Verdict};
use crate::outgoing::Outgoing;
use crate::protocol::ClientConn;
use crate::session::{InTurn, SessionConn, Values};

/// Ends a transaction in which a statement of a script has failed: `ROLLBACK` as a simple query.
const ROLLBACK: &[u8] = b"Q\0\0\0\x0dROLLBACK\0";

#[derive(Debug)]
pub(super) struct PostgresConn {
    run: Arc<Postgres>,
    reader: Reader,
    stage: Stage,
    /// Commands of the current reply that are complete, and everything else that may end it.
    ended: u64,
    /// Rows of the current command, and of earlier ones in the same reply.
    rows: u64,
    rows_before: u64,
    verdict: Verdict,
    /// Bytes of the current reply.
    content: u64,
    /// Rows of all replies.
    rows_all: u64,
    script: Option<Script>,
}

/// The progress of a connection in the current script.
#[derive(Debug)]
struct Script {
    sessions: InTurn,
    /// The last reply has left a transaction open.
    in_transaction: bool,
    /// A connection was lost within a transaction.
    lost: bool,
    /// The reply to the current step was wrong, and its transaction is being ended. Otherwise the next script would fail in it,
    /// and the locks of this one would be kept.
    rolling_back: bool,
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
        let script = match &run.plays {
            Plays::Requests(_) => None,
            Plays::Scripts(scripts) => Some(Script {
                sessions: InTurn::new(Arc::clone(scripts)),
                in_transaction: false,
                lost: false,
                rolling_back: false,
            }),
        };
        PostgresConn {
            run,
            script,
            reader: Reader::default(),
            stage: Stage::LoggingIn(Login::Begun),
            ended: 0,
            rows: 0,
            rows_before: 0,
            verdict: Verdict::Right,
            content: 0,
            rows_all: 0,
        }
    }

    /// Takes a message before the first request.
    fn greeting(&mut self, message: Message<'_>, out: &mut Outgoing) -> Result<Progress, Fault> {
        match (&mut self.stage, message) {
            (Stage::LoggingIn(login), Message::Authentication(method, data)) => {
                login.step(&self.run.account, method, data, out.buffer())?;
            }
            (Stage::LoggingIn(Login::Done), Message::Ready { .. }) if self.run.prepare.is_empty() => {
                self.stage = Stage::Open;
                return Ok(Progress::Ready);
            }
            (Stage::LoggingIn(Login::Done), Message::Ready { .. }) => {
                out.fixed(self.run.prepare);
                self.stage = Stage::Preparing(self.run.requests.len());
            }
            (Stage::Preparing(left @ 1..), Message::Parsed) => *left -= 1,
            (Stage::Preparing(0), Message::Ready { .. }) => {
                self.stage = Stage::Open;
                return Ok(Progress::Ready);
            }
            (stage, Message::Error(error)) => {
                let at = match stage {
                    Stage::Preparing(left) => self.run.requests.len().checked_sub(*left),
                    Stage::LoggingIn(_) | Stage::Open => None,
                };
                self.run.hear(at, error.text);
                return Err(Fault::Named(sqlstate::name(error.code)));
            }
            _ => return Err(Fault::Malformed),
        }
        Ok(Progress::More)
    }

    /// Takes a message of the reply to a request.
    fn reply(&mut self, tag: Tag, message: Message<'_>, out: &mut Outgoing) -> Result<Progress, Fault> {
        if let Some(script) = self.script.as_mut().filter(|script| script.rolling_back) {
            return match message {
                Message::Ready { .. } => Ok(script.reply(tag, true, 0)),
                Message::Error(_) => Ok(script.reply(tag, false, 0)),
                _ => Ok(Progress::More),
            };
        }
        match message {
            Message::Row { differs } => {
                self.rows += 1;
                if differs {
                    self.verdict.worsen(Verdict::Bytes);
                }
            }
            Message::Complete { rows } => {
                if rows.is_some_and(|rows| rows != self.rows) {
                    self.verdict.worsen(Verdict::Length);
                }
                self.rows_before += std::mem::take(&mut self.rows);
                self.ended += 1;
            }
            Message::Empty => self.ended += 1,
            Message::Error(ErrorMessage { code, is_fatal, text }) => {
                self.run.hear(Some(tag.0 as usize), text);
                self.verdict.worsen(Verdict::Refused(sqlstate::name(code)));
                self.ended += 1;
                if is_fatal {
                    return Ok(self.finish(tag, None, out));
                }
            }
            Message::Ready { in_transaction } if self.ended > 0 => {
                return Ok(self.finish(tag, Some(in_transaction), out));
            }
            Message::Parsed | Message::Noted if !self.run.is_simple => {}
            Message::Ready { .. } | Message::Parsed | Message::Noted | Message::Authentication(..) => {
                return Err(Fault::Malformed);
            }
        }
        Ok(Progress::More)
    }

    /// A reply is complete. `in_transaction` is whether a transaction is open; `None` if the connection ends.
    fn finish(&mut self, tag: Tag, in_transaction: Option<bool>, out: &mut Outgoing) -> Progress {
        let rows = self.rows_before + self.rows;
        if self.run.requests[tag.0 as usize].rows.is_some_and(|wanted| wanted != rows) {
            self.verdict.worsen(Verdict::Refused("rows"));
        }
        self.rows_all += rows;
        (self.ended, self.rows, self.rows_before) = (0, 0, 0);
        let verdict = self.verdict.take();
        let content = std::mem::take(&mut self.content);
        match (&mut self.script, &self.run.plays) {
            (Some(script), Plays::Scripts(scripts)) => {
                script.in_transaction = in_transaction == Some(true);
                let at_the_end = scripts.is_last(tag.0 as u16);
                if script.finish(verdict, at_the_end) {
                    out.fixed(ROLLBACK);
                    return Progress::More;
                }
                script.reply(tag, in_transaction.is_some(), content)
            }
            _ => Progress::Reply(Reply { verdict, status: 0, persists: in_transaction.is_some(), content }),
        }
    }
}

impl Script {
    /// The reply to a step has this verdict. True if its transaction has to be ended first.
    fn finish(&mut self, verdict: Verdict, at_the_end: bool) -> bool {
        let lost = std::mem::take(&mut self.lost).then_some("transaction-lost");
        let found = match verdict {
            Verdict::Right => None,
            Verdict::Refused(name) => Some(name),
            Verdict::Length => Some("length"),
            Verdict::Bytes | Verdict::Status(_) => Some("bytes"),
        };
        let left_open = (at_the_end && self.in_transaction).then_some("transaction-left-open");
        if let Some(name) = lost.or(found).or(left_open) {
            self.sessions.play.refuse(&mut self.sessions.answer, name);
            self.rolling_back = self.in_transaction;
        }
        self.rolling_back
    }

    fn reply(&mut self, tag: Tag, persists: bool, content: u64) -> Progress {
        self.in_transaction &= !std::mem::take(&mut self.rolling_back);
        let verdict = self.sessions.answered(tag.0 as u16);
        Progress::Reply(Reply { verdict, status: 0, persists, content })
    }
}

impl Postgres {
    /// The server has refused the query of that index, if it concerns one.
    fn hear(&self, at: Option<usize>, text: &[u8]) {
        match (&self.plays, at) {
            (Plays::Scripts(scripts), Some(at)) => self.said.hear_of(scripts.name(at as u16), text),
            _ => self.said.hear(text),
        }
    }
}

impl ClientConn for PostgresConn {
    fn open(&mut self, out: &mut Outgoing) -> Opening {
        let (rows_all, mut script) = (self.rows_all, self.script.take());
        if let Some(script) = &mut script {
            // A script continues on a new connection; a transaction does not.
            script.lost |= script.in_transaction && !script.sessions.play.is_between();
            (script.in_transaction, script.rolling_back) = (false, false);
        }
        *self = PostgresConn { rows_all, script, ..PostgresConn::new(Arc::clone(&self.run)) };
        out.fixed(self.run.startup);
        Opening::Greeting
    }

    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag {
        let (tag, values) = match (&self.run.plays, &mut self.script) {
            (Plays::Scripts(_), Some(script)) => {
                script.lost &= !script.sessions.play.is_between();
                (Tag(u32::from(script.sessions.play.next(draw))), script.sessions.play.values())
            }
            (Plays::Scripts(_), None) => (Tag(0), Values::of(draw)),
            (Plays::Requests(choice), _) => (choice.next(draw), Values::of(draw)),
        };
        self.run.requests[tag.0 as usize].query.write(values, out);
        tag
    }

    fn receive(&mut self, tag: Option<Tag>, input: &[u8], out: &mut Outgoing) -> Result<Received, Fault> {
        let value = tag.and_then(|tag| self.run.requests[tag.0 as usize].value);
        let mut consumed = 0;
        loop {
            let (used, message) = self.reader.next(&input[consumed..], value)?;
            consumed += used;
            if matches!(self.stage, Stage::Open) {
                self.content += used as u64;
            }
            let Some(message) = message else {
                return Ok(Received { consumed, progress: Progress::More });
            };
            let progress = match (&self.stage, tag, message) {
                (Stage::Open, Some(tag), message) => self.reply(tag, message, out)?,
                // Such as a shutdown of the server.
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

    fn session(&mut self) -> Option<&mut dyn SessionConn> {
        self.script.as_mut().map(|script| &mut script.sessions as &mut dyn SessionConn)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("rows", self.rows_all)]
    }
}
