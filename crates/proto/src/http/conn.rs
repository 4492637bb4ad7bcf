//! A connection: one request at a time, from head to reply.

use std::sync::Arc;

use super::body::{Body, Put};
use super::coding::Accepted;
use super::conditional::Conditions;
use super::delay::{self, Asked};
use super::dynamic;
use super::head::{self, Expect, Head, Length, Method, Refusal};
use super::precompressed::{Choice, Selection};
use super::reply::{self, ALLOW, ALLOW_PUT, Connection, Status, TEXT, Terms};
use super::representation::{self, Form, Request};
use super::site::{ABOUT, BYTES_MAX, ECHO_BYTES_MAX, Site};
use super::syntax::{decimal, is_token_byte};
use super::target::{self, Named, Path, PathError, RequestTarget};
use super::{listing, status};
use crate::{
    Context, Exchange, Next, OpenError, Opened, ServerConn, Step, StoreError, Upload, Violation,
    ViolationKind,
};

/// A connection. Between requests it needs no other memory.
pub(super) struct Conn {
    site: Arc<Site>,
    state: State,
}

const _: () = assert!(size_of::<Conn>() <= 24, "an idle connection has grown");

enum State {
    /// Between requests, or in an incomplete head, of which so many bytes were scanned.
    Head { scanned: u32 },
    /// The requested file is being opened.
    Opening { terms: Terms, named: Named, extra: Option<Box<Extra>> },
    /// The requested directory is being opened.
    Listing { terms: Terms },
    /// The target of a PUT is being checked: is there a file already?
    CheckingTarget(Box<Body>),
    /// A part of a file is being stored.
    Storing(Box<Body>),
    /// During the delay of `/delay/TIME`.
    Delaying { terms: Terms },
    /// In the content of a request.
    Body(Box<Body>),
}

const IDLE: State = State::Head { scanned: 0 };

/// The uncommon parts of a request, kept until its file is open.
struct Extra {
    conditions: Option<Box<Conditions>>,
    query: Option<Box<[u8]>>,
    /// The choice of a coded form of the file.
    selection: Option<Selection>,
}

/// The file that is served for a directory.
const INDEX: &[u8] = b"index.html";

impl ServerConn for Conn {
    fn receive(
        &mut self,
        cx: &Context<'_>,
        input: &[u8],
        exchange: &mut Exchange,
    ) -> Result<Step, Violation> {
        let step = match self.state {
            State::Head { scanned } => self.head(cx, scanned as usize, input, exchange),
            State::Body(_) => self.body(cx, input, exchange),
            State::Opening { .. }
            | State::Listing { .. }
            | State::CheckingTarget(_)
            | State::Storing(_)
            | State::Delaying { .. } => Ok(Step::read(0)),
        };
        step.or_else(|refusal| self.refuse(cx, exchange, refusal))
    }

    fn opened(
        &mut self,
        cx: &Context<'_>,
        answer: Result<&Opened, OpenError>,
        exchange: &mut Exchange,
    ) -> Next {
        let (terms, named, mut extra) = match std::mem::replace(&mut self.state, IDLE) {
            State::Opening { terms, named, extra } => (terms, named, extra),
            State::CheckingTarget(body) => return self.begin_put(cx, answer.map(|_| ()), body, exchange),
            State::Listing { terms } => return self.list(cx, terms.at(cx), answer, exchange),
            _ => return Next::Close,
        };
        let mut form = Form { coding: None, varies: false };
        if let Some(memory_s) = self.site.options.precompressed {
            form.varies = true;
            if let Some(selection) = extra.as_mut().and_then(|extra| extra.selection.as_mut()) {
                match selection.opened(cx, answer, exchange, memory_s) {
                    Choice::Answer(coding) => form.coding = coding,
                    Choice::Open => {
                        self.state = State::Opening { terms, named, extra };
                        return Next::Open;
                    }
                }
            }
        }
        let terms = terms.at(cx);
        let error = match answer {
            Ok(opened) => {
                let conditions = extra.as_ref().and_then(|extra| extra.conditions.as_deref());
                return representation::file(exchange, cx, &Request { terms, conditions, form }, opened);
            }
            Err(error) => error,
        };
        if error == OpenError::IsDirectory && named == Named::File {
            let query = extra.as_ref().and_then(|extra| extra.query.as_deref());
            return add_slash(exchange, cx, terms, query);
        }
        if error == OpenError::NotFound && named == Named::Directory && self.site.options.index {
            exchange.path.truncate(exchange.path.len() - INDEX.len());
            self.state = State::Listing { terms };
            return Next::Open;
        }
        no_file(exchange, cx, terms, error)
    }

