//! The options of `pitot serve` that choose an engine for the bodies of files.

use clap::{Args, ValueEnum};
use pitot_disk::{ENGINES, EngineOptions, NotifyBy};
use pitot_meter::units;
use pitot_results::Failure;
use pitot_serve::{DiskPlan, Model};

use crate::failure::nearest;
use crate::renamed::refusal;

/// A block is at least a page and at most this.
const BLOCK_BYTES_MAX: u64 = 16 << 20;

/// Disk engines.
#[derive(Clone, Debug, Args)]
pub(crate) struct DiskArgs {
    /// The engine that reads the bodies of files: pread, pool, nowait, uring ... (`pitot list engines`). [default: none:
    /// the worker sends them from the page cache with sendfile(2), or its ring reads them]
    #[arg(long, value_name = "ENGINE")]
    disk: Option<String>,
    /// Requests that each worker's engine has in flight; it holds twice as many blocks in memory.
    #[arg(long, value_name = "N", default_value_t = 64, requires = "disk", value_parser = clap::value_parser!(u32).range(1..))]
    disk_depth: u32,
    /// Helper threads of each worker's engine at most; pools start them on demand.
    #[arg(long, value_name = "N", default_value_t = 32, requires = "disk", value_parser = clap::value_parser!(u32).range(1..))]
    disk_threads: u32,
    /// Bytes that are read at once.
    #[arg(long, value_name = "SIZE", default_value = "128KiB", requires = "disk", value_parser = block)]
    disk_block: u64,
    /// How helper threads notify the loop of completions. [default: eventfd, or pipe under sigio]
    #[arg(long, value_name = "HOW", requires = "disk")]
    disk_notify: Option<NotifyArg>,
    #[arg(long = "disk-told", hide = true, value_parser = refuse_disk_told)]
    _disk_told: Option<String>,
    /// Read around the page cache (O_DIRECT).
    #[arg(long, requires = "disk")]
    disk_direct: bool,
    /// Ask mincore(2) before a mapping is touched.
    #[arg(long, requires = "disk")]
    disk_mincore: bool,
    /// Open each file once per slot of the queue, for glibc's POSIX AIO, which serves one request per descriptor.
    #[arg(long, requires = "disk")]
    disk_descriptor_per_slot: bool,
    /// TCP connections between each relay process and the data process. [default: 1; for --model relay]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    links: Option<u8>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum NotifyArg {
    /// Through an eventfd.
    Eventfd,
    /// Through a pipe.
    Pipe,
}

/// The value parser of `--disk-told`.
fn refuse_disk_told(_: &str) -> Result<String, String> {
    Err(refusal("disk-told"))
}

fn block(text: &str) -> Result<u64, String> {
    match units::size(text) {
        Ok(size @ 4096..=BLOCK_BYTES_MAX) => Ok(size),
        Ok(_) => Err("a block has 4KiB to 16MiB".into()),
        Err(e) => Err(e.to_string()),
    }
}

impl DiskArgs {
    /// The connections between the processes of a relay.
    pub(crate) fn links(&self, model: &Model) -> Result<usize, Failure> {
        match self.links {
            Some(_) if model.name != "relay" => Err(Failure::misuse(
                format!("model {} has no data process to connect to", model.name),
                "leave out --links, or use --model relay",
            )),
            links => Ok(links.map_or(1, usize::from)),
        }
    }

    /// The plan for the disk, if an engine was asked for.
    pub(crate) fn plan(&self) -> Result<Option<DiskPlan>, Failure> {
        let Some(name) = &self.disk else { return Ok(None) };
        let engine = pitot_disk::find(name).ok_or_else(|| {
            let hint = nearest(name, ENGINES.iter().map(|e| e.name));
            Failure::misuse(format!("there is no engine `{name}`{hint}"), "`pitot list engines` shows all")
        })?;
        let notify = match self.disk_notify {
            None | Some(NotifyArg::Eventfd) => NotifyBy::EventFd,
            Some(NotifyArg::Pipe) => NotifyBy::Pipe,
        };
        Ok(Some(DiskPlan {
            engine,
            options: EngineOptions {
                depth: self.disk_depth,
                threads: self.disk_threads,
                notify,
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
