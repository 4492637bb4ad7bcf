//! `--metrics`: what Prometheus reads of a load, a soak and a run, and that it is what these find.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use pitot_record::{METRICS, Soak};
use serde_json::Value;

use crate::support::{Bed, PITOT, Running, TIMEOUT, stderr, until_some};

/// Samples by their series.
type Page = BTreeMap<String, f64>;

/// A command that is scraped.
struct Scraped {
    running: Running,
    /// Where its figures are.
    address: String,
}

impl Scraped {
    /// Starts it, and reads from its standard error where its figures are. What follows there goes on being read.
    fn start(command: &mut Command) -> Scraped {
        let mut running = Running::start(command.stdin(Stdio::null()).stderr(Stdio::piped()));
        let mut lines = BufReader::new(running.stderr.take().unwrap()).lines();
        let address = loop {
            let line = lines.next().expect("a line says where its figures are").unwrap();
            if let Some(url) = line.strip_prefix("metrics: http://") {
                break url.strip_suffix("/metrics").unwrap().to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        Scraped { running, address }
    }

    /// The page, as long as it can be had.
    fn scrape(&self) -> Option<Page> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").ok()?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply).ok()?;
        // It ended meanwhile.
        let (head, text) = reply.split_once("\r\n\r\n")?;
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        let kind = "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8";
        assert!(head.lines().any(|line| line == kind), "{head}");
        Some(parsed(text))
    }

    /// The page once it has what is looked for.
    fn scraped(&mut self, what: &str, holds: impl Fn(&Page) -> bool) -> Page {
        until_some(what, || {
            let ended = self.running.try_wait().unwrap();
            assert!(ended.is_none(), "it has ended: {ended:?}");
            self.scrape().filter(|page| holds(page))
        })
    }
}

/// The samples of a page in the format of OpenMetrics, which is checked.
fn parsed(text: &str) -> Page {
    let text = text.strip_suffix("# EOF\n").expect("the page is whole");
    let mut types: BTreeMap<&str, &str> = BTreeMap::new();
    let mut page = Page::new();
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let (kind, rest) = comment.split_once(' ').unwrap();
            let (name, value) = rest.split_once(' ').unwrap();
            match kind {
                "TYPE" => assert!(types.insert(name, value).is_none(), "{name} comes twice"),
                "UNIT" => assert!(name.ends_with(&format!("_{value}")), "{line}"),
                _ => assert_eq!(kind, "HELP", "{line}"),
            }
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let name = series.split('{').next().unwrap();
        let is_of = |family: &str, kind: &str| {
            let endings: &[&str] = match kind {
                "counter" => &["_total"],
                "histogram" => &["_bucket", "_count", "_sum"],
                "info" => &["_info"],
                _ => &[""],
            };
            endings.iter().any(|ending| name.strip_suffix(ending) == Some(family))
        };
        assert!(types.iter().any(|(family, kind)| is_of(family, kind)), "{line} is of no metric");
        assert!(page.insert(series.to_owned(), value.parse().unwrap()).is_none(), "{series} comes twice");
    }
    page
}

/// The sum of all series of a name.
fn sum(page: &Page, name: &str) -> f64 {
    page.iter().filter(|(series, _)| series.split('{').next() == Some(name)).map(|(_, value)| value).sum()
}

/// Nothing that is counted goes back from one page to the next.
#[track_caller]
fn assert_grows(before: &Page, after: &Page) {
    for (series, value) in before {
        let name = series.split('{').next().unwrap();
        if ["_total", "_bucket", "_count", "_sum"].iter().any(|ending| name.ends_with(ending)) {
            assert!(
                after.get(series).is_some_and(|after| after >= value),
                "{series}: {value} and then {after:?}"
            );
        }
    }
}

