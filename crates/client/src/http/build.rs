//! From the options to the bytes of each request.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use pitot_durability::{BLANK_NAME, Stored};

use super::browser::{BrowserConn, Pages};
use super::conn::HttpConn;
use super::cookies::Jar;
use super::request_head::{check_headers, check_method, check_transfer_encoding, head};
use super::session;
use super::site::{Request, Site};
use super::visit::{VisitConn, Visiting};
use crate::choice::RequestChoice;
use crate::exchange::{Alpn, Tag};
use crate::expected::Expected;
use crate::page::Origin;
use crate::protocol::{ClientConn, ClientOptions, ClientProtocol};
use crate::request::RequestSpec;
use crate::url::Url;

struct Http {
    site: Arc<Site>,
    pages: Option<Arc<Pages>>,
    visiting: Option<Arc<Visiting>>,
}

impl ClientProtocol for Http {
    fn connect(&self) -> Box<dyn ClientConn> {
        let site = Arc::clone(&self.site);
        match (&self.pages, &self.visiting) {
            (Some(pages), _) => Box::new(BrowserConn::new(site, Arc::clone(pages))),
            (None, Some(visiting)) => Box::new(VisitConn::new(site, Arc::clone(visiting))),
            (None, None) => Box::new(HttpConn::new(site)),
        }
    }

    fn request_bytes_max(&self) -> Option<usize> {
        // Paths found in pages and redirects, and cookies, are not known in advance.
        let known = self.pages.is_none() && self.visiting.is_none();
        let known = known && self.site.requests.iter().all(|r| r.varied.is_none());
        self.site.requests.iter().map(|r| r.bytes.len()).max().filter(|_| known)
    }

    fn stored(&self) -> Option<(Stored, &[u8])> {
        let [request] = &*self.site.requests else { return None };
        // Further requests have no names.
        if self.pages.is_some() || self.visiting.is_some() {
            return None;
        }
        let is_named = request.path().windows(BLANK_NAME.len()).any(|w| w == BLANK_NAME.as_bytes());
        is_named.then(|| (Stored::Uploads, &request.bytes[request.head_len as usize..]))
    }

    fn redirects_to(&self) -> Option<String> {
        self.site.redirects_to.get().cloned()
    }

    fn alpn(&self) -> Option<Alpn> {
        // A server without ALPN speaks HTTP/1.1 (RFC 9112 section 9.7).
        Some(Alpn { name: "http/1.1", required: false })
    }
}

pub(crate) fn build(url: &Url, options: &ClientOptions) -> Result<Box<dyn ClientProtocol>, String> {
    if !options.sessions.is_empty() {
        return session::compile(url, options).map(|compiled| Box::new(compiled) as _);
    }
    let visiting = options.visit.any().then(|| visiting(url, options)).transpose()?;
    let options = &*without_cookies(options);
    let mut requests = requests(url, options)?;
    check_varied(options, &requests)?;
    let pages = options.pages.then(|| pages(url, options, &mut requests)).transpose()?;
    Ok(Box::new(Http {
        pages: pages.map(Arc::new),
        visiting: visiting.map(Arc::new),
        site: Arc::new(Site {
            requests,
            choice: RequestChoice::of(options)?,
            statuses: options.expect_status.clone(),
            redirects_to: OnceLock::new(),
        }),
    }))
}

/// The requests of HTTP/1.1.
///
/// # Errors
/// A method, path or header that HTTP does not allow; an invalid status.
pub(crate) fn requests(url: &Url, options: &ClientOptions) -> Result<Vec<Request>, String> {
    let own = options.requests.iter().flat_map(|spec| &spec.headers);
    check_headers(options.headers.iter().chain(own))?;
    let body: Option<&'static [u8]> = options.expect_body.clone().map(|b| &*b.leak());
    options.requests.iter().map(|spec| request(url, options, spec, body)).collect()
}

/// Refuses random and counted numbers in requests whose followers would have to know them.
pub(crate) fn check_varied(options: &ClientOptions, requests: &[Request]) -> Result<(), String> {
    let refused = [
        ("--cookies", options.visit.cookies),
        ("--follow", options.visit.follow > 0),
        ("--browser", options.pages),
    ];
    match refused.iter().find(|(_, given)| *given) {
        Some((option, _)) if requests.iter().any(|request| request.varied.is_some()) => Err(format!(
            "{{rand:...}} and {{seq:...}} cannot be combined with {option}: remove one, or write sessions \
             (--requests FILE), which keep cookies"
        )),
        _ => Ok(()),
    }
}

