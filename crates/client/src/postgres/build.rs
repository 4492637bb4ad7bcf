//! From a URL and its options to the queries of a run.

use std::sync::Arc;

use super::conn::PostgresConn;
use super::login::Account;
use super::options::{Options, Protocol, SslMode, decoded};
use super::plan::{Plays, Postgres, Request};
use super::query::Query;
use super::write;
use crate::choice::RequestChoice;
use crate::exchange::StartTls;
use crate::protocol::{ClientConn, ClientOptions, ClientProtocol, SessionInfo};
use crate::request::RequestSpec;
use crate::said::Said;
use crate::session::{Form, Scripts, StepSpec, Template, has_numbers};
use crate::url::Url;

/// The user of a URL without one.
const USER: &str = "postgres";
/// `SSLRequest`: its length and its code.
const SSL_REQUEST: &[u8] = b"\0\0\0\x08\x04\xd2\x16\x2f";
/// The default query.
const QUERY: &str = "SELECT 1";

pub(super) fn build(url: &Url, options: &ClientOptions) -> Result<Box<dyn ClientProtocol>, String> {
    let account = account(url)?;
    if !options.sessions.is_empty() {
        return script(account, url, options);
    }
    let parsed =
        options.requests.iter().map(|spec| Options::parse(&spec.path)).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = parsed.first() else { return Err("no query to send".into()) };
    if parsed.iter().any(|other| other.connection() != first.connection()) {
        return Err(
            "all queries of a run share their connections: give them the same database, protocol and sslmode"
                .into(),
        );
    }
    let (first, protocol) = (first.clone(), first.protocol);
    let (mut prepare, mut requests) = (Vec::new(), Vec::new());
    for (n, (parsed, spec)) in parsed.into_iter().zip(&options.requests).enumerate() {
        let text = text(parsed.query, spec)?;
        let statement = format!("q{n}");
        let (query, text) = if parsed.parameters.is_empty() {
            let template = Template::of_numbers(text.as_bytes(), Form::Raw)?;
            Query::of_template(template, protocol, statement.clone())?
        } else if has_numbers(text.as_bytes()) {
            return Err(
                "the query cannot combine {rand:...} or {seq:...} with param=: remove one of them".into()
            );
        } else {
            (Query::new(&text, protocol, parsed.parameters, statement.clone()), text)
        };
        if protocol == Protocol::Prepared {
            write::parse(&mut prepare, &statement, &text);
        }
        let value = parsed.value.map(String::into_bytes).or_else(|| options.expect_body.clone());
        requests.push(Request { query, rows: parsed.rows, value: value.map(|value| &*value.leak()) });
    }
    Ok(run(account, &first, prepare, requests, Plays::Requests(RequestChoice::of(options)?)))
}

/// Builds the statements of scripts, which are the bodies of their steps.
fn script(account: Account, url: &Url, options: &ClientOptions) -> Result<Box<dyn ClientProtocol>, String> {
    let given = Options::parse(&url.path)?;
    if given.query.is_some() || !given.parameters.is_empty() || given.rows.is_some() || given.value.is_some()
    {
        return Err("a script contains all statements: remove query, param, rows and value from the URL, and write random \
                    numbers in the script as {rand:1..100} or \\set x random(1, 100)"
            .into());
    }
    if options.expect_body.is_some() {
        return Err("--expect-body cannot be combined with a script".into());
    }
    if options.sessions.iter().flat_map(|session| &session.steps).any(is_of_http) {
        return Err("a step of a PostgreSQL session has its statement as `body` and the url \"/\": remove take, expect and burst".into());
    }
    let (mut prepare, mut requests) = (Vec::new(), Vec::new());
    let scripts = Scripts::new(options, |spec, names| {
        if spec.body.is_empty() {
            return Err("it has no statement: add one as its body".into());
        }
        let statement = format!("q{}", requests.len());
        let template = Template::parse(&spec.body, Form::Raw, names)?;
        let (query, text) = Query::of_template(template, given.protocol, statement.clone())?;
        if text.contains('\0') {
            return Err("it contains a zero byte, which PostgreSQL does not allow".into());
        }
        if given.protocol == Protocol::Prepared {
            write::parse(&mut prepare, &statement, &text);
        }
        requests.push(Request { query, rows: None, value: None });
        Ok(())
    })?;
    Ok(run(account, &given, prepare, requests, Plays::Scripts(Arc::new(scripts))))
}

/// Whether a step uses options of HTTP.
fn is_of_http(step: &StepSpec) -> bool {
    step.request.path != "/" || !step.take.is_empty() || !step.expect_status.is_empty() || step.burst
}

fn run(
    account: Account,
    options: &Options,
    mut prepare: Vec<u8>,
    requests: Vec<Request>,
    plays: Plays,
) -> Box<dyn ClientProtocol> {
    let database = options.database.clone().unwrap_or_else(|| account.user.clone());
    let mut startup = Vec::new();
    write::startup(&mut startup, &account.user, &database);
    if !prepare.is_empty() {
        write::sync(&mut prepare);
    }
    Box::new(Run(Arc::new(Postgres {
        said: Said::default(),
        account,
        startup: startup.leak(),
        prepare: prepare.leak(),
        is_simple: options.protocol == Protocol::Simple,
        sslmode: options.sslmode,
        requests,
        plays,
    })))
}

/// The user of a URL.
fn account(url: &Url) -> Result<Account, String> {
    let (user, password) =
        match url.user_info.as_deref().map(|info| info.split_once(':').unwrap_or((info, ""))) {
            None => (USER, ""),
            Some(("", password)) => (USER, password),
            Some(account) => account,
        };
    let password = decoded(password)?;
    Ok(Account { user: decoded(user)?, password: Some(password).filter(|password| !password.is_empty()) })
}

/// The query of a request: that of the URL, or the body.
fn text(query: Option<String>, spec: &RequestSpec) -> Result<String, String> {
    match (query, spec.body.is_empty()) {
        (query, true) => Ok(query.unwrap_or_else(|| QUERY.to_owned())),
        (Some(_), false) => {
            Err("there is a query in the URL and another as the body: remove one of them".into())
        }
        (None, false) if spec.body.contains(&0) => {
            Err("the query contains a zero byte, which PostgreSQL does not allow".into())
        }
        (None, false) => {
            String::from_utf8(spec.body.clone()).map_err(|_| "the query is not UTF-8".to_owned())
        }
    }
}

struct Run(Arc<Postgres>);

impl ClientProtocol for Run {
    fn connect(&self) -> Box<dyn ClientConn> {
        Box::new(PostgresConn::new(Arc::clone(&self.0)))
    }

    fn request_bytes_max(&self) -> Option<usize> {
        let greeting = self.0.startup.len().max(self.0.prepare.len());
        let mut requests = self.0.requests.iter().map(|request| request.query.bytes());
        requests.try_fold(greeting, |max, bytes| Some(max.max(bytes?)))
    }

    fn sessions(&self) -> Option<SessionInfo> {
        match &self.0.plays {
            Plays::Requests(_) => None,
            Plays::Scripts(scripts) => Some(SessionInfo {
                steps: scripts.names(),
                burst_max: 1,
                keeps_connection: true,
                ..SessionInfo::default()
            }),
        }
    }

    fn start_tls(&self) -> Option<StartTls> {
        let verify = match self.0.sslmode {
            SslMode::Disable => return None,
            SslMode::Require => false,
            SslMode::VerifyFull => true,
        };
        Some(StartTls { request: SSL_REQUEST, yes: b'S', no: b'N', verify })
    }

    fn server_said(&self) -> Option<String> {
        self.0.said.words()
    }
}
