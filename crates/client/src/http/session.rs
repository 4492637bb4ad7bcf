//! Sessions over HTTP/1.1: a connection whose requests are the steps of a script. HTTP/2 has the same requests, and
//! translates them.

use std::sync::Arc;

use super::cookies::Jar;
use super::head::Head;
use super::reader::{Parts, Reader};
use super::request_head::{check_headers, check_method, head};
use super::step::{Fixed, Step, path};
use crate::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag};
use crate::outgoing::Outgoing;
use crate::protocol::{ClientConn, ClientOptions, ClientProtocol, SessionInfo};
use crate::request::RequestSpec;
use crate::session::{
    Form, InTurn, IncomingReply, LENGTH, Play, Scripts, SessionConn, Template, has_numbers,
};
use crate::url::Url;

/// The sessions of a run, compiled.
pub(crate) struct Compiled {
    pub(crate) scripts: Arc<Scripts>,
    pub(crate) steps: Arc<[Step]>,
    /// The cookies with which each session begins.
    pub(crate) jar: Jar,
}

/// Checks and compiles the sessions of the options.
///
/// # Errors
/// One line about the first mistake.
pub(crate) fn compile(url: &Url, options: &ClientOptions) -> Result<Compiled, String> {
    let refused = [
        ("--follow", options.visit.follow > 0, "add a step for the page that the redirect leads to"),
        ("--expect-body", options.expect_body.is_some(), "take a value from the body instead"),
        ("--verify", options.verify, "take a value from the body instead"),
        ("--browser", options.pages, "a page is one step of a session"),
    ];
    if let Some((option, _, instead)) = refused.iter().find(|(_, given, _)| *given) {
        return Err(format!("{option} cannot be combined with sessions: {instead}"));
    }
    check_headers(&options.headers)?;
    let is_cookie = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("cookie");
    let given = options.headers.iter().find(is_cookie);
    let common = ClientOptions {
        headers: options.headers.iter().filter(|header| !is_cookie(header)).cloned().collect(),
        single_request: options.single_request,
        ..ClientOptions::default()
    };
    let mut steps = Vec::new();
    let scripts = Scripts::new(options, |spec, names| {
        steps.push(compile_step(url, &common, spec, |text, form| Template::parse(text, form, names))?);
        Ok(())
    })?;
    Ok(Compiled {
        scripts: Arc::new(scripts),
        steps: steps.into(),
        jar: match given {
            Some((_, value)) => Jar::at(options.visit.now_s).with_header(value),
            None => Jar::at(options.visit.now_s),
        },
    })
}

/// The template of a request outside sessions, if numbers are put into it.
///
/// # Errors
/// An invalid range; a header with the length of the body.
pub(super) fn varied(url: &Url, options: &ClientOptions, spec: &RequestSpec) -> Result<Option<Step>, String> {
    let mut headers = options.headers_of(spec);
    let is_varied = has_numbers(spec.path.as_bytes())
        || has_numbers(&spec.body)
        || headers.any(|(_, value)| has_numbers(value.as_bytes()));
    if !is_varied {
        return Ok(None);
    }
    compile_step(url, options, spec, Template::of_numbers).map(Some)
}

fn compile_step(
    url: &Url,
    options: &ClientOptions,
    spec: &RequestSpec,
    template: impl Fn(&[u8], Form) -> Result<Template, String>,
) -> Result<Step, String> {
    check_method(&spec.method)?;
    check_headers(&spec.headers)?;
    let path = &spec.path;
    if !path.starts_with(['/', '{']) || !path.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(format!("`{path}` is not a path: it must start with a slash and contain no spaces"));
    }
    let given = |wanted: &str| options.headers_of(spec).find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    if let Some((name, _)) = given("content-length").or(given("transfer-encoding")) {
        return Err(format!(
            "the length of a request with values in it is computed when it is sent: remove the header `{name}`"
        ));
    }
    let coding = given("content-type").map_or("", |(_, value)| value).to_ascii_lowercase();
    let form = match coding.split(';').next().unwrap_or_default().trim() {
        "application/x-www-form-urlencoded" => Form::Urlencoded,
        coding if coding.ends_with("json") => Form::Json,
        _ => Form::Raw,
    };
    let text = head(url, options, spec, &LENGTH.to_string())?;
    let (line, fields) = text.split_at(text.find("\r\n").map_or(0, |at| at + 2));
    let fields = fields.strip_suffix("\r\n").unwrap_or(fields);
    let line = template(line.as_bytes(), Form::Path)?;
    let fields = template(fields.as_bytes(), Form::Header)?;
    let body = template(&spec.body, form)?;
    let mut step = Step {
        fixed: None,
        head_only: spec.method == "HEAD",
        own_cookies: given("cookie").is_some(),
        line,
        fields,
        body,
    };
    step.fixed = step.fixed();
    Ok(step)
}

