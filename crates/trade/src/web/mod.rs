//! The application's front: from a request to an action, and from its outcome to a page or JSON.
//!
//! `/app?action=NAME` gives pages, `/api?action=NAME` JSON of the same actions, with the parameters that the published
//! implementations have (`uid`, `passwd`, `symbols`, `symbol`, `quantity`, `holdingID`, ...), in the query or in a form. What
//! changes something is a POST.

mod files;
mod form;
mod json;
mod page;
mod parse;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri, header};
use axum::routing::{any, get};
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};

use crate::action::{Action, Market, Outcome, What};
use crate::plan::{Orders, TradePlan};
use crate::random;
use crate::stats::Stats;
use crate::store::{Store, now_ms};
use crate::transaction::StoreError;

/// The longest form.
const FORM_MAX: usize = 64 << 10;
/// How old the market summary of a home page may be; the market page has it fresh.
const MARKET_AGE_MAX: Duration = Duration::from_secs(20);
/// No script reads the session, and no page of another site sends it with a form (RFC 6265bis section 5.6.7.1).
const ATTRIBUTES: &str = "Path=/; HttpOnly; SameSite=Lax";
/// The session cookie.
const COOKIE: &str = "TRADE";

/// What requests share.
pub(crate) struct App {
    store: Arc<dyn Store>,
    stats: Arc<Stats>,
    placed: Arc<Notify>,
    orders: Orders,
    market: Mutex<Option<(Instant, Market)>>,
}

impl App {
    pub(crate) fn new(
        plan: &TradePlan,
        store: Arc<dyn Store>,
        stats: Arc<Stats>,
        placed: Arc<Notify>,
    ) -> App {
        App { store, stats, placed, orders: plan.orders, market: Mutex::new(None) }
    }

    /// Carries out an action of a session.
    async fn perform(&self, what: What, session: &str) -> Result<Outcome, StoreError> {
        let began = Instant::now();
        let name = what.name();
        let places = matches!(what, What::Buy { .. } | What::Sell { .. });
        let with_market = what == What::Home;
        let action = Action {
            what,
            session: session.to_owned(),
            now_ms: now_ms(),
            random: random::secret().map_err(|e| StoreError::Other(format!("no random numbers: {e}")))?,
            complete: self.orders == Orders::Direct,
        };
        let (mut outcome, cost) = self.store.run(Arc::new(action)).await;
        self.stats.record(name, began.elapsed(), &cost, outcome.is_ok());
        if places && self.orders == Orders::Queued {
            self.placed.notify_one();
        }
        if with_market && let Ok(Outcome::Done(view)) = &mut outcome {
            view.market = self.market().await;
        }
        outcome
    }

    /// The market, not much older than [`MARKET_AGE_MAX`].
    async fn market(&self) -> Option<Market> {
        let known = self.market.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((at, market)) = known
            && at.elapsed() < MARKET_AGE_MAX
        {
            return Some(market);
        }
        let Ok(Outcome::Done(view)) = Box::pin(self.perform(What::Market, "")).await else { return None };
        *self.market.lock().unwrap_or_else(PoisonError::into_inner) =
            view.market.clone().map(|market| (Instant::now(), market));
        view.market
    }
}

/// Serves until it is stopped; requests in progress are finished.
pub(crate) async fn serve(listener: TcpListener, app: Arc<App>, mut stopped: watch::Receiver<bool>) {
    let router = Router::new()
        .route("/", get(welcome))
        .route("/app", any(|app, method, uri, headers, body| act(app, method, uri, headers, body, false)))
        .route("/api", any(|app, method, uri, headers, body| act(app, method, uri, headers, body, true)))
        .route("/audit", get(audit))
        .route("/stats", get(statistics))
        .route("/files/{name}", get(file))
        .fallback(|| async { text(StatusCode::NOT_FOUND, "no such page; try /app?action=home\n") })
        .layer(DefaultBodyLimit::max(FORM_MAX))
        .with_state(app);
    let listener = listener.tap_io(|stream| {
        // Without it the delayed acknowledgement of the client would be part of every reply.
        let _ = stream.set_nodelay(true);
    });
    let shutdown = async move {
        let _ = stopped.wait_for(|stopped| *stopped).await;
    };
    let _ = axum::serve(listener, router).with_graceful_shutdown(shutdown).await;
}

async fn welcome() -> Response<Body> {
    html(StatusCode::OK, page::login(None), None)
}

async fn file(uri: Uri) -> Response<Body> {
    match files::find(uri.path()) {
        Some(file) => reply(StatusCode::OK, file.kind, Body::from(file.bytes), None, Some("max-age=86400")),
        None => text(StatusCode::NOT_FOUND, "no such file\n"),
    }
}