/// How connections treat cookies and redirects. Cookies that the user gives as a header are those they begin with.
pub(crate) fn visiting(url: &Url, options: &ClientOptions) -> Result<Visiting, String> {
    if options.pages {
        return Err(
            "--browser keeps no cookies and always follows redirects: remove --cookies and --follow".into()
        );
    }
    if options.visit.cookies && options.requests.iter().flat_map(|spec| &spec.headers).any(is_cookie) {
        return Err(
            "--cookies cannot be combined with the Cookie header of a single request: remove one of them"
                .into(),
        );
    }
    let given = |wanted: &str| {
        let header = options.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        header.map(|(_, value)| value.trim())
    };
    let port = url.port.unwrap_or(if url.scheme == "https" { 443 } else { 80 });
    Ok(Visiting {
        cookies: options.visit.cookies.then(|| {
            let jar = Jar::at(options.visit.now_s);
            given("cookie").map_or(jar.clone(), |value| jar.with_header(value))
        }),
        follow: options.visit.follow,
        origin: Origin::new(&url.scheme, &url.host, port, given("host")),
    })
}

/// The options without `Cookie` headers, which the jar writes.
pub(crate) fn without_cookies(options: &ClientOptions) -> Cow<'_, ClientOptions> {
    let mut options = Cow::Borrowed(options);
    if options.visit.cookies && options.headers.iter().any(is_cookie) {
        options.to_mut().headers.retain(|header| !is_cookie(header));
    }
    options
}

fn is_cookie((name, _): &(String, String)) -> bool {
    name.eq_ignore_ascii_case("cookie")
}

/// What the connections of a browser share. Adds a request that is never drawn, which stands for everything that belongs to
/// a page.
pub(crate) fn pages(
    url: &Url,
    options: &ClientOptions,
    requests: &mut Vec<Request>,
) -> Result<Pages, String> {
    let given = |name: &str| options.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
    if let Some((name, _)) = given("accept-encoding") {
        return Err(format!("--browser cannot search compressed pages: remove the header `{name}`"));
    }
    let of_a_body = ["content-length", "content-type", "transfer-encoding", "expect"];
    let kept = |(name, _): &&(String, String)| !of_a_body.iter().any(|n| name.eq_ignore_ascii_case(n));
    let plain = ClientOptions {
        headers: options.headers.iter().filter(kept).cloned().collect(),
        single_request: options.single_request,
        ..ClientOptions::default()
    };
    let request = request(url, &plain, &RequestSpec::default(), None)?;
    let tail = &request.bytes["GET /".len()..];
    let port = url.port.unwrap_or(if url.scheme == "https" { 443 } else { 80 });
    requests.push(request);
    Ok(Pages {
        origin: Origin::new(&url.scheme, &url.host, port, given("host").map(|(_, value)| value.trim())),
        paths: options.requests.iter().map(|spec| spec.path.as_bytes().into()).collect(),
        tail,
        embedded: Tag(options.requests.len() as u32),
    })
}

fn request(
    url: &Url,
    options: &ClientOptions,
    spec: &RequestSpec,
    expect_body: Option<&'static [u8]>,
) -> Result<Request, String> {
    check_method(&spec.method)?;
    let path = if spec.path.is_empty() { "/" } else { &spec.path };
    if !path.starts_with('/') && path != "*" || !path.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(format!("`{path}` is not a path: it must start with a slash and contain no spaces"));
    }
    if spec.method == "HEAD" && (expect_body.is_some() || options.verify) {
        return Err("a reply to HEAD has no content: remove --expect-body and --verify".into());
    }
    let expected = match (expect_body, options.verify) {
        (Some(body), _) => Expected::Exactly(body),
        (None, true) => Expected::Pattern(
            generated_size(path)
                .ok_or_else(|| format!("--verify needs a path such as /bytes/1024, not `{path}`"))?,
        ),
        (None, false) => Expected::Anything,
    };
    if let Some(step) = session::varied(url, options, spec)? {
        // Also for an escaped placeholder, `{{seq:1}}`.
        let varied = step.is_varied().then(|| Box::new(step.clone()));
        return Ok(Request { expected, varied, ..Request::sample(&step) });
    }
    if options.headers_of(spec).any(|(name, _)| name.eq_ignore_ascii_case("transfer-encoding")) {
        check_transfer_encoding(options, spec)?;
    }
    let text = head(url, options, spec, &spec.body.len().to_string())?;
    let head_len = u32::try_from(text.len()).map_err(|_| "the headers are too long".to_owned())?;
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(&spec.body);
    Ok(Request { bytes: bytes.leak(), head_len, head_only: spec.method == "HEAD", expected, varied: None })
}

/// The size in a path of generated content: `/bytes/1024`.
fn generated_size(path: &str) -> Option<u64> {
    let path = path.split('?').next()?;
    path.strip_prefix("/bytes/")?.parse().ok()
}