impl Compiled {
    pub(crate) fn info(&self) -> SessionInfo {
        SessionInfo {
            steps: self.scripts.names(),
            burst_max: self.scripts.burst_max(),
            ..SessionInfo::default()
        }
    }
}

impl ClientProtocol for Compiled {
    fn connect(&self) -> Box<dyn ClientConn> {
        let Compiled { scripts, steps, jar } = self;
        Box::new(SessionHttpConn {
            sessions: InTurn::new(Arc::clone(scripts)),
            steps: Arc::clone(steps),
            first_jar: jar.clone(),
            jar: jar.clone(),
            reader: Reader::new(),
            status: 0,
            scratch: Vec::new(),
        })
    }

    fn sessions(&self) -> Option<SessionInfo> {
        Some(self.info())
    }
}

struct SessionHttpConn {
    sessions: InTurn,
    steps: Arc<[Step]>,
    first_jar: Jar,
    /// Of the current session.
    jar: Jar,
    reader: Reader,
    status: u16,
    scratch: Vec<u8>,
}

/// Takes what the session needs from the reply to a step.
struct Watch<'a> {
    step: u16,
    head_only: bool,
    path: &'a [u8],
    play: &'a mut Play,
    answer: &'a mut IncomingReply,
    jar: &'a mut Jar,
    status: &'a mut u16,
}

impl ClientConn for SessionHttpConn {
    /// A session continues on a new connection when the server closes the old one.
    fn open(&mut self, _: &mut Outgoing) -> Opening {
        self.reader = Reader::new();
        Opening::Ready
    }

    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag {
        if self.sessions.play.is_between() {
            self.jar = self.first_jar.clone();
        }
        let number = self.sessions.play.next(draw);
        let step = &self.steps[usize::from(number)];
        let cookies = !step.own_cookies && !self.jar.is_empty();
        match step.fixed {
            Some(Fixed { bytes, .. }) if !cookies => out.fixed(bytes),
            Some(Fixed { bytes, head_len }) => {
                let (head, rest) = bytes.split_at(head_len);
                out.bytes(head);
                self.jar.write(path(head), out);
                out.bytes(rest);
            }
            None => {
                let mut body = std::mem::take(&mut self.scratch);
                step.write(self.sessions.play.values(), cookies.then_some(&self.jar), &mut body, out);
                out.bytes(b"\r\n");
                out.bytes(&body);
                self.scratch = body;
            }
        }
        Tag(u32::from(number))
    }

    fn receive(&mut self, tag: Option<Tag>, input: &[u8], _: &mut Outgoing) -> Result<Received, Fault> {
        let Tag(number) = tag.ok_or(Fault::Unasked)?;
        let step = &self.steps[number as usize];
        let mut watch = Watch {
            step: number as u16,
            head_only: step.head_only,
            path: step.fixed.map_or(b"/", |fixed| path(fixed.bytes)),
            play: &mut self.sessions.play,
            answer: &mut self.sessions.answer,
            jar: &mut self.jar,
            status: &mut self.status,
        };
        let (consumed, ended) = self.reader.receive(input, &mut watch)?;
        let progress = if ended { Progress::Reply(self.reply(number as u16)) } else { Progress::More };
        Ok(Received { consumed, progress })
    }

    fn end_of_input(&mut self, tag: Option<Tag>) -> Option<Reply> {
        let Tag(number) = tag?;
        self.reader.end_of_input().then(|| self.reply(number as u16))
    }

    fn session(&mut self) -> Option<&mut dyn SessionConn> {
        Some(&mut self.sessions)
    }
}

impl SessionHttpConn {
    fn reply(&mut self, step: u16) -> Reply {
        let verdict = self.sessions.answered(step);
        let (persists, content) = (self.reader.persists(), self.reader.content());
        Reply { verdict, status: self.status, persists, content }
    }
}

impl Parts for Watch<'_> {
    fn head(&mut self, head: &Head, bytes: &[u8]) -> bool {
        *self.status = head.status;
        self.jar.take(bytes, self.path);
        self.play.head(self.answer, self.step, head.status, bytes);
        self.head_only
    }

    fn body(&mut self, piece: &[u8]) {
        self.play.body(self.answer, self.step, piece);
    }
}
