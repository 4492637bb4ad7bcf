//! Options of commands that use a message bus, and those of `pitot bus-key` and `bus-connect`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Default, Args)]
pub(crate) struct BusOptions {
    /// The bus: nats://HOST:PORT or tls://HOST:PORT, a nats-server 2.11 or newer with JetStream (docs/bus.md).
    #[arg(long, value_name = "URL")]
    pub(crate) bus: Option<String>,
    /// File of mode 600 with the credentials for the bus: token, user and password, nkey or TLS certificate. Required unless the
    /// address is loopback.
    #[arg(long, value_name = "FILE", requires = "bus")]
    pub(crate) bus_creds: Option<PathBuf>,
}

impl BusOptions {
    pub(crate) fn words(&self) -> String {
        let bus = self.bus.as_ref().map(|bus| format!(" --bus {bus}"));
        let file = self.bus_creds.as_ref().map(|path| format!(" --bus-creds {}", path.display()));
        [bus, file].into_iter().flatten().collect()
    }
}

/// Create a key that signs jobs for agents on a bus, and print its public half.
///
/// `pitot run --bus URL --sign FILE` signs with it; `pitot agent --bus URL --trust KEY` accepts jobs signed by it. Anyone who has
/// the file can run programs on all hosts whose agents trust the key (docs/bus.md).
#[derive(Debug, Args)]
pub(crate) struct BusKey {
    /// The file to create, of mode 600.
    pub(crate) file: PathBuf,
}

/// Connect standard input and output to an agent on a bus, as if `pitot agent` ran here.
///
/// Use it in a plan's [hosts] instead of ssh: agent = ["pitot", "bus-connect", "a", "--bus", "nats://10.0.0.1:4222",
/// "--bus-creds", "lab.toml", "--sign", "sign.nk"]. Start the agent with `pitot agent --bus URL --trust KEY --name a`; it takes no
/// jobs while you are connected (docs/bus.md).
#[derive(Debug, Args)]
pub(crate) struct BusConnect {
    /// The agent's name.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) options: BusOptions,
    /// File of the key that signs what is sent; the agent must trust it.
    #[arg(long, value_name = "FILE")]
    pub(crate) sign: PathBuf,
}
