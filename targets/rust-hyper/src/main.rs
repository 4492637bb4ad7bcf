//! A server on hyper and tokio that serves the pages of all targets.

use std::convert::Infallible;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

fn main() {
    let [address, root, threads, keep_alive] = &std::env::args().skip(1).collect::<Vec<_>>()[..] else {
        panic!("ADDRESS ROOT THREADS on|off");
    };
    let root: Arc<str> = Arc::from(root.as_str());
    let keep_alive = keep_alive == "on";
    let log = Log::from_env().map(Arc::new);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(threads.parse().unwrap()).enable_io().build().unwrap();
    runtime.block_on(async move {
        let listener = TcpListener::bind(address).await.unwrap();
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let _ = stream.set_nodelay(true);
            let (root, log) = (Arc::clone(&root), log.clone());
            tokio::spawn(async move {
                let service = service_fn(move |request| answer(request, Arc::clone(&root), log.clone()));
                let mut connection = http1::Builder::new();
                let _ = connection.keep_alive(keep_alive).serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
}

async fn answer(
    request: Request<Incoming>,
    root: Arc<str>,
    log: Option<Arc<Log>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let method = log.is_some().then(|| request.method().clone());
    let (mut status, mut kind) = (StatusCode::OK, "text/html");
    let path = request.uri().path().to_owned();
    let body = match path.as_str() {
        "/dynamic" => Bytes::from(page()),
        "/echo" => {
            kind = "application/octet-stream";
            request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default()
        }
        path if path.contains("..") => {
            status = StatusCode::NOT_FOUND;
            Bytes::new()
        }
        path => match tokio::fs::read(Path::new(&*root).join(path.trim_start_matches('/'))).await {
            Ok(body) => Bytes::from(body),
            Err(_) => {
                status = StatusCode::NOT_FOUND;
                Bytes::new()
            }
        },
    };
    if let (Some(log), Some(method)) = (log, method) {
        log.write(method.as_str(), &path, status.as_str());
    }
    Ok(Response::builder().status(status).header(CONTENT_TYPE, kind).body(Full::new(body)).unwrap())
}

/// The access log, where there is to be one: a line for each request.
struct Log(std::fs::File);

impl Log {
    fn from_env() -> Option<Log> {
        let path = std::env::var("TARGET_ACCESS_LOG").ok().filter(|path| !path.is_empty())?;
        Some(Log(std::fs::File::options().create(true).append(true).open(path).unwrap()))
    }

    fn write(&self, method: &str, path: &str, status: &str) {
        let _ = (&self.0).write_all(format!("{} {method} {path} {status}\n", time()).as_bytes());
    }
}

fn page() -> String {
    format!("<!DOCTYPE html>\n<title>A page made for this request</title>\n<p>{}</p>\n", time())
}

/// The time in UTC, in the form of RFC 3339 (days to a date: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn time() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, of_day) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}+00:00")
}