    fn file_failed(&mut self, cx: &Context<'_>, error: OpenError, exchange: &mut Exchange) {
        self.state = IDLE;
        no_file(exchange, cx, Terms { head_only: false, connection: Connection::Close }, error);
    }

    fn stored(
        &mut self,
        cx: &Context<'_>,
        answer: Result<Option<Upload>, StoreError>,
        exchange: &mut Exchange,
    ) -> Next {
        let State::Storing(mut body) = std::mem::replace(&mut self.state, IDLE) else { return Next::Close };
        let terms = body.terms().at(cx);
        let close = Terms { connection: Connection::Close, ..terms };
        let is_done = body.is_done();
        let Some(put) = &mut body.put else { return Next::Close };
        match answer {
            Ok(Some(upload)) if is_done => {
                self.state = State::Storing(body);
                exchange.store(Some(upload), true)
            }
            Ok(Some(upload)) => {
                put.upload = Some(upload);
                if std::mem::take(&mut put.waits) {
                    exchange.out.fixed(b"HTTP/1.1 100 Continue\r\n\r\n");
                }
                self.state = State::Body(body);
                Next::Read
            }
            Ok(None) if put.replaces => {
                exchange.out.write_with(|buf| {
                    reply::start(buf, Status::NoContent, cx);
                    reply::finish(buf, terms.connection);
                });
                exchange.replied(Status::NoContent.code(), 0);
                terms.next()
            }
            Ok(None) => reply::small(exchange, cx, Status::Created, terms, &[TEXT], b"created\n"),
            Err(StoreError::NoSpace) => reply::explain(
                exchange,
                cx,
                Status::InsufficientStorage,
                close,
                &[],
                "no space left on the disk",
            ),
            Err(StoreError::NoDirectory) => not_found(exchange, cx, close),
            Err(StoreError::Forbidden) => {
                reply::explain(exchange, cx, Status::Forbidden, close, &[], "the directory is not writable")
            }
            Err(StoreError::Failed) => reply::explain(
                exchange,
                cx,
                Status::InternalServerError,
                close,
                &[],
                "the file could not be stored",
            ),
            Err(StoreError::Unavailable) => no_file(exchange, cx, close, OpenError::Unavailable),
        }
    }

    fn delayed(&mut self, cx: &Context<'_>, exchange: &mut Exchange) -> Next {
        let State::Delaying { terms } = std::mem::replace(&mut self.state, IDLE) else { return Next::Close };
        let terms = terms.at(cx);
        reply::small(exchange, cx, Status::Ok, terms, &[TEXT], &delay::content(exchange.delay))
    }

    fn timed_out(&mut self, cx: &Context<'_>, exchange: &mut Exchange) {
        if matches!(self.state, State::Head { scanned: 1.. } | State::Body(_)) {
            self.state = IDLE;
            let why = "the request did not arrive in time";
            let terms = Terms { head_only: false, connection: Connection::Close };
            reply::explain(exchange, cx, Status::RequestTimeout, terms, &[], why);
        }
    }

    fn unsecured(&mut self, cx: &Context<'_>, exchange: &mut Exchange) {
        let terms = Terms { head_only: false, connection: Connection::Close };
        reply::explain(exchange, cx, Status::BadRequest, terms, &[], "plain HTTP was sent to an HTTPS port");
    }

    fn mid_request(&self) -> bool {
        matches!(self.state, State::Body(_))
    }
}

impl Conn {
    pub(super) fn new(site: Arc<Site>) -> Conn {
        Conn { site, state: IDLE }
    }

    /// True between requests and in a head that is not complete.
    pub(super) fn awaits_head(&self) -> bool {
        matches!(self.state, State::Head { .. })
    }

    /// Replies with an error after which the connection is closed.
    #[cold]
    fn refuse(
        &mut self,
        cx: &Context<'_>,
        exchange: &mut Exchange,
        refusal: Refusal,
    ) -> Result<Step, Violation> {
        self.state = IDLE;
        let terms = Terms { head_only: refusal.head_only, connection: Connection::Close };
        let next = reply::explain(exchange, cx, refusal.status, terms, refusal.fields(), refusal.why);
        match refusal.status {
            Status::BadRequest => Err(ViolationKind::Malformed.into()),
            Status::ContentTooLarge | Status::UriTooLong | Status::HeaderFieldsTooLarge => {
                Err(ViolationKind::TooLarge.into())
            }
            // Unconsumed input makes the caller expect more, which will not be read.
            _ => Ok(Step { consumed: 0, next }),
        }
    }

