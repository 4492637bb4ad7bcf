//! Replies to GET and HEAD: a file or generated content, complete or in parts, or that the client has the current state.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, UNIX_EPOCH};

use super::absent::Absent;
use super::coding::Coding;
use super::conditional::{Conditions, Validators, Verdict};
use super::range::{self, Ranges};
use super::reply::{self, Connection, Status, Terms};
use super::{media_type, syntax};
use crate::outbox::COPY_MAX;
use crate::{Context, Exchange, FileHandle, FileMeta, Next, Opened};

/// The fields of a 200 reply that describe a representation, formatted once: Content-Length, Content-Type, validators,
/// Accept-Ranges and the empty line, in an order that lets other replies use a part of them.
#[derive(Debug)]
pub(super) struct Fields {
    text: Box<[u8]>,
    type_at: usize,
    validators_at: usize,
    accept_at: usize,
    etag: Option<Range<usize>>,
    modified_s: Option<u64>,
    /// True if the content has a coding.
    is_coded: bool,
    /// The fields of the same file as a coded form of another one.
    coded: OnceLock<Box<Fields>>,
    /// The missing coded forms of this file.
    absent: OnceLock<Arc<Absent>>,
}

/// How a file is sent.
#[derive(Clone, Copy, Default)]
pub(super) struct Form {
    /// Its content coding: the file's name ends with the suffix of the coding; the name before it has the type.
    pub(super) coding: Option<Coding>,
    /// True if the representation depends on the codings that the client accepts.
    pub(super) varies: bool,
}

impl Fields {
    /// The fields of the file at a path, at the time `now_s`.
    fn of_file(path: &[u8], meta: &FileMeta, form: Form, now_s: u64) -> Fields {
        // RFC 9110 section 8.8.2.1: a modification time in the future is replaced by the time of the reply.
        let modified_s = meta.modified_s.min(now_s);
        let time = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(modified_s));
        let modified_ns = u128::from(meta.modified_s) * 1_000_000_000 + u128::from(meta.modified_ns);
        let etag = format!("\"{:x}-{:x}-{modified_ns:x}\"", meta.inode, meta.size);
        let vary = if form.varies { "Vary: Accept-Encoding\r\n" } else { "" };
        let validators = format!("{vary}Last-Modified: {time}\r\nETag: {etag}\r\n");
        let name = &path[..path.len() - form.coding.map_or(0, |coding| coding.suffix().len())];
        let mut fields = Fields::new(length(meta), media_type::of(name), form.coding, &validators);
        let etag_end = fields.accept_at - "\r\n".len();
        fields.etag = Some(etag_end - etag.len()..etag_end);
        fields.modified_s = Some(modified_s);
        fields
    }

    fn new(size: u64, media_type: &str, coding: Option<Coding>, validators: &str) -> Fields {
        let mut text = Vec::with_capacity(256);
        reply::content_length(&mut text, size);
        let type_at = text.len();
        reply::field(&mut text, "Content-Type", media_type.as_bytes());
        if let Some(coding) = coding {
            reply::field(&mut text, "Content-Encoding", coding.name().as_bytes());
        }
        let validators_at = text.len();
        text.extend_from_slice(validators.as_bytes());
        let accept_at = text.len();
        text.extend_from_slice(b"Accept-Ranges: bytes\r\n\r\n");
        Fields {
            text: text.into(),
            type_at,
            validators_at,
            accept_at,
            etag: None,
            modified_s: None,
            is_coded: coding.is_some(),
            coded: OnceLock::new(),
            absent: OnceLock::new(),
        }
    }

    fn validators(&self) -> Validators<'_> {
        Validators { etag: self.etag.clone().map(|at| &self.text[at]), modified_s: self.modified_s }
    }

    /// All of them except the empty line.
    fn lines(&self) -> &[u8] {
        &self.text[..self.text.len() - "\r\n".len()]
    }
}

/// The size of a file, which equals that of its content in memory, if it is cached.
fn length(meta: &FileMeta) -> u64 {
    meta.content.as_ref().map_or(meta.size, |content| content.len() as u64)
}

/// The buffer space that content of this size needs after its head: none if the outbox refers to it.
fn room_for(size: u64) -> usize {
    usize::try_from(size).ok().filter(|&size| size <= COPY_MAX).unwrap_or(0)
}

/// The source of the content.
#[derive(Debug)]
enum Source<'a> {
    Memory(&'a Arc<[u8]>),
    File(&'a FileHandle),
    Pattern,
}

#[derive(Debug)]
struct Representation<'a> {
    size: u64,
    fields: &'a Fields,
    source: Source<'a>,
}

