//! Sessions over HTTP/1.1: a connection whose requests are the steps of a script.

use std::sync::Arc;

use super::build::{check_headers, check_method, head};
use super::head::Head;
use super::reader::{Parts, Reader};
use super::visit::Jar;
use crate::client::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag};
use crate::client::outgoing::Outgoing;
use crate::client::protocol::{ClientConn, ClientOptions, ClientProtocol, Preload, RequestSpec, SessionInfo};
use crate::client::session::{Form, LENGTH, Names, Play, Scripts, SessionConn, Template, Turn};
use crate::client::url::Url;

/// The sessions of a run.
struct Sessions {
    scripts: Arc<Scripts>,
    steps: Arc<[Step]>,
    /// The cookies with which each begins.
    jar: Jar,
}

/// The request of a step.
#[derive(Debug)]
struct Step {
    /// What it is always, if it is always the same.
    fixed: Option<Fixed>,
    line: Template,
    /// The head behind the first line, without the empty line that ends it.
    fields: Template,
    body: Template,
    head_only: bool,
    /// It has a `Cookie` header of its own.
    own_cookies: bool,
}

#[derive(Clone, Copy, Debug)]
struct Fixed {
    bytes: &'static [u8],
    /// Without the empty line that ends it.
    head_len: usize,
}

/// Checks and compiles the sessions of the options.
///
/// # Errors
/// One line on what is wrong.
pub(super) fn build(url: &Url, options: &ClientOptions) -> Result<Box<dyn ClientProtocol>, String> {
    let refused = [
        (
            "--follow",
            options.visit.follow > 0,
            "a redirect is a reply like others: make a step of what it leads to",
        ),
        ("--expect-body", options.expect_body.is_some(), "take a value from the body instead"),
        ("--verify", options.verify, "take a value from the body instead"),
        ("--browser", options.pages, "a page is one step here"),
    ];
    if let Some((option, _, cure)) = refused.iter().find(|(_, given, _)| *given) {
        return Err(format!("{option} has no meaning for sessions: {cure}"));
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
        steps.push(step(url, &common, spec, names)?);
        Ok(())
    })?;
    Ok(Box::new(Sessions {
        scripts: Arc::new(scripts),
        steps: steps.into(),
        jar: given.map_or_else(Jar::default, |(_, value)| Jar::of_header(value)),
    }))
}