async fn audit(State(app): State<Arc<App>>) -> Response<Body> {
    match app.store.audit().await {
        Ok(audit) => json_reply(StatusCode::OK, audit.json().to_string()),
        Err(e) => unavailable(&e, true),
    }
}

async fn statistics(State(app): State<Arc<App>>) -> Response<Body> {
    json_reply(StatusCode::OK, app.stats.json().to_string())
}

/// One action: `/app` and `/api`.
async fn act(
    State(app): State<Arc<App>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
    as_json: bool,
) -> Response<Body> {
    let form = form::Form::parse(uri.query().unwrap_or_default(), &body);
    let what = match parse::what(&form) {
        Ok(None) => return html(StatusCode::OK, page::login(None), None),
        Ok(Some(what)) => what,
        Err(why) => return declined(why, as_json, StatusCode::BAD_REQUEST),
    };
    if !what.reads_only() && method != Method::POST {
        return declined(
            "this action changes something: send it as a POST",
            as_json,
            StatusCode::METHOD_NOT_ALLOWED,
        );
    }
    let session = session_of(&headers).unwrap_or_default();
    let name = what.name();
    match app.perform(what, &session).await {
        Ok(Outcome::NoSession) if as_json => {
            json_reply(StatusCode::UNAUTHORIZED, json::declined("no session"))
        }
        Ok(Outcome::NoSession) => {
            html(StatusCode::OK, page::login(Some("Your session has ended: please log in.")), None)
        }
        Ok(Outcome::Declined(why)) => declined(why, as_json, StatusCode::OK),
        Ok(Outcome::Begun(token, mut view)) => {
            view.market = app.market().await;
            let cookie = format!("{COOKIE}={token}; {ATTRIBUTES}");
            if as_json {
                reply(
                    StatusCode::OK,
                    "application/json",
                    Body::from(json::view(name, &view)),
                    Some(cookie),
                    None,
                )
            } else {
                html(StatusCode::OK, page::view("home", &view), Some(cookie))
            }
        }
        Ok(Outcome::Ended) => {
            let cookie = Some(format!("{COOKIE}=; Max-Age=0; {ATTRIBUTES}"));
            if as_json {
                reply(StatusCode::OK, "application/json", Body::from(json::ended()), cookie, None)
            } else {
                html(StatusCode::OK, page::login(Some("You are logged out.")), cookie)
            }
        }
        Ok(Outcome::Done(view)) if as_json => json_reply(StatusCode::OK, json::view(name, &view)),
        Ok(Outcome::Done(view)) => html(StatusCode::OK, page::view(name, &view), None),
        Ok(Outcome::Orders(_)) => declined("users cannot send this action", as_json, StatusCode::BAD_REQUEST),
        Err(e) => unavailable(&e, as_json),
    }
}

fn session_of(headers: &HeaderMap) -> Option<String> {
    let mut all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    all.find_map(|value| {
        value
            .split(';')
            .find_map(|pair| Some(pair.trim().strip_prefix(COOKIE)?.strip_prefix('=')?.to_owned()))
    })
}

fn declined(why: &str, as_json: bool, status: StatusCode) -> Response<Body> {
    if as_json { json_reply(status, json::declined(why)) } else { html(status, page::declined(why), None) }
}

/// The transaction failed, or its result is unknown. The key of an order makes it safe to retry.
fn unavailable(e: &StoreError, as_json: bool) -> Response<Body> {
    let status = match e {
        StoreError::Conflict(_) | StoreError::Lost(_) => StatusCode::SERVICE_UNAVAILABLE,
        StoreError::Other(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    declined(&e.to_string(), as_json, status)
}

fn text(status: StatusCode, text: &'static str) -> Response<Body> {
    reply(status, "text/plain; charset=utf-8", Body::from(text), None, None)
}

fn html(status: StatusCode, page: String, cookie: Option<String>) -> Response<Body> {
    reply(status, "text/html; charset=utf-8", Body::from(page), cookie, None)
}

fn json_reply(status: StatusCode, mut text: String) -> Response<Body> {
    text.push('\n');
    reply(status, "application/json", Body::from(text), None, None)
}

fn reply(
    status: StatusCode,
    kind: &'static str,
    body: Body,
    cookie: Option<String>,
    cache: Option<&'static str>,
) -> Response<Body> {
    let mut builder = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, kind)
        .header(header::CACHE_CONTROL, cache.unwrap_or("no-store"));
    if let Some(cookie) = cookie {
        builder = builder.header(header::SET_COOKIE, cookie);
    }
    // All of these are fixed or hexadecimal: they are always headers.
    builder.body(body).unwrap_or_default()
}
