//! Options of commands that use a message bus, and those of `pitot bus-key` and `bus-connect`.

use std::path::PathBuf;

use clap::Args;

/// Where a bus is, and who asks.
#[derive(Debug, Args)]
pub(crate) struct BusOptions {
    /// The bus: nats://HOST:PORT, or tls://HOST:PORT. It is a nats-server of version 2.11 or newer with JetStream
    /// (docs/bus.md).
    #[arg(long, value_name = "URL")]
    pub(crate) bus: Option<String>,
    /// A file of mode 600 with the credentials for the bus: token, user and password, nkey or TLS certificate. Required
    /// unless its address is loopback.
    #[arg(long, value_name = "FILE", requires = "bus")]
    pub(crate) bus_creds: Option<PathBuf>,
}

impl BusOptions {
    /// The options as they were given.
    pub(crate) fn words(&self) -> String {
        let bus = self.bus.as_ref().map(|bus| format!(" --bus {bus}"));
        let file = self.bus_creds.as_ref().map(|path| format!(" --bus-creds {}", path.display()));
        [bus, file].into_iter().flatten().collect()
    }
}

/// Make a key that signs jobs for agents on a bus, and print its public half.
///
/// `pitot run --bus URL --sign FILE` signs with it; `pitot agent --bus URL --trust KEY` takes jobs that it has signed.
/// Whoever has the file can run programs on all hosts whose agents trust it (docs/bus.md).
#[derive(Debug, Args)]
pub(crate) struct BusKey {
    /// The file to create, of mode 600.
    pub(crate) file: PathBuf,
}

/// Speak with an agent on a bus over standard input and output, as `pitot agent` itself would.
///
/// A plan's host names it where others name ssh: agent = ["pitot", "bus-connect", "a", "--bus", "nats://10.0.0.1:4222",
/// "--bus-creds", "lab.toml", "--sign", "sign.nk"]. The agent is one that `pitot agent --bus URL --trust KEY --name a` has
/// started, and takes no jobs meanwhile (docs/bus.md).
#[derive(Debug, Args)]
pub(crate) struct BusConnect {
    /// The agent's name.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) options: BusOptions,
    /// The key that the agent trusts: what is sent is signed by it.
    #[arg(long, value_name = "FILE")]
    pub(crate) sign: PathBuf,
}
