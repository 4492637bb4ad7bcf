//! What answers in a build without the feature `full`, where one with it has the module `full`.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use pitot_lab::{Guardian, Outcome, Prepared};
use pitot_plan::{Catalog, Plan};
use pitot_results::Failure;
use pitot_sys::user::User;

use crate::agent::OnBus;
use crate::built::missing;
use crate::bus::{BusConnect, BusKey};
use crate::fault::FaultCommand;
use crate::kernel::{Guest, KernelCommand};
use crate::mail::Mail;
use crate::run::asked::Asked;
use crate::run::options::Run;
use crate::runs::Runs;
use crate::serve_dns::DnsArgs;
use crate::serve_trade::TradeArgs;
use crate::watched::Watched;
use crate::web::Web;

impl Mail {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        Err(missing("`pitot mail`"))
    }
}

impl Web {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        Err(missing("`pitot web`"))
    }
}

impl DnsArgs {
    pub(crate) fn run(
        self,
        _: SocketAddr,
        _: Option<usize>,
        _: bool,
        _: Option<User>,
        _: bool,
    ) -> Result<ExitCode, Failure> {
        Err(missing("`pitot serve dns`"))
    }
}

impl FaultCommand {
    pub(crate) fn serve_resolver(self) -> Result<ExitCode, Failure> {
        Err(missing("`pitot fault resolver`"))
    }
}

impl TradeArgs {
    pub(crate) fn run(
        self,
        _: SocketAddr,
        _: Option<usize>,
        _: Duration,
        _: bool,
        _: Option<User>,
    ) -> Result<ExitCode, Failure> {
        Err(missing("`pitot serve trade`"))
    }
}

impl KernelCommand {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        Err(missing("`pitot kernel`"))
    }
}

impl Guest {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        Err(missing("`pitot guest`"))
    }
}

impl BusKey {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        Err(missing("`pitot bus-key`"))
    }
}

impl BusConnect {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        Err(missing("`pitot bus-connect`"))
    }
}

impl OnBus {
    pub(crate) fn run(&self, _: &Guardian) -> Result<ExitCode, Failure> {
        Err(missing("`pitot agent --bus`"))
    }
}

impl Run {
    pub(crate) fn on_bus(
        &self,
        _: Asked,
        _: &Catalog,
        _: &mut Runs,
        _: &mut Watched,
    ) -> Result<Outcome, Failure> {
        Err(missing("`pitot run --bus`"))
    }

    pub(crate) fn in_guests(
        &self,
        _: Asked,
        _: &Catalog,
        _: &mut Runs,
        _: &mut Watched,
    ) -> Result<Outcome, Failure> {
        Err(missing("the factor `kernel`"))
    }

    pub(crate) fn where_gvisor_is(_: &Plan) -> Option<String> {
        None
    }

    pub(crate) fn check_kernels(prepared: &Prepared) -> Result<(), Failure> {
        match prepared.plan.is_in_guests() {
            true => Err(missing("the factor `kernel`")),
            false => Ok(()),
        }
    }
}