    /// Takes input that starts with a request head, of which `scanned` bytes were scanned before.
    fn head(
        &mut self,
        cx: &Context<'_>,
        scanned: usize,
        input: &[u8],
        exchange: &mut Exchange,
    ) -> Result<Step, Refusal> {
        match input {
            [] | [b'\r'] => return Ok(self.wait_for_more(input)),
            // RFC 9112 section 2.2: empty lines before a request are ignored.
            [b'\r', b'\n', ..] => {
                self.state = IDLE;
                return Ok(Step::read(2));
            }
            // Other protocols get an error at their first byte, not at their first line end.
            [first, ..] if !is_token_byte(*first) => {
                return Err(Refusal::new(Status::BadRequest, "not an HTTP request"));
            }
            _ => {}
        }
        let view = &input[..input.len().min(self.site.head_bytes_max)];
        let line_max = self.site.request_line_bytes_max;
        if scanned <= line_max && view.len() > line_max && !view[..line_max].contains(&b'\n') {
            return Err(Refusal::new(Status::UriTooLong, "the request line is too long"));
        }
        // A head in many pieces is parsed again only when another line is complete.
        let has_new_line = scanned == 0 || view[scanned.min(view.len())..].contains(&b'\n');
        let parsed =
            if has_new_line { head::parse(view, self.site.options.precompressed.is_some())? } else { None };
        if let Some(head) = parsed {
            self.state = IDLE;
            let (consumed, head_only) = (head.len, head.terms.head_only);
            let next = self.request(cx, head, consumed == input.len(), exchange);
            let next = next.map_err(|refusal| Refusal { head_only, ..refusal })?;
            return Ok(Step { consumed, next });
        }
        if view.len() == self.site.head_bytes_max {
            return Err(Refusal::new(Status::HeaderFieldsTooLarge, "the header section is too long"));
        }
        Ok(self.wait_for_more(input))
    }

    fn wait_for_more(&mut self, seen: &[u8]) -> Step {
        // The scanned length is less than the limit on heads, which fits.
        self.state = State::Head { scanned: seen.len() as u32 };
        Step::read(0)
    }

    /// Handles a request with a valid head; `alone` is true if nothing has arrived after it.
    fn request(
        &mut self,
        cx: &Context<'_>,
        head: Head<'_>,
        alone: bool,
        exchange: &mut Exchange,
    ) -> Result<Next, Refusal> {
        let terms = head.terms.at(cx);
        let has_content = !matches!(head.length, Length::Absent | Length::Exact(0));
        if let Some(refusal) = refusal_of(&head, has_content, self.site.upload_bytes_max.is_some()) {
            if has_content {
                // The content will not be read, so no request can follow it.
                return Err(refusal);
            }
            return Ok(reply::explain(exchange, cx, refusal.status, terms, refusal.fields(), refusal.why));
        }
        let target = target::parse(head.target).map_err(|why| Refusal::new(Status::BadRequest, why))?;
        match (head.method, target) {
            (Method::Options, _) => {
                exchange.out.write_with(|buf| {
                    reply::start(buf, Status::NoContent, cx);
                    let allow = if self.site.upload_bytes_max.is_some() { ALLOW_PUT } else { ALLOW };
                    reply::field(buf, "Allow", allow);
                    reply::finish(buf, terms.connection);
                });
                exchange.replied(Status::NoContent.code(), 0);
                Ok(terms.next())
            }
            (_, RequestTarget::Server) => {
                Err(Refusal::new(Status::BadRequest, "the target * is valid for OPTIONS only"))
            }
            (Method::Post, RequestTarget::Resource { path, .. }) => {
                let body = self.expect_body(&head, terms, path.raw)?;
                if body.is_done() {
                    return Ok(body.answer(exchange, cx));
                }
                if head.expect == Expect::Continue && alone {
                    exchange.out.fixed(b"HTTP/1.1 100 Continue\r\n\r\n");
                }
                self.state = State::Body(Box::new(body));
                Ok(Next::Read)
            }
            (Method::Put, RequestTarget::Resource { path, .. }) => {
                self.put(cx, &head, terms, (path, alone), exchange)
            }
            (_, RequestTarget::Resource { path, query }) => {
                Ok(self.get(cx, terms, (path, query), (head.conditions, head.codings), exchange))
            }
        }
    }

