//! From the options to the headers of each request.
//!
//! A request is first written for HTTP/1.1, with all checks of that version, and then translated, as by a gateway. So both
//! versions can send the same requests.

use std::sync::Arc;

use httlib_hpack::Encoder;

use super::conn::Http2Conn;
use super::frame;
use super::settings;
use super::site::{Request, Site};
use super::user::{BrowserPlan, DriverPlan, SessionPlan, UserDriver, VariedPlan, VisitPlan};
use super::wording::OF_THE_CONNECTION;
use crate::choice::RequestChoice;
use crate::exchange::Alpn;
use crate::http::{
    Request as Http1Request, check_varied, compile, pages, requests, visiting, without_cookies,
};
use crate::protocol::{ClientConn, ClientOptions, ClientProtocol, SessionInfo};
use crate::request::RequestSpec;
use crate::url::Url;

/// The default size of a server's header table (RFC 9113 section 6.5.2).
const TABLE_BYTES: usize = 4096;
struct Http2 {
    site: Arc<Site>,
    scheme: Arc<str>,
    /// `None` if connections only send the requests of the run.
    plan: Option<Box<dyn DriverPlan>>,
    sessions: Option<SessionInfo>,
}

impl ClientProtocol for Http2 {
    fn connect(&self) -> Box<dyn ClientConn> {
        let user = self.plan.as_ref().map(|plan| UserDriver::new(&**plan, &self.scheme));
        Box::new(Http2Conn::new(Arc::clone(&self.site), user))
    }

    fn sessions(&self) -> Option<SessionInfo> {
        self.sessions.clone()
    }

    fn alpn(&self) -> Option<Alpn> {
        Some(Alpn { name: "h2", required: true })
    }
}

pub(crate) fn build(url: &Url, options: &ClientOptions) -> Result<Box<dyn ClientProtocol>, String> {
    // HTTP/2 has no header for a connection with a single request.
    let options = ClientOptions { single_request: false, ..options.clone() };
    let Asked { requests: all, choice, plan, sessions } = asked(url, &options)?;
    let heads: Vec<(Vec<Field>, Vec<Field>)> =
        all.iter().map(|request| fields(&split(request).0, &url.scheme)).collect::<Result<_, _>>()?;
    let shared = shared(heads.iter().map(|(_, fields)| &**fields));
    let table_bytes: usize = shared.iter().map(|field| field.name.len() + field.value.len() + 32).sum();
    let fits = table_bytes <= TABLE_BYTES;
    let requests = all.iter().zip(&heads).map(|(request, (pseudo, fields))| {
        let is_shared = |field: &Field| fits && shared.contains(field);
        let (authority, fields) = fields.split_first().ok_or("a request has no authority")?;
        let mut order: Vec<(&Field, bool)> = pseudo.iter().map(|field| (field, false)).collect();
        order.push((authority, is_shared(authority)));
        order.extend(shared.iter().filter(|field| *field != authority).map(|field| (field, fits)));
        order.extend(fields.iter().filter(|field| !shared.contains(*field)).map(|field| (field, false)));
        let mut encoder = Encoder::default();
        Ok(Request {
            filling: encode(&mut encoder, &order)?,
            indexed: encode(&mut encoder, &order)?,
            plain: encode(
                &mut Encoder::default(),
                &order.iter().map(|(f, _)| (*f, false)).collect::<Vec<_>>(),
            )?,
            body: split(request).1.into(),
            head_only: request.head_only,
            expected: request.expected.clone(),
        })
    });
    let site = Site {
        requests: requests.collect::<Result<_, String>>()?,
        choice,
        statuses: options.expect_status.clone(),
        table_bytes: if fits { table_bytes as u32 } else { 0 },
        greeting: settings::greeting().leak(),
    };
    Ok(Box::new(Http2 { site: Arc::new(site), scheme: url.scheme.as_str().into(), plan, sessions }))
}

struct Asked {
    requests: Arc<[Http1Request]>,
    choice: RequestChoice,
    plan: Option<Box<dyn DriverPlan>>,
    sessions: Option<SessionInfo>,
}

