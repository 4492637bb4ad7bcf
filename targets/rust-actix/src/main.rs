//! A server on Actix Web that serves the pages of all targets.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use actix_files::Files;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::KeepAlive;
use actix_web::http::header::ContentType;
use actix_web::middleware::{Condition, Next, from_fn};
use actix_web::{App, Error, HttpResponse, HttpServer, web};

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let [address, root, workers, keep_alive] = &std::env::args().skip(1).collect::<Vec<_>>()[..] else {
        panic!("ADDRESS ROOT WORKERS on|off");
    };
    let root = root.clone();
    let keep_alive =
        if keep_alive == "on" { KeepAlive::Timeout(Duration::from_secs(75)) } else { KeepAlive::Disabled };
    let log = Log::from_env().map(Arc::new);
    HttpServer::new(move || {
        let (is_on, log) = (log.is_some(), log.clone());
        let logged = from_fn(move |request, next: Next<_>| {
            let log = log.clone();
            async move { written(request, next, log).await }
        });
        App::new()
            .wrap(Condition::new(is_on, logged))
            .app_data(web::PayloadConfig::new(16 << 20))
            .route("/dynamic", web::get().to(dynamic))
            .route("/echo", web::post().to(echo))
            .service(Files::new("/", &root))
    })
    .workers(workers.parse().unwrap())
    .backlog(4096)
    .keep_alive(keep_alive)
    .bind(address)?
    .run()
    .await
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

/// A reply, after whose head its line is written.
async fn written(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
    log: Option<Arc<Log>>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let (method, path) = (request.method().clone(), request.path().to_owned());
    let response = next.call(request).await?;
    if let Some(log) = log {
        log.write(method.as_str(), &path, response.status().as_str());
    }
    Ok(response)
}

async fn dynamic() -> HttpResponse {
    let page =
        format!("<!DOCTYPE html>\n<title>A page made for this request</title>\n<p>{}</p>\n", time());
    HttpResponse::Ok().content_type(ContentType::html()).body(page)
}

async fn echo(body: web::Bytes) -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::octet_stream()).body(body)
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