    fn expect_body(&self, head: &Head<'_>, terms: Terms, path: &[u8]) -> Result<Body, Refusal> {
        let echo = path == b"/echo";
        let bytes_max =
            if echo { self.site.content_bytes_max.min(ECHO_BYTES_MAX) } else { self.site.content_bytes_max };
        Body::new(head.length, terms, bytes_max, echo)
    }

    /// Takes input that belongs to the content of a request.
    fn body(&mut self, cx: &Context<'_>, input: &[u8], exchange: &mut Exchange) -> Result<Step, Refusal> {
        let State::Body(body) = &mut self.state else { return Ok(Step::read(0)) };
        if body.put.is_some() {
            let (consumed, next) = body.pass_on(input, exchange)?;
            if next == Next::Store
                && let State::Body(body) = std::mem::replace(&mut self.state, IDLE)
            {
                self.state = State::Storing(body);
            }
            return Ok(Step { consumed, next });
        }
        let consumed = body.take(input)?;
        if !body.is_done() {
            return Ok(Step::read(consumed));
        }
        let next = body.answer(exchange, cx);
        self.state = IDLE;
        Ok(Step { consumed, next })
    }

    /// Answers with the listing of a directory.
    fn list(
        &self,
        cx: &Context<'_>,
        terms: Terms,
        answer: Result<&Opened, OpenError>,
        exchange: &mut Exchange,
    ) -> Next {
        match answer {
            Ok(opened) => listing::reply(exchange, cx, terms, self.site.options.dot_files, opened),
            Err(error) => no_file(exchange, cx, terms, error),
        }
    }