fn server() -> (Running, String) {
    let mut command = Command::new(PITOT);
    command.args(["serve", "http", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Running::start(&mut command);
    let address = server.ready();
    (server, format!("http://{address}/"))
}

#[test]
fn a_load_tells_its_counts_while_it_runs_and_they_are_those_of_its_result() {
    let (_server, url) = server();
    let mut command = Command::new(PITOT);
    command.args([
        "load",
        &url,
        "-c",
        "4",
        "-R",
        "500",
        "-d",
        "4s",
        "--metrics",
        "127.0.0.1:0",
        "--json",
        "-",
    ]);
    let mut load = Scraped::start(command.stdout(Stdio::piped()));
    let first = load.scraped("a second is over", |page| sum(page, "pitot_elapsed_seconds") > 0.0);
    let mut pages = vec![first];
    // Until it ends, which ends the thread that answers.
    while let Some(page) = load.scrape() {
        if page.get("pitot_elapsed_seconds") != pages.last().unwrap().get("pitot_elapsed_seconds") {
            assert_grows(pages.last().unwrap(), &page);
            pages.push(page);
        }
    }
    let result: Value = serde_json::from_str(&load.running.printed()).unwrap();
    assert!(load.running.ended().success());
    assert!(pages.len() > 1, "it was scraped in {} seconds", pages.len());
    let series = result["series"].as_array().unwrap();
    for page in &pages {
        // The counts are those of the seconds that were over, to the last one.
        let over = &series[..page["pitot_elapsed_seconds"] as usize];
        let counted = |key: &str| over.iter().map(|second| second[key].as_f64().unwrap()).sum::<f64>();
        for (name, key) in [
            ("pitot_requests_total", "completed"),
            ("pitot_failures_total", "errors"),
            ("pitot_received_bytes_total", "received"),
            ("pitot_sent_bytes_total", "sent"),
            ("pitot_response_seconds_count", "completed"),
        ] {
            assert_eq!(sum(page, name), counted(key), "{name}: {page:#?}");
        }
        assert_eq!(page["pitot_requests_total{status=\"2xx\"}"], counted("status_2xx"));
        let last = over.last().unwrap();
        assert_eq!(page["pitot_connections_open"], last["open"].as_f64().unwrap());
        let p99 = page["pitot_response_last_seconds{percentile=\"99\"}"];
        assert!((p99 * 1e9 - last["p99_ns"].as_f64().unwrap()).abs() < 1.0, "{p99}");
    }
    let version = env!("CARGO_PKG_VERSION");
    let info = format!("pitot_run_info{{version=\"{version}\",command=\"load\",plan=\"{url}\"}}");
    assert_eq!(pages[0].get(&info), Some(&1.0), "{:#?}", pages[0]);
}

#[test]
fn a_soak_tells_of_its_servers_loads_and_faults() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(PITOT);
    command.args([
        "soak",
        "--server",
        "loop+epoll-et",
        "--url",
        "http://{address}/",
        "-R",
        "200",
        "--for",
        "1h",
    ]);
    command.args([
        "--interval",
        "1s",
        "--fault",
        "stop --for 300ms --at 2s",
        "--metrics",
        "127.0.0.1:0",
        "-o",
        "a.pitot",
    ]);
    command.current_dir(dir.path()).env("TMPDIR", dir.path()).stdout(Stdio::null());
    command.env("PITOT_HOST_JOURNAL", dir.path().join("journal"));
    let mut soak = Scraped::start(&mut command);
    let server = "server=\"loop+epoll-et\"";
    let first = soak.scraped("the server answers", |page| sum(page, "pitot_requests_total") > 0.0);
    let last = soak.scraped("an interval and a fault are over", |page| {
        let is_over = page.get(&format!("pitot_faults_active{{{server},fault=\"stop\"}}")) == Some(&0.0);
        is_over
            && sum(page, "pitot_server_cpu_seconds_total") > 0.0
            && sum(page, "pitot_server_memory_rss_bytes") > 0.0
    });
    assert_grows(&first, &last);
    for (name, expected) in [
        (format!("pitot_server_up{{{server}}}"), 1.0),
        (format!("pitot_faults_total{{{server}}}"), 1.0),
        (format!("pitot_hangs_total{{{server}}}"), 0.0),
        (format!("pitot_drifts{{{server},kind=\"leak\"}}"), 0.0),
    ] {
        assert_eq!(last.get(&name), Some(&expected), "{name}: {last:#?}");
    }
    assert!(sum(&last, "pitot_server_descriptors") > 0.0 && sum(&last, "pitot_machine_cpu_busy_ratio") > 0.0);
    soak.running.signal(rustix::process::Signal::INT);
    soak.running.ended();
    let recorded = Soak::open(&dir.path().join("a.pitot")).unwrap();
    let totals = &recorded.loads[0].totals;
    for (name, total) in [
        ("pitot_requests_total", totals.completed),
        ("pitot_failures_total", totals.errors),
        ("pitot_received_bytes_total", totals.received),
        ("pitot_sent_bytes_total", totals.sent),
    ] {
        assert!(sum(&last, name) <= total as f64, "{name}: {} and then {total}", sum(&last, name));
    }
    // What the display is told once a second is of the same counters.
    assert_eq!(sum(&last, "pitot_requests_total"), sum(&last, "pitot_response_seconds_count"));
}

#[test]
fn a_run_tells_of_its_cells_and_their_figures() {
    let bed = Bed::new(
        "measure = \"fresh\"\nrepetitions = 2\nwarmup = \"0s\"\nduration = \"1s\"\n\
         [factors]\nserver = [\"thread\", \"loop+epoll-et\"]\n[server]\nprotocol = \"http\"\n[load]\nconnections = 4\n",
    );
    let file = bed.file();
    let mut command = bed.command(&["plan.toml", "--metrics", "127.0.0.1:0", "-o", "run.pitot"]);
    let mut run = Scraped::start(command.stdout(Stdio::null()));
    let mut last = run.scraped("a step is over", |page| sum(page, "pitot_steps_done") > 0.0);
    while let Some(page) = run.scrape() {
        assert_grows(&last, &page);
        last = page;
    }
    assert!(run.running.ended().success());
    let recorded = pitot_record::Run::open(&file).unwrap();
    assert_eq!((last["pitot_cells"], last["pitot_steps_planned"]), (2.0, 4.0), "{last:#?}");
    let throughput = METRICS.iter().find(|metric| metric.name == "throughput").unwrap();
    let mut measured = 0;
    for (number, cell) in recorded.cells.iter().enumerate() {
        let labels = format!("cell=\"{number}\",server=\"{}\"", cell.label());
        let of_cell = format!("pitot_cell_repetitions_total{{{labels}");
        let count: f64 =
            last.iter().filter(|(series, _)| series.starts_with(&of_cell)).map(|(_, count)| count).sum();
        measured += count as usize;
        // The last step may have ended after the last scrape.
        let figures = cell.figures(throughput).into_iter().take(count as usize).map(|(_, value)| value);
        let Some(expected) = recorded.plan.statistic.of(&figures.collect::<Vec<_>>()) else { continue };
        let told = last[&format!("pitot_cell_throughput_per_second{{{labels}}}")];
        assert!((told / expected - 1.0).abs() < 1e-12, "{told} instead of {expected}");
    }
    assert!(measured > 0 && measured as f64 == last["pitot_steps_done"], "{last:#?}");
}

#[test]
fn an_address_that_cannot_be_is_a_misuse() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let url = "http://127.0.0.1:9/";
    let dir = tempfile::tempdir().unwrap();
    // 192.0.2.0/24 is nobody's (RFC 5737).
    for address in ["9464", "localhost:9464", "nowhere", "127.0.0.1:99999", "192.0.2.1:0", &taken] {
        for command in [&["load", url, "-n", "1"][..], &["soak", url, "--for", "2s"], &["run", "quick"]] {
            let output = Command::new(PITOT)
                .args(command)
                .args(["--metrics", address])
                .current_dir(dir.path())
                .env("TMPDIR", dir.path())
                .output()
                .unwrap();
            let error = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{command:?} {address}: {error}");
            assert!(
                !error.contains("panicked") && error.lines().count() >= 2,
                "{command:?} {address}: {error}"
            );
        }
    }
    assert!(is_empty(dir.path()), "nothing is left behind");
    let output =
        Command::new(PITOT).args(["load", url, "--dry-run", "--metrics", "127.0.0.1:0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

fn is_empty(dir: &Path) -> bool {
    let names =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    !names.into_iter().any(|name| name.ends_with(".pitot"))
}
