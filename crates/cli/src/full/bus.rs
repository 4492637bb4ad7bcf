//! Connections to a message bus, `pitot bus-key` and `bus-connect`.

use std::io;
use std::process::ExitCode;

use pitot_bus::{Address, Connection, Credentials, SigningKey, is_name, reach};
use pitot_results::{Failure, printable, stderr};

use crate::bus::{BusConnect, BusKey, BusOptions};
use crate::output::print_line;

impl BusOptions {
    /// Connects, if a bus is given.
    pub(crate) fn connect(&self) -> Result<Option<Connection>, Failure> {
        let Some(bus) = &self.bus else { return Ok(None) };
        let credentials = self.credentials()?;
        Connection::open(&Address::parse(bus)?, credentials.as_ref(), tell).map(Some)
    }

    fn credentials(&self) -> Result<Option<Credentials>, Failure> {
        self.bus_creds.as_deref().map(Credentials::read).transpose()
    }

    /// Refuses a signing key that also logs in: a server could have it sign a job.
    pub(crate) fn check_apart(&self, key: &SigningKey) -> Result<(), Failure> {
        match self.credentials()?.and_then(|c| c.nkey) {
            Some(seed) if key.is_of(&seed) => Err(Failure::misuse(
                "the key that signs jobs is the nkey of --bus-creds, which signs any text the server chooses",
                "make a separate key: pitot bus-key FILE",
            )),
            _ => Ok(()),
        }
    }
}

/// Says what happens on the bus.
pub(crate) fn tell(sentence: &str) {
    stderr::line(printable(sentence));
}

impl BusKey {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        print_line(format_args!("{}", SigningKey::create(&self.file)?.public()));
        Ok(ExitCode::SUCCESS)
    }
}

impl BusConnect {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        if !is_name(&self.name) {
            return Err(Failure::misuse(
                format!("`{}` is not a valid name for an agent", self.name),
                "give the name that it was started with: letters, digits, - and _",
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