/// The relevant parts of the request.
pub(super) struct Request<'a> {
    pub(super) terms: Terms,
    pub(super) conditions: Option<&'a Conditions>,
    /// How a file is sent.
    pub(super) form: Form,
}

/// The known missing coded forms of a file; `None` for one that was modified in the future.
pub(super) fn absent(exchange: &Exchange, cx: &Context<'_>, opened: &Opened) -> Option<Arc<Absent>> {
    let (meta, form) = (&opened.meta, Form { coding: None, varies: true });
    (meta.modified_s <= cx.unix_s).then(|| {
        let fields = opened.derived.get_or_make(|| Fields::of_file(&exchange.path, meta, form, cx.unix_s));
        Arc::clone(fields.absent.get_or_init(Arc::default))
    })
}

/// Replies with a file.
pub(super) fn file(
    exchange: &mut Exchange,
    cx: &Context<'_>,
    request: &Request<'_>,
    opened: &Opened,
) -> Next {
    let meta = &opened.meta;
    let source = match &meta.content {
        Some(content) => Source::Memory(content),
        None => Source::File(&opened.handle),
    };
    let form = request.form;
    let make = |form| Fields::of_file(&exchange.path, meta, form, cx.unix_s);
    let in_future;
    let fields = if meta.modified_s <= cx.unix_s {
        let own = opened.derived.get_or_make(|| make(Form { coding: None, ..form }));
        if form.coding.is_some() { own.coded.get_or_init(|| Box::new(make(form))) } else { own }
    } else {
        in_future = make(form);
        &in_future
    };
    Representation { size: length(meta), fields, source }.answer(exchange, cx, request)
}

/// Replies with `size` generated bytes.
pub(super) fn generated(exchange: &mut Exchange, cx: &Context<'_>, request: &Request<'_>, size: u64) -> Next {
    if request.conditions.is_some() {
        let fields = Fields::new(size, media_type::UNKNOWN, None, "");
        return Representation { size, fields: &fields, source: Source::Pattern }
            .answer(exchange, cx, request);
    }
    // The same reply without an allocation.
    exchange.out.write_with(|buf| {
        buf.reserve(256 + room_for(size));
        reply::start(buf, Status::Ok, cx);
        reply::content_length(buf, size);
        buf.extend_from_slice(b"Content-Type: application/octet-stream\r\nAccept-Ranges: bytes\r\n");
        reply::finish(buf, request.terms.connection);
    });
    if !request.terms.head_only {
        exchange.out.pattern(size);
    }
    exchange.replied(Status::Ok.code(), request.terms.content(size));
    request.terms.next()
}

