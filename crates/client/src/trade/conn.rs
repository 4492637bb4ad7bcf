//! The connection of a user: the scenario over HTTP/1.1.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::options::Options;
use super::step::{STEPS, Step};
use super::user::User;
use super::users::Users;
use crate::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag, Verdict};
use crate::http::{Head, Jar, Parts, Reader};
use crate::outgoing::Outgoing;
use crate::protocol::{ClientConn, ClientOptions, ClientProtocol, SessionInfo};
use crate::session::{SessionConn, Turn};
use crate::url::Url;

/// The longest page that is checked, bytes.
const PAGE_MAX: usize = 1 << 20;
/// Above this size in bytes, the buffer of a page is shrunk.
const PAGE_KEPT: usize = 64 << 10;

/// The brokerage of a run.
struct Trade {
    options: Arc<Options>,
    users: Arc<Users>,
    /// The value of `Host`.
    host: Arc<str>,
    words: Arc<Words>,
}

/// Names of errors, which live as long as the process; there are few.
#[derive(Debug, Default)]
struct Words(Mutex<HashMap<(Step, Why), &'static str>>);

/// Why a reply is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Why {
    Status(u16),
    Meaning(&'static str),
}

impl Words {
    fn of(&self, step: Step, why: Why) -> &'static str {
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        words.entry((step, why)).or_insert_with(|| {
            let name = step.name();
            match why {
                Why::Status(status) => format!("{name}:status-{status}"),
                Why::Meaning(what) => format!("{name}:{what}"),
            }
            .leak()
        })
    }
}

pub(super) fn build(url: &Url, options: &ClientOptions) -> Result<Box<dyn ClientProtocol>, String> {
    let [request] = &options.requests[..] else {
        return Err("trade:// has its own requests: remove --path and --requests".into());
    };
    if options.expect_body.is_some() || options.verify {
        return Err("trade:// always checks its pages: remove --expect-body and --verify".into());
    }
    let options = Options::parse(&request.path)?;
    Ok(Box::new(Trade {
        users: Arc::new(Users::new(options.users)),
        host: url.authority().into(),
        options: Arc::new(options),
        words: Arc::default(),
    }))
}

impl ClientProtocol for Trade {
    fn connect(&self) -> Box<dyn ClientConn> {
        Box::new(TradeConn {
            user: User::new(Arc::clone(&self.options), Arc::clone(&self.users)),
            options: Arc::clone(&self.options),
            host: Arc::clone(&self.host),
            words: Arc::clone(&self.words),
            jar: Jar::default(),
            reader: Reader::new(),
            asked: None,
            under_way: false,
            status: 0,
            page: Vec::new(),
            turn: Turn::GoesOn { think: Duration::ZERO },
        })
    }

    fn sessions(&self) -> Option<SessionInfo> {
        Some(SessionInfo {
            steps: STEPS.iter().map(|(_, name)| (*name).to_owned()).collect(),
            parts: (0..).zip(STEPS).filter(|(_, (_, name))| name.contains('/')).map(|(n, _)| n).collect(),
            burst_max: 1,
            keeps_connection: false,
        })
    }

    fn server_said(&self) -> Option<String> {
        self.users.said.words()
    }

    fn shares_server(&self) {
        self.users.shares_server();
    }
}

struct TradeConn {
    user: User,
    options: Arc<Options>,
    host: Arc<str>,
    words: Arc<Words>,
    jar: Jar,
    reader: Reader,
    /// The step without a reply.
    asked: Option<Step>,
    /// Within a session.
    under_way: bool,
    status: u16,
    page: Vec<u8>,
    turn: Turn,
}

impl ClientConn for TradeConn {
    /// A session continues on a new connection when the server closes the old one.
    fn open(&mut self, _: &mut Outgoing) -> Opening {
        self.reader = Reader::new();
        self.page.clear();
        Opening::Ready
    }

    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag {
        if !self.under_way {
            self.jar = Jar::default();
            self.user.begin(draw.index);
            self.under_way = true;
        }
        let ask = self.user.next(draw.random);
        self.asked = Some(ask.step);
        let method = if ask.form.is_some() { "POST" } else { "GET" };
        let mut head = format!(
            "{method} {}?action={} HTTP/1.1\r\nHost: {}\r\n",
            self.options.path, ask.query, self.host
        );
        if let Some(form) = &ask.form {
            let _ = write!(
                head,
                "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n",
                form.len()
            );
        }
        out.bytes(head.as_bytes());
        self.jar.write(self.options.path.as_bytes(), out);
        out.bytes(b"\r\n");
        out.bytes(ask.form.unwrap_or_default().as_bytes());
        Tag(u32::from(ask.step.number()))
    }

    fn receive(&mut self, tag: Option<Tag>, input: &[u8], _: &mut Outgoing) -> Result<Received, Fault> {
        if tag.is_none() || self.asked.is_none() {
            return Err(Fault::Unasked);
        }
        let mut watch = Watch {
            path: self.options.path.as_bytes(),
            jar: &mut self.jar,
            status: &mut self.status,
            page: &mut self.page,
        };
        let (consumed, ended) = self.reader.receive(input, &mut watch)?;
        let progress = if ended { Progress::Reply(self.reply()) } else { Progress::More };
        Ok(Received { consumed, progress })
    }

    fn end_of_input(&mut self, tag: Option<Tag>) -> Option<Reply> {
        tag?;
        self.reader.end_of_input().then(|| self.reply())
    }

    fn session(&mut self) -> Option<&mut dyn SessionConn> {
        Some(self)
    }
}

impl TradeConn {
    fn reply(&mut self) -> Reply {
        let step = self.asked.take().unwrap_or(Step::Login);
        let why = if self.status != 200 {
            Some(Why::Status(self.status))
        } else if self.page.len() > PAGE_MAX {
            Some(Why::Meaning("page-too-long"))
        } else {
            self.user.answered(step, &self.page).map(Why::Meaning)
        };
        self.page.clear();
        self.page.shrink_to(PAGE_KEPT);
        let think = self.options.think;
        self.turn = match why {
            Some(_) => Turn::Failed(step.number()),
            None if step == Step::Logout => Turn::Completed { think },
            None => Turn::GoesOn { think },
        };
        if !matches!(self.turn, Turn::GoesOn { .. }) {
            self.end();
        }
        let verdict = why.map_or(Verdict::Right, |why| Verdict::Refused(self.words.of(step, why)));
        let (persists, content) = (self.reader.persists(), self.reader.content());
        Reply { verdict, status: self.status, persists, content }
    }

    fn end(&mut self) {
        self.under_way = false;
        self.user.end();
    }
}

impl SessionConn for TradeConn {
    fn room(&self) -> u16 {
        u16::from(self.asked.is_none())
    }

    fn turn(&mut self) -> Turn {
        self.turn
    }

    fn abandon(&mut self) -> Option<u16> {
        let step = self.asked.take();
        self.end();
        step.map(Step::number)
    }
}

/// Takes what the session needs from a reply.
struct Watch<'a> {
    path: &'a [u8],
    jar: &'a mut Jar,
    status: &'a mut u16,
    page: &'a mut Vec<u8>,
}

impl Parts for Watch<'_> {
    fn head(&mut self, head: &Head, bytes: &[u8]) -> bool {
        *self.status = head.status;
        self.page.clear();
        self.jar.take(bytes, self.path);
        false
    }

    fn body(&mut self, piece: &[u8]) {
        // One more byte marks a page that is too long.
        let room = (PAGE_MAX + 1).saturating_sub(self.page.len());
        self.page.extend_from_slice(&piece[..piece.len().min(room)]);
    }
}
