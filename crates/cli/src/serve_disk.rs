//! The options of `pitot serve` that choose a disk engine for file bodies.

use clap::Args;
use clap::builder::ValueParser;
use pitot_disk::{ENGINES, EngineOptions, NotifyBy};
use pitot_meter::units;
use pitot_results::Failure;
use pitot_serve::{DiskPlan, Model};

use crate::choice::{one_of, word};
use crate::failure::hint;
use crate::renamed::refusal;

/// Upper limit of `--disk-block`; the lower one is a page.
const BLOCK_BYTES_MAX: u64 = 16 << 20;

/// Disk engines.
#[derive(Clone, Debug, Args)]
pub(crate) struct DiskArgs {
    /// The engine that reads file bodies: pread, pool, nowait, uring ... (`pitot list engines`). [default: none; the
    /// worker sends files with sendfile(2), or reads them with io_uring under --mechanism uring]
    #[arg(long, value_name = "ENGINE")]
    disk: Option<String>,
    /// Limit on requests in flight per worker's engine; its buffers hold twice as many blocks.
    #[arg(long, value_name = "N", default_value_t = 64, requires = "disk", value_parser = clap::value_parser!(u32).range(1..))]
    disk_depth: u32,
    /// Limit on helper threads per engine; pools start them on demand.
    #[arg(long, value_name = "N", default_value_t = 32, requires = "disk", value_parser = clap::value_parser!(u32).range(1..))]
    disk_threads: u32,
    /// Size of one read.
    #[arg(long, value_name = "SIZE", default_value = "128KiB", requires = "disk", value_parser = block)]
    disk_block: u64,
    /// How helper threads notify the loop of completions. [default: eventfd, or pipe under sigio]
    #[arg(long, value_name = "HOW", requires = "disk", value_parser = notifications())]
    disk_notify: Option<NotifyBy>,
    #[arg(long = "disk-told", hide = true, value_parser = refuse_disk_told)]
    _disk_told: Option<String>,
    /// Read around the page cache (O_DIRECT).
    #[arg(long, requires = "disk")]
    disk_direct: bool,
    /// Check with mincore(2) whether a mapped page is resident before access.
    #[arg(long, requires = "disk")]
    disk_mincore: bool,
    /// Open each file once per slot of the queue, for glibc's POSIX AIO, which serves one request per descriptor.
    #[arg(long, requires = "disk")]
    disk_descriptor_per_slot: bool,
    /// TCP connections between each relay process and the data process (--model relay). [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    links: Option<u8>,
}

/// How helper threads notify of completions.
pub(crate) fn notifications() -> ValueParser {
    one_of([
        (word(NotifyBy::EventFd.name(), "Through an eventfd"), NotifyBy::EventFd),
        (word(NotifyBy::Pipe.name(), "Through a pipe"), NotifyBy::Pipe),
    ])
}

/// The value parser of `--disk-told`.
fn refuse_disk_told(_: &str) -> Result<String, String> {
    Err(refusal("disk-told"))
}

fn block(text: &str) -> Result<u64, String> {
    match units::size(text) {
        Ok(size @ 4096..=BLOCK_BYTES_MAX) => Ok(size),
        Ok(_) => Err("the block size must be 4KiB to 16MiB".into()),
        Err(e) => Err(e.to_string()),
    }
}

impl DiskArgs {
    /// The number of connections between a relay process and the data process.
    pub(crate) fn links(&self, model: &Model) -> Result<usize, Failure> {
        match self.links {
            Some(_) if !model.splits_files => Err(Failure::misuse(
                format!("model {} has no data process to connect to", model.name),
                "omit --links, or use --model relay",
            )),
            links => Ok(links.map_or(1, usize::from)),
        }
    }

    /// The plan for the disk, if an engine was asked for.
    pub(crate) fn plan(&self) -> Result<Option<DiskPlan>, Failure> {
        let Some(name) = &self.disk else { return Ok(None) };
        let engine = pitot_disk::find(name).ok_or_else(|| {
            let near = hint(name, ENGINES.iter().map(|e| e.name));
            Failure::misuse(format!("unknown engine `{name}`{near}"), "`pitot list engines` shows all")
        })?;
        Ok(Some(DiskPlan {
            engine,
            options: EngineOptions {
                depth: self.disk_depth,
                threads: self.disk_threads,
                notify: self.disk_notify.unwrap_or_default(),
                direct: self.disk_direct,
                mincore: self.disk_mincore,
                descriptor_per_slot: self.disk_descriptor_per_slot,
                ..EngineOptions::default()
            },
            notify_is_set: self.disk_notify.is_some(),
            block_bytes: self.disk_block as usize,
        }))
    }
}