impl Representation<'_> {
    fn answer(&self, exchange: &mut Exchange, cx: &Context<'_>, request: &Request<'_>) -> Next {
        let Some(conditions) = request.conditions else { return self.whole(exchange, cx, request.terms) };
        let validators = self.fields.validators();
        match conditions.evaluate(validators) {
            Verdict::Proceed => {}
            Verdict::NotModified => return self.not_modified(exchange, cx, request.terms),
            Verdict::Failed => {
                let (status, why) = (Status::PreconditionFailed, "the resource has changed");
                return reply::explain(exchange, cx, status, request.terms, &[], why);
            }
        }
        // RFC 9110 section 14.2: Range is defined for GET only.
        if request.terms.head_only {
            return self.whole(exchange, cx, request.terms);
        }
        match conditions.range(validators, cx.unix_s).map(|value| range::resolve(value, self.size)) {
            None | Some(Ranges::Whole) => self.whole(exchange, cx, request.terms),
            Some(Ranges::Unsatisfiable) => {
                let size = format!("bytes */{}", self.size);
                let (status, fields) = (Status::RangeNotSatisfiable, [("Content-Range", size.as_bytes())]);
                reply::explain(exchange, cx, status, request.terms, &fields, "the ranges are beyond the end")
            }
            Some(Ranges::Parts(parts)) => match parts.as_slice() {
                [part] => self.part(exchange, cx, request.terms, part.clone()),
                // The coding applies to the whole message, and a message of several parts has none.
                _ if self.fields.is_coded => self.whole(exchange, cx, request.terms),
                parts => self.parts(exchange, cx, request.terms, parts),
            },
        }
    }

    fn whole(&self, exchange: &mut Exchange, cx: &Context<'_>, terms: Terms) -> Next {
        let before = exchange.out.len();
        exchange.out.write_with(|buf| {
            buf.reserve(128 + self.fields.text.len() + room_for(self.size));
            reply::start(buf, Status::Ok, cx);
            if terms.connection == Connection::Persist {
                buf.extend_from_slice(&self.fields.text);
            } else {
                buf.extend_from_slice(self.fields.lines());
                reply::finish(buf, terms.connection);
            }
        });
        if !terms.head_only {
            self.content(exchange, 0..self.size, (exchange.out.len() - before) as usize);
        }
        exchange.replied(Status::Ok.code(), terms.content(self.size));
        terms.next()
    }

    fn not_modified(&self, exchange: &mut Exchange, cx: &Context<'_>, terms: Terms) -> Next {
        exchange.out.write_with(|buf| {
            reply::start(buf, Status::NotModified, cx);
            buf.extend_from_slice(&self.fields.text[self.fields.validators_at..self.fields.accept_at]);
            reply::finish(buf, terms.connection);
        });
        exchange.replied(Status::NotModified.code(), 0);
        terms.next()
    }

    fn part(&self, exchange: &mut Exchange, cx: &Context<'_>, terms: Terms, part: Range<u64>) -> Next {
        let before = exchange.out.len();
        exchange.out.write_with(|buf| {
            reply::start(buf, Status::PartialContent, cx);
            reply::content_length(buf, part.end - part.start);
            self.content_range(buf, &part);
            buf.extend_from_slice(&self.fields.lines()[self.fields.type_at..]);
            reply::finish(buf, terms.connection);
        });
        let content = part.end - part.start;
        self.content(exchange, part, (exchange.out.len() - before) as usize);
        exchange.replied(Status::PartialContent.code(), content);
        terms.next()
    }

    /// Sends several parts as multipart/byteranges (RFC 9110 section 14.6).
    fn parts(&self, exchange: &mut Exchange, cx: &Context<'_>, terms: Terms, parts: &[Range<u64>]) -> Next {
        let boundary = self.boundary(cx);
        let (mut part_heads, mut ends) = (Vec::new(), Vec::new());
        let mut length = 0;
        for part in parts {
            let line_end = if part_heads.is_empty() { "" } else { "\r\n" };
            part_heads.extend_from_slice(format!("{line_end}--{boundary}\r\n").as_bytes());
            part_heads.extend_from_slice(&self.fields.text[self.fields.type_at..self.fields.validators_at]);
            self.content_range(&mut part_heads, part);
            part_heads.extend_from_slice(b"\r\n");
            ends.push(part_heads.len());
            length += part.end - part.start;
        }
        let last = format!("\r\n--{boundary}--\r\n");
        length += (part_heads.len() + last.len()) as u64;

        exchange.out.write_with(|buf| {
            reply::start(buf, Status::PartialContent, cx);
            reply::content_length(buf, length);
            let media_type = format!("multipart/byteranges; boundary={boundary}");
            reply::field(buf, "Content-Type", media_type.as_bytes());
            buf.extend_from_slice(&self.fields.lines()[self.fields.validators_at..]);
            reply::finish(buf, terms.connection);
        });
        let mut start = 0;
        for (part, end) in parts.iter().zip(ends) {
            exchange.out.bytes(&part_heads[start..end]);
            // The heads of several parts are not contiguous, and cannot be revoked.
            self.content(exchange, part.clone(), 0);
            start = end;
        }
        exchange.out.bytes(last.as_bytes());
        exchange.replied(Status::PartialContent.code(), length);
        terms.next()
    }

    /// A boundary that is unlikely to occur in the content, since clients search for it, although they have the lengths.
    fn boundary(&self, cx: &Context<'_>) -> String {
        let mut hasher = DefaultHasher::new();
        hasher.write(&self.fields.text);
        hasher.write_u64(cx.unix_s);
        let mut boundary = String::from("pitot-");
        write!(boundary, "{:016x}", hasher.finish()).expect("a string takes what is written");
        boundary
    }

    fn content_range(&self, buf: &mut Vec<u8>, part: &Range<u64>) {
        buf.extend_from_slice(b"Content-Range: bytes ");
        syntax::write_decimal(buf, part.start);
        buf.push(b'-');
        syntax::write_decimal(buf, part.end - 1);
        buf.push(b'/');
        syntax::write_decimal(buf, self.size);
        buf.extend_from_slice(b"\r\n");
    }

    /// Appends content after a head of the given length.
    fn content(&self, exchange: &mut Exchange, range: Range<u64>, head_len: usize) {
        match self.source {
            Source::Memory(bytes) => exchange.out.shared(bytes, range.start as usize..range.end as usize),
            Source::File(handle) => exchange.out.file_after_head(handle.clone(), range, head_len),
            Source::Pattern => exchange.out.pattern_from(range.start, range.end - range.start),
        }
    }
}
