//! A long mixed run against a memcache server on a socket, every answer of which is compared with a model.
//!
//! ```text
//! pitot serve memcache --listen 127.0.0.1:11311 --memcache-memory 256MiB &
//! cargo run --release -p pitot-proto --example memcache_soak -- 100M 127.0.0.1:11311 --pid $!
//! ```
//!
//! Short and long values, expiry, eviction, cas, counters, classic and meta commands, on several connections at a time.
//! It fails at the first wrong answer; if more keys were lost than the server has evicted; and, given the server's
//! `--pid`, if its resident memory has grown by more than a twentieth between the first fifth and the end.
//! The server must be on the same machine, and nobody else must use it: its clock is compared, and its cache is filled.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, process, thread};

use pitot_proto_harness::memcache::{Soak, SoakCounts, SoakOptions};

/// Requests under way on a connection.
const BATCH: usize = 64;
const USAGE: &str =
    "memcache_soak OPERATIONS HOST:PORT [--pid PID] [--connections 8] [--keys 40000] [--value-max 1000]";

struct Arguments {
    operations: u64,
    target: String,
    pid: Option<u32>,
    connections: u32,
    keys: u32,
    value_bytes_max: u32,
}

impl Arguments {
    fn parse() -> Result<Arguments, Box<dyn Error>> {
        let mut words = std::env::args().skip(1);
        let operations = words.next().ok_or(USAGE)?;
        let factor = match operations.trim_start_matches(|c: char| c.is_ascii_digit()) {
            "" => 1,
            "k" => 1000,
            "M" => 1_000_000,
            _ => return Err(USAGE.into()),
        };
        let digits = operations.trim_end_matches(['k', 'M']);
        let mut arguments = Arguments {
            operations: digits.parse::<u64>()? * factor,
            target: words.next().ok_or(USAGE)?,
            pid: None,
            connections: 8,
            keys: 40_000,
            value_bytes_max: 1000,
        };
        while let Some(name) = words.next() {
            let value: u32 = words.next().ok_or(USAGE)?.parse()?;
            match name.as_str() {
                "--pid" => arguments.pid = Some(value),
                "--connections" => arguments.connections = value.max(1),
                "--keys" => arguments.keys = value.max(8),
                "--value-max" => arguments.value_bytes_max = value.max(64),
                _ => return Err(USAGE.into()),
            }
        }
        Ok(arguments)
    }
}

fn now_s() -> u32 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("the clock is set");
    u32::try_from(since.as_secs()).expect("it is not yet 2106")
}

fn resident_kib(pid: u32) -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("the process has no memory")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// One connection: batches of requests and their answers, until enough are done in all.
fn work(
    arguments: &Arguments,
    driver: u32,
    done: &AtomicU64,
    failed: &AtomicBool,
) -> Result<SoakCounts, String> {
    let text = |e: std::io::Error| e.to_string();
    let mut socket = TcpStream::connect(&arguments.target).map_err(text)?;
    socket.set_nodelay(true).map_err(text)?;
    socket.set_read_timeout(Some(Duration::from_secs(30))).map_err(text)?;
    let (keys, value_bytes_max) = (arguments.keys, arguments.value_bytes_max);
    // Other keys than those of an earlier run, which may still be there.
    let driver = (process::id() << 8) | driver;
    // The server reads its clock once in a while; a second is more than it may be behind.
    let mut soak = Soak::new(SoakOptions { driver, keys, value_bytes_max, lag_s: 1 });
    let (mut out, mut input, mut buffer) = (Vec::new(), Vec::new(), vec![0; 256 * 1024]);
    while done.load(Relaxed) < arguments.operations && !failed.load(Relaxed) {
        out.clear();
        soak.write(BATCH, now_s(), &mut out);
        let (mut reader, mut writer) = (&socket, &socket);
        thread::scope(|scope| -> Result<(), String> {
            // Both at a time: a batch of large values fills the buffers of both ends.
            let sent = scope.spawn(|| writer.write_all(&out));
            while soak.outstanding() > 0 {
                let n = reader.read(&mut buffer).map_err(text)?;
                if n == 0 {
                    return Err("the server has closed the connection".into());
                }
                input.extend_from_slice(&buffer[..n]);
                let used = soak.read(now_s(), &input)?;
                input.drain(..used);
            }
            sent.join().map_err(|_| "the sender has failed")?.map_err(text)
        })?;
        done.fetch_add(BATCH as u64, Relaxed);
    }
    let _ = socket.flush();
    Ok(soak.counts())
}

/// The evictions that the server tells of.
fn evictions(target: &str) -> Result<u64, Box<dyn Error>> {
    let mut socket = TcpStream::connect(target)?;
    socket.write_all(b"stats\r\nquit\r\n")?;
    let mut stats = String::new();
    socket.read_to_string(&mut stats)?;
    let line = stats
        .lines()
        .find_map(|line| line.strip_prefix("STAT evictions "))
        .ok_or("it tells of no evictions")?;
    Ok(line.parse()?)
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse()?;
    let (done, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let evicted_before = evictions(&arguments.target)?;
    let start = Instant::now();
    let mut after_fill = None;
    let total = thread::scope(|scope| -> Result<SoakCounts, Box<dyn Error>> {
        let workers: Vec<_> = (0..arguments.connections)
            .map(|driver| {
                scope.spawn({
                    let (arguments, done, failed) = (&arguments, &done, &failed);
                    move || {
                        let result = work(arguments, driver, done, failed);
                        failed.fetch_or(result.is_err(), Relaxed);
                        result
                    }
                })
            })
            .collect();
        let mut told = Instant::now();
        while workers.iter().any(|worker| !worker.is_finished()) {
            thread::sleep(Duration::from_millis(50));
            let operations = done.load(Relaxed);
            if after_fill.is_none() && operations >= arguments.operations / 5 {
                after_fill = arguments.pid.map(resident_kib).transpose()?;
            }
            if told.elapsed() >= Duration::from_secs(10) {
                told = Instant::now();
                let resident = arguments.pid.map(resident_kib).transpose()?;
                let resident =
                    resident.map_or_else(String::new, |kib| format!(", {} MiB resident", kib / 1024));
                println!("{:5.0} s  {operations} operations{resident}", start.elapsed().as_secs_f64());
            }
        }
        let mut total = SoakCounts::default();
        for worker in workers {
            let counts = worker.join().map_err(|_| "a worker has failed")??;
            total.operations += counts.operations;
            total.hits += counts.hits;
            total.misses += counts.misses;
            total.lost += counts.lost;
        }
        Ok(total)
    })?;
    let evicted = evictions(&arguments.target)? - evicted_before;
    println!(
        "{} operations in {:.0} s: {} found, {} rightly missed, {} lost to {evicted} evictions; not one wrong",
        total.operations,
        start.elapsed().as_secs_f64(),
        total.hits,
        total.misses,
        total.lost
    );
    if total.lost > evicted {
        return Err("more keys were lost than were evicted".into());
    }
    if let (Some(pid), Some(before)) = (arguments.pid, after_fill) {
        let after = resident_kib(pid)?;
        println!("resident memory: {} MiB after a fifth, {} MiB at the end", before / 1024, after / 1024);
        if after > before + before / 20 {
            return Err("the server's memory has grown".into());
        }
    }
    Ok(())
}

fn main() {
    if let Err(error) = run() {
        eprintln!("memcache_soak: {error}");
        process::exit(1);
    }
}