fn asked(url: &Url, options: &ClientOptions) -> Result<Asked, String> {
    if !options.sessions.is_empty() {
        let compiled = compile(url, options)?;
        return Ok(Asked {
            requests: compiled.steps.iter().map(Http1Request::sample).collect(),
            // The driver chooses among the sessions.
            choice: RequestChoice::new(&[RequestSpec::default()], true)?,
            sessions: Some(compiled.info()),
            plan: Some(Box::new(SessionPlan { compiled })),
        });
    }
    let visiting = options.visit.any().then(|| visiting(url, options)).transpose()?;
    let options = &*without_cookies(options);
    let mut all = requests(url, options)?;
    check_varied(options, &all)?;
    let pages = options.pages.then(|| pages(url, options, &mut all)).transpose()?;
    let requests: Arc<[Http1Request]> = all.into();
    let plan: Option<Box<dyn DriverPlan>> = match (pages, visiting) {
        (Some(pages), _) => Some(Box::new(BrowserPlan { pages: Arc::new(pages) })),
        (None, Some(visiting)) => Some(Box::new(VisitPlan {
            visiting: Arc::new(visiting),
            requests: Arc::clone(&requests),
            users: options.streams.max(1),
        })),
        (None, None) if requests.iter().any(|request| request.varied.is_some()) => {
            Some(Box::new(VariedPlan { requests: Arc::clone(&requests) }))
        }
        (None, None) => None,
    };
    Ok(Asked { requests, choice: RequestChoice::of(options)?, plan, sessions: None })
}

/// The fields that all requests share, in the order of the first request. They go into the server's table.
fn shared<'a>(mut all: impl Iterator<Item = &'a [Field]>) -> Vec<Field> {
    let mut shared = all.next().unwrap_or_default().to_vec();
    // It changes with the body, even if all lengths are equal now.
    shared.retain(|field| field.name != "content-length");
    for fields in all {
        shared.retain(|field| fields.contains(field));
    }
    shared
}

#[derive(Clone, PartialEq, Eq)]
struct Field {
    name: String,
    value: String,
}

/// The head of an HTTP/1.1 request as text, and its body.
fn split(request: &Http1Request) -> (String, &'static [u8]) {
    let (head, body) = request.bytes.split_at(request.head_len as usize);
    (String::from_utf8_lossy(head).into_owned(), body)
}

/// The fields of a head (RFC 9113 section 8.3.1): the pseudo-header fields, and the authority followed by the others.
fn fields(head: &str, scheme: &str) -> Result<(Vec<Field>, Vec<Field>), String> {
    let mut lines = head.split("\r\n").take_while(|line| !line.is_empty());
    let mut words = lines.next().unwrap_or_default().split(' ');
    let method = words.next().unwrap_or_default();
    let path = words.next().unwrap_or_default();
    let field = |name: &str, value: &str| Field { name: name.into(), value: value.into() };
    let mut fields = vec![field(":authority", "")];
    for line in lines {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        match &*name {
            "host" => fields[0].value = value.into(),
            name if OF_THE_CONNECTION.contains(&name) => {
                return Err(format!("HTTP/2 has no header `{name}`: remove it, or use --http 1.1"));
            }
            "te" if !value.eq_ignore_ascii_case("trailers") => {
                return Err(format!("HTTP/2 has no header `te: {value}`: remove it, or use --http 1.1"));
            }
            name => fields.push(field(name, value)),
        }
    }
    let first = vec![field(":method", method), field(":scheme", scheme), field(":path", path)];
    Ok((first, fields))
}

/// A block of these fields, each with whether it goes into the table or is taken from it.
fn encode(encoder: &mut Encoder<'_>, fields: &[(&Field, bool)]) -> Result<Box<[u8]>, String> {
    const FLAGS: u8 = Encoder::HUFFMAN_NAME | Encoder::HUFFMAN_VALUE | Encoder::BEST_FORMAT;
    let mut block = Vec::new();
    for (field, indexed) in fields {
        let flags = if *indexed { FLAGS | Encoder::WITH_INDEXING } else { FLAGS };
        let (name, value) = (field.name.clone().into_bytes(), field.value.clone().into_bytes());
        encoder
            .encode((name, value, flags), &mut block)
            .map_err(|_| format!("the header `{}` cannot be encoded", field.name))?;
    }
    if block.len() >= frame::PAYLOAD_MAX {
        return Err(format!(
            "the headers of a request take {} bytes; the limit over HTTP/2 is {}",
            block.len(),
            frame::PAYLOAD_MAX - 1
        ));
    }
    Ok(block.into())
}
