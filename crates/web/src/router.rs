//! Requests and replies.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, header};
use axum::routing::{get, post};
use pitot_results::Failure;

use crate::guard::{Access, Guard};
use crate::live::Live;
use crate::pages::{self, Page};
use crate::query::{Query, link, name_in};
use crate::shelf::{Shelf, UNREADABLE};
use crate::stop::Stopper;

/// What requests share.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) live: Arc<Live>,
    pub(crate) guard: Guard,
    pub(crate) stopper: Stopper,
}

/// A page cannot be shown in a frame of another, keeps no copy, and is what it says it is. What it may load is said in itself.
const HEADERS: [(header::HeaderName, &str); 5] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    // With `no-referrer` browsers would send no origin with a form either (Fetch, section 3.2).
    (header::REFERRER_POLICY, "same-origin"),
    (header::CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
];

/// No request has a body that is read.
const BODY_MAX: usize = 4096;

pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/report/{*name}", get(page))
        .route("/plan/{*name}", get(page))
        .route("/compare", get(page))
        .route("/history", get(page))
        .route("/events/", get(events))
        .route("/events/{*name}", get(events))
        .route("/stop/{*name}", post(stop))
        // Browsers ask for it unasked, and a page that is not there would be a message in their console.
        .route("/favicon.ico", get(async || StatusCode::NO_CONTENT))
        .fallback(page)
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .with_state(app)
}

/// What a request may do; an error is the reply to one that may do nothing more.
fn admit(
    app: &App,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(Query, bool), Box<Response<Body>>> {
    let query = Query::parse(uri.query());
    match app.guard.access(method, headers, &query) {
        Access::See => Ok((query, false)),
        Access::Stop => Ok((query, true)),
        Access::Enter => {
            let rest = query.without(&["token"]);
            let to = if rest.is_empty() { uri.path().to_owned() } else { format!("{}?{rest}", uri.path()) };
            let mut response = see(&to);
            if let Ok(cookie) = HeaderValue::from_str(&app.guard.cookie()) {
                response.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            Err(Box::new(response))
        }
        Access::None(status, why) => {
            let fix = "run `pitot web` yourself, or ask for the address of whoever runs it";
            Err(Box::new(html(Page::failure(status, &Failure::misuse(why, fix)))))
        }
    }
}

/// A page of documents.
async fn page(State(app): State<Arc<App>>, method: Method, uri: Uri, headers: HeaderMap) -> Response<Body> {
    let (query, may_stop) = match admit(&app, &method, &uri, &headers) {
        Ok(admitted) => admitted,
        Err(response) => return *response,
    };
    // Reading takes a while, and a file may be anything.
    let made =
        tokio::task::spawn_blocking(move || html(made(&app.shelf, uri.path(), &query, may_stop))).await;
    made.unwrap_or_else(|_| {
        let failure = Failure::run(UNREADABLE, "`pitot report` may say more; please report it with the file");
        html(Page::failure(StatusCode::UNPROCESSABLE_ENTITY, &failure))
    })
}

fn made(shelf: &Shelf, path: &str, query: &Query, may_stop: bool) -> Page {
    let name = |page: &str| name_in(path, page).filter(|name| !name.is_empty());
    if let Some(name) = name("report") {
        return pages::report(shelf, &name, may_stop, query);
    }
    if let Some(name) = name("plan") {
        return pages::plan(shelf, &name);
    }
    match path {
        "/" => pages::list(shelf, query),
        "/compare" => pages::comparison(shelf, query),
        "/history" => pages::history(shelf, query),
        _ => Page::failure(
            StatusCode::NOT_FOUND,
            &Failure::misuse("there is no such page", "see the list of runs"),
        ),
    }
}

/// The events of a file, or of the list.
async fn events(State(app): State<Arc<App>>, method: Method, uri: Uri, headers: HeaderMap) -> Response<Body> {
    let query = match admit(&app, &method, &uri, &headers) {
        Ok((query, _)) => query,
        Err(response) => return *response,
    };
    let name = name_in(uri.path(), "events").map(Cow::into_owned).unwrap_or_default();
    let shelf = Arc::clone(&app.shelf);
    let looked_up = name.clone();
    let is_known =
        tokio::task::spawn_blocking(move || looked_up.is_empty() || shelf.path(&looked_up).is_some());
    if uri.path() != "/events/" && (name.is_empty() || !is_known.await.unwrap_or(false)) {
        return status(StatusCode::NOT_FOUND);
    }
    let have = u64::from_str_radix(query.get("have"), 16).unwrap_or(0);
    match app.live.follow(&app.shelf, &name, have) {
        Some(body) => reply(StatusCode::OK, "text/event-stream", body),
        None => status(StatusCode::SERVICE_UNAVAILABLE),
    }
}

/// Interrupts what writes a file, as Ctrl-C does, and shows its page again.
async fn stop(State(app): State<Arc<App>>, method: Method, uri: Uri, headers: HeaderMap) -> Response<Body> {
    match admit(&app, &method, &uri, &headers) {
        Ok((_, true)) => {}
        Ok((_, false)) => {
            let failure = Failure::misuse(
                "stopping a run takes the token",
                "open the address that `pitot web` printed",
            );
            return html(Page::failure(StatusCode::FORBIDDEN, &failure));
        }
        Err(response) => return *response,
    }
    let Some(name) = name_in(uri.path(), "stop").map(Cow::into_owned) else {
        return status(StatusCode::NOT_FOUND);
    };
    let stopped = tokio::task::spawn_blocking(move || {
        let path = app.shelf.path(&name)?;
        Some((app.stopper.stop(&path), name))
    });
    match stopped.await.unwrap_or_default() {
        Some((is_stopped, name)) => {
            see(&format!("{}?stop={}", link("report", &name), if is_stopped { "asked" } else { "over" }))
        }
        None => status(StatusCode::NOT_FOUND),
    }
}

/// Shows another page of this server.
fn see(to: &str) -> Response<Body> {
    let mut response = status(StatusCode::SEE_OTHER);
    // `//host/` would be another server.
    let to = format!("/{}", to.trim_start_matches(['/', '\\']));
    if let Ok(to) = HeaderValue::from_str(&to) {
        response.headers_mut().insert(header::LOCATION, to);
    }
    response
}

fn html(page: Page) -> Response<Body> {
    reply(page.status, "text/html; charset=utf-8", Body::from(page.html))
}

fn status(status: StatusCode) -> Response<Body> {
    reply(status, "text/plain; charset=utf-8", Body::from(format!("{status}\n")))
}

fn reply(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