    /// Handles a PUT. No content is read before its target is checked.
    fn put(
        &mut self,
        cx: &Context<'_>,
        head: &Head<'_>,
        terms: Terms,
        (path, alone): (Path<'_>, bool),
        exchange: &mut Exchange,
    ) -> Result<Next, Refusal> {
        if head.conditions.is_some() {
            return Err(Refusal::new(
                Status::NotImplemented,
                "PUT with conditions or ranges is not implemented",
            ));
        }
        let mut body = Body::new(head.length, terms, self.site.upload_bytes_max.unwrap_or(0), false)?;
        let waits = head.expect == Expect::Continue && alone;
        body.put = Some(Put { waits, ..Put::default() });
        // The content of a refused request is not read, so no request can follow it.
        let close = Terms { connection: Connection::Close, ..terms };
        Ok(match exchange.name_file(|file| path.decode(self.site.options.dot_files, file)) {
            Ok(Named::File) => {
                self.state = State::CheckingTarget(Box::new(body));
                Next::Open
            }
            Ok(Named::Directory) => {
                reply::explain(exchange, cx, Status::Conflict, close, &[], "the target is a directory")
            }
            Err(PathError::Hidden) => not_found(exchange, cx, close),
            Err(PathError::Refused(why)) => reply::explain(exchange, cx, Status::BadRequest, close, &[], why),
        })
    }

    /// Begins to store a file, once it is known whether one exists.
    fn begin_put(
        &mut self,
        cx: &Context<'_>,
        answer: Result<(), OpenError>,
        mut body: Box<Body>,
        exchange: &mut Exchange,
    ) -> Next {
        let close = Terms { connection: Connection::Close, ..body.terms() };
        match answer {
            Ok(()) | Err(OpenError::NotFound) => {
                if let Some(put) = &mut body.put {
                    put.replaces = answer.is_ok();
                }
                self.state = State::Storing(body);
                exchange.step.bytes.clear();
                exchange.store(None, false)
            }
            Err(OpenError::IsDirectory | OpenError::NotRegular) => {
                let why = "the target is not a regular file";
                reply::explain(exchange, cx, Status::Conflict, close, &[], why)
            }
            Err(error) => no_file(exchange, cx, close, error),
        }
    }

    /// Answers a GET or HEAD, or requests its file.
    fn get(
        &mut self,
        cx: &Context<'_>,
        terms: Terms,
        (path, query): (Path<'_>, Option<&[u8]>),
        (conditions, codings): (Option<Box<Conditions>>, Option<Accepted>),
        exchange: &mut Exchange,
    ) -> Next {
        let size = path.raw.strip_prefix(b"/bytes/").and_then(decimal);
        if let Some(size) = size.filter(|&size| size <= BYTES_MAX) {
            let request = Request { terms, conditions: conditions.as_deref(), form: Form::default() };
            return representation::generated(exchange, cx, &request, size);
        }
        if path.raw == dynamic::PATH {
            return reply::small(exchange, cx, Status::Ok, terms, &[dynamic::TYPE], &dynamic::page(cx.date));
        }
        if let Some(time) = path.raw.strip_prefix(delay::PREFIX) {
            match delay::parse(time) {
                Asked::For(time) => {
                    self.state = State::Delaying { terms };
                    return exchange.wait(time);
                }
                Asked::TooMuch => {
                    return reply::explain(exchange, cx, Status::BadRequest, terms, &[], delay::TOO_MUCH);
                }
                Asked::Nothing => {}
            }
        }
        if let Some(code) = path.raw.strip_prefix(status::PREFIX).and_then(decimal) {
            return match status::made(code) {
                Some(made) => made.reply(exchange, cx, terms),
                None => reply::explain(exchange, cx, Status::BadRequest, terms, &[], status::OUT_OF_RANGE),
            };
        }
        if !self.site.root {
            return match path.raw {
                b"/" => reply::small(exchange, cx, Status::Ok, terms, &[TEXT], ABOUT),
                _ => not_found(exchange, cx, terms),
            };
        }
        let named = exchange.name_file(|file| {
            let named = path.decode(self.site.options.dot_files, file);
            if named == Ok(Named::Directory) {
                file.extend_from_slice(INDEX);
            }
            named
        });
        match named {
            Ok(named) => {
                let selection = Selection::new(codings);
                let extra = if conditions.is_some() || query.is_some() || selection.is_some() {
                    Some(Box::new(Extra { conditions, query: query.map(Box::from), selection }))
                } else {
                    None
                };
                self.state = State::Opening { terms, named, extra };
                Next::Open
            }
            Err(PathError::Hidden) => not_found(exchange, cx, terms),
            Err(PathError::Refused(why)) => reply::explain(exchange, cx, Status::BadRequest, terms, &[], why),
        }
    }
}

/// Why a request is refused independently of its target, if it is.
fn refusal_of(head: &Head<'_>, has_content: bool, writable: bool) -> Option<Refusal> {
    match head.method {
        // RFC 9110 section 9.3.1 allows this, since content in a GET is a way to smuggle requests.
        Method::Get | Method::Head | Method::Options if has_content => {
            Some(Refusal::new(Status::BadRequest, "content has no meaning in a request of this method"))
        }
        Method::Put if !writable => {
            Some(Refusal::new(Status::MethodNotAllowed, "resources here are read-only"))
        }
        Method::NotAllowed => Some(Refusal::new(Status::MethodNotAllowed, "resources here are read-only")),
        Method::Unknown => Some(Refusal::new(Status::NotImplemented, "unknown method")),
        _ if head.expect == Expect::Other => {
            Some(Refusal::new(Status::ExpectationFailed, "the only supported expectation is 100-continue"))
        }
        Method::Get | Method::Head | Method::Options | Method::Post | Method::Put => None,
    }
}

/// Replies with the reason why the file could not be opened.
#[cold]
fn no_file(exchange: &mut Exchange, cx: &Context<'_>, terms: Terms, error: OpenError) -> Next {
    match error {
        OpenError::NotFound | OpenError::IsDirectory | OpenError::NotRegular | OpenError::NameTooLong => {
            not_found(exchange, cx, terms)
        }
        OpenError::Forbidden => {
            reply::explain(exchange, cx, Status::Forbidden, terms, &[], "the file is not readable")
        }
        OpenError::Unavailable => {
            let fields: [(&str, &[u8]); 1] = [("Retry-After", b"1")];
            reply::explain(exchange, cx, Status::ServiceUnavailable, terms, &fields, "try again in a second")
        }
        OpenError::Failed => reply::explain(
            exchange,
            cx,
            Status::InternalServerError,
            terms,
            &[],
            "the file could not be read",
        ),
    }
}

#[cold]
fn not_found(exchange: &mut Exchange, cx: &Context<'_>, terms: Terms) -> Next {
    reply::explain(exchange, cx, Status::NotFound, terms, &[], "no such resource")
}

/// Redirects from a directory's name to its path with a slash, so that relative links work.
#[cold]
fn add_slash(exchange: &mut Exchange, cx: &Context<'_>, terms: Terms, query: Option<&[u8]>) -> Next {
    let mut location = Vec::new();
    target::encode(&exchange.path, &mut location);
    location.push(b'/');
    if let Some(query) = query {
        location.push(b'?');
        location.extend_from_slice(query);
    }
    let fields = [("Location", &location[..])];
    reply::explain(
        exchange,
        cx,
        Status::MovedPermanently,
        terms,
        &fields,
        "the path of a directory ends with a slash",
    )
}
