//! Options of commands that use a message bus, and `pitot bus-key`.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pitot_bus::{Address, Connection, Credentials, SigningKey, is_name, reach};
use pitot_results::{Failure, printable, stderr};

use crate::output::print_line;

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
    bus_creds: Option<PathBuf>,
}

impl BusOptions {
    /// Connects, if a bus is given.
    pub(crate) fn connect(&self) -> Result<Option<Connection>, Failure> {
        let Some(bus) = &self.bus else { return Ok(None) };
        let credentials = self.credentials()?;
        Connection::open(&Address::parse(bus)?, credentials.as_ref(), tell).map(Some)
    }

    /// The options as they were given.
    pub(crate) fn words(&self) -> String {
        let bus = self.bus.as_ref().map(|bus| format!(" --bus {bus}"));
        let file = self.bus_creds.as_ref().map(|path| format!(" --bus-creds {}", path.display()));
        [bus, file].into_iter().flatten().collect()
    }

    fn credentials(&self) -> Result<Option<Credentials>, Failure> {
        self.bus_creds.as_deref().map(Credentials::read).transpose()
    }

    /// Refuses a signing key that also logs in: a server could have it sign a job.
    pub(crate) fn check_apart(&self, key: &SigningKey) -> Result<(), Failure> {
        match self.credentials()?.and_then(|c| c.nkey) {
            Some(seed) if key.is_of(&seed) => Err(Failure::misuse(
                "the key that signs jobs is the nkey of --bus-creds, which signs whatever the server chooses",
                "make one of its own: pitot bus-key FILE",
            )),
            _ => Ok(()),
        }
    }
}

/// Says what happens on the bus.
pub(crate) fn tell(sentence: &str) {
    stderr::line(printable(sentence));
}

/// Make a key that signs jobs for agents on a bus, and print its public half.
///
/// `pitot run --bus URL --sign FILE` signs with it; `pitot agent --bus URL --trust KEY` takes jobs that it has signed.
/// Whoever has the file can run programs on all hosts whose agents trust it (docs/bus.md).
#[derive(Debug, Args)]
pub(crate) struct BusKey {
    /// The file to create, of mode 600.
    file: PathBuf,
}

impl BusKey {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        print_line(format_args!("{}", SigningKey::create(&self.file)?.public()));
        Ok(ExitCode::SUCCESS)
    }
}

/// Speak with an agent on a bus over standard input and output, as `pitot agent` itself would.
///
/// A plan's host names it where others name ssh: agent = ["pitot", "bus-connect", "a", "--bus", "nats://10.0.0.1:4222",
/// "--bus-creds", "lab.toml", "--sign", "sign.nk"]. The agent is one that `pitot agent --bus URL --trust KEY --name a` has
/// started, and takes no jobs meanwhile (docs/bus.md).
#[derive(Debug, Args)]
pub(crate) struct BusConnect {
    /// The agent's name.
    name: String,
    #[command(flatten)]
    options: BusOptions,
    /// The key that the agent trusts: what is sent is signed by it.
    #[arg(long, value_name = "FILE")]
    sign: PathBuf,
}

impl BusConnect {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        if !is_name(&self.name) {
            return Err(Failure::misuse(
                format!("`{}` cannot be the name of an agent", self.name),
                "give the one that it was started with: letters, digits, - and _",
            ));
        }
        let key = SigningKey::read(&self.sign)?;
        self.options.check_apart(&key)?;
        let Some(connection) = self.options.connect()? else {
            return Err(Failure::misuse("there is no bus", "name one: --bus URL"));
        };
        reach(&connection, &key, &self.name, io::stdin(), &mut io::stdout().lock())?;
        // A thread may still wait for input, which nobody wants any more.
        Ok(ExitCode::SUCCESS)
    }
}