fn step(url: &Url, options: &ClientOptions, spec: &RequestSpec, names: &Names) -> Result<Step, String> {
    check_method(&spec.method)?;
    check_headers(&spec.headers)?;
    let path = &spec.path;
    if !path.starts_with(['/', '{']) || !path.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(format!("`{path}` is not a path: it must start with a slash and hold no space"));
    }
    let given = |wanted: &str| options.headers_of(spec).find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    if let Some((name, _)) = given("content-length").or(given("transfer-encoding")) {
        return Err(format!(
            "a request of a session is sent with the length of its body: leave `{name}` out"
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
    let line = Template::parse(line.as_bytes(), Form::Path, names)?;
    let fields = Template::parse(fields.as_bytes(), Form::Header, names)?;
    let body = Template::parse(&spec.body, form, names)?;
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

impl Step {
    /// The whole request, if no value is put into it.
    fn fixed(&self) -> Option<Fixed> {
        let body = self.body.fixed()?;
        let line = self.line.fixed()?;
        let mut bytes = line.to_vec();
        if !self.fields.takes_values() {
            self.fields.write(&[], 0, body.len(), &mut bytes);
            let head_len = bytes.len();
            bytes.extend_from_slice(b"\r\n");
            bytes.extend_from_slice(body);
            return Some(Fixed { bytes: bytes.leak(), head_len });
        }
        None
    }
}

impl ClientProtocol for Sessions {
    fn connect(&self) -> Box<dyn ClientConn> {
        Box::new(SessionHttpConn {
            play: Play::new(Arc::clone(&self.scripts)),
            steps: Arc::clone(&self.steps),
            first_jar: self.jar.clone(),
            jar: self.jar.clone(),
            reader: Reader::new(),
            status: 0,
            scratch: Vec::new(),
        })
    }

    fn request_bytes_max(&self) -> Option<usize> {
        None
    }

    fn preload(&self) -> Option<Box<dyn Preload>> {
        None
    }

    fn sessions(&self) -> Option<SessionInfo> {
        Some(SessionInfo {
            steps: self.scripts.names(),
            parts: Vec::new(),
            burst_max: self.scripts.burst_max(),
        })
    }
}

struct SessionHttpConn {
    play: Play,
    steps: Arc<[Step]>,
    first_jar: Jar,
    /// Of the present session.
    jar: Jar,
    reader: Reader,
    status: u16,
    scratch: Vec<u8>,
}

/// Takes from the reply to one step what the session needs of it.
struct Watch<'a> {
    step: u16,
    head_only: bool,
    path: &'a [u8],
    play: &'a mut Play,
    jar: &'a mut Jar,
    status: &'a mut u16,
}

impl ClientConn for SessionHttpConn {
    /// The session outlives the connection: a server may close it between two of its requests.
    fn open(&mut self, _: &mut Outgoing) -> Opening {
        self.reader = Reader::new();
        Opening::Ready
    }

    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag {
        if self.play.is_between() {
            self.jar = self.first_jar.clone();
        }
        let number = self.play.next(draw);
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
                let (values, session) = self.play.values();
                let mut body = std::mem::take(&mut self.scratch);
                body.clear();
                step.body.write(values, session, 0, &mut body);
                let mut head = Vec::new();
                step.line.write(values, session, body.len(), &mut head);
                let line_len = head.len();
                step.fields.write(values, session, body.len(), &mut head);
                out.bytes(&head);
                if cookies {
                    self.jar.write(path(&head[..line_len]), out);
                }
                out.bytes(b"\r\n");
                out.bytes(&body);
                self.scratch = body;
            }
        }
        Tag(u32::from(number))
    }

    fn receive(&mut self, tag: Option<Tag>, input: &[u8], _: &mut Outgoing) -> Result<Received, Fault> {
        let Some(Tag(number)) = tag else {
            return Err(Fault::Unasked);
        };
        let step = &self.steps[number as usize];
        let mut watch = Watch {
            step: number as u16,
            head_only: step.head_only,
            path: step.fixed.map_or(b"/", |fixed| path(fixed.bytes)),
            play: &mut self.play,
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
        Some(self)
    }
}

impl SessionHttpConn {
    fn reply(&mut self, step: u16) -> Reply {
        let verdict = self.play.answered(step);
        Reply { verdict, status: self.status, persists: self.reader.persists() }
    }
}

impl SessionConn for SessionHttpConn {
    fn room(&self) -> u16 {
        self.play.room()
    }

    fn turn(&mut self) -> Turn {
        self.play.turn()
    }

    fn abandon(&mut self) -> Option<u16> {
        self.play.abandon()
    }
}

impl Parts for Watch<'_> {
    fn head(&mut self, head: &Head, bytes: &[u8]) -> bool {
        *self.status = head.status;
        for line in bytes.split(|&b| b == b'\n').skip(1) {
            let Some(colon) = memchr::memchr(b':', line) else { continue };
            if line[..colon].eq_ignore_ascii_case(b"set-cookie") {
                self.jar.set(line[colon + 1..].trim_ascii(), self.path);
            }
        }
        self.play.head(self.step, head.status, bytes);
        self.head_only
    }

    fn body(&mut self, piece: &[u8]) {
        self.play.body(self.step, piece);
    }
}

/// The path in a request line.
fn path(request: &[u8]) -> &[u8] {
    request.split(|&b| b == b' ').nth(1).unwrap_or_default()
}
