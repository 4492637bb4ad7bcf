//! The commands of a prepared plan, as a user could type them.

use std::net::{Ipv4Addr, SocketAddr};

use pitot_host::setting::file_system_of;
use pitot_plan::{Cell, CellServer, GVISOR_KERNEL, HOST_KERNEL, Host, OWN, Placement, RESOLVER};

use super::prepare::Prepared;

/// The port in commands that are shown.
const SHOWN_PORT: u16 = 18080;

/// The commands of a cell for a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownCell {
    /// The levels.
    pub label: String,
    /// Starts the server; several lines if it needs files.
    pub server: String,
    /// Runs the load, once the server is ready.
    pub load: String,
}

impl Prepared {
    /// The commands of all cells.
    pub fn commands(&self, pitot: &str) -> Vec<ShownCell> {
        let show = |(number, cell): (usize, &Cell)| {
            let [of_server, of_load] = self.programs(pitot, cell);
            let at = self.shown_placement(of_server, number);
            let at_load = Placement { pitot: of_load.to_owned(), ..at.clone() };
            let [server, load] = self.places(cell);
            let placed = |place: Option<String>, line: String| match place {
                Some(place) if !line.is_empty() => format!("# {place}\n{line}"),
                _ => line,
            };
            ShownCell {
                label: cell.label(),
                server: placed(server, cell.server_line(&at)),
                load: placed(load, cell.load_line(&self.plan, &at_load)),
            }
        };
        self.cells.iter().enumerate().map(show).collect()
    }

    /// The path of Pitot for the commands of a cell, server and load; `pitot` on this machine.
    fn programs<'a>(&'a self, pitot: &'a str, cell: &Cell) -> [&'a str; 2] {
        let plan = &self.plan;
        if let Some(kernel) = plan.kernel_of(&cell.factors) {
            // It is in PATH of guests and sandboxes.
            let program = if kernel.kernel == HOST_KERNEL { pitot } else { OWN };
            return [program, program];
        }
        let on = |host: Option<&str>| plan.host(host).map_or(pitot, Host::pitot);
        let server = on(plan.server_host.as_deref());
        let load = match plan.load_hosts.first() {
            _ if cell.server == CellServer::None => server,
            host => on(host.map(String::as_str)),
        };
        [server, load]
    }

    /// Where the commands of a cell run, server and load, if not directly on this machine.
    fn places(&self, cell: &Cell) -> [Option<String>; 2] {
        let plan = &self.plan;
        if let Some(kernel) = plan.kernel_of(&cell.factors) {
            let append =
                if kernel.append.is_empty() { String::new() } else { format!(" with {}", kernel.append) };
            let place = match kernel.kernel.as_str() {
                HOST_KERNEL => None,
                GVISOR_KERNEL => Some("in gVisor's sandbox".to_owned()),
                name => Some(format!("in a guest of {name}{append}")),
            };
            return [place.clone(), place];
        }
        if plan.hosts.is_empty() {
            return [None, None];
        }
        let on = |host: Option<&String>| {
            Some(host.map_or_else(|| "on this machine".to_owned(), |host| format!("on {host}")))
        };
        let load = match &plan.load_hosts[..] {
            // The load itself is measured, on the server's host.
            _ if cell.server == CellServer::None => on(plan.server_host.as_ref()),
            // Each part names its host.
            [_, _, ..] => None,
            hosts => on(hosts.first()),
        };
        [on(plan.server_host.as_ref()), load]
    }

    /// The arguments of each cell's server, if it is one of Pitot, and of its load.
    pub fn arguments(&self) -> Vec<(Option<Vec<String>>, Vec<String>)> {
        let of = |(number, cell): (usize, &Cell)| {
            let at = self.shown_placement("pitot", number);
            let is_ours = matches!(cell.server, CellServer::Pitot { .. });
            (
                is_ours.then(|| cell.server_argv(&at)),
                cell.load_argv(&self.plan, cell.warmup_s(&self.plan), &at),
            )
        };
        self.cells.iter().enumerate().map(of).collect()
    }

    /// The command of each server; Pitot is called `pitot`.
    pub fn server_words(&self) -> Vec<Vec<String>> {
        let cells = self.cells.iter().enumerate();
        cells.map(|(number, cell)| cell.server_argv(&self.shown_placement("pitot", number))).collect()
    }

    /// Fills the placeholders in a text as in the shown commands of a cell.
    pub fn filled_as_shown(&self, cell: usize, text: &str) -> String {
        self.shown_placement("pitot", cell).fill(text)
    }

    fn shown_placement(&self, pitot: &str, number: usize) -> Placement {
        let file_system = file_system_of(&self.cells[number].host);
        let dir = file_system.unwrap_or_else(std::env::temp_dir);
        let dir = dir.join(format!("pitot-{}-{}", self.plan.name, number + 1));
        let resolver = self.plan.has_resolver.then_some(RESOLVER);
        Placement {
            pitot: pitot.to_owned(),
            address: match self.cells[number].foreign() {
                Some(foreign) => foreign.address.clone(),
                None => {
                    let host = self.plan.host(self.plan.server_host.as_deref());
                    let address = host.map_or(Ipv4Addr::LOCALHOST.into(), |host| host.address);
                    SocketAddr::new(address, SHOWN_PORT).to_string()
                }
            },
            dir: dir.to_string_lossy().into_owned(),
            server_cpus: self.cpus.server_list(),
            load_cpus: self.cpus.load_list(),
            helpers: (SHOWN_PORT + 1..)
                .zip(self.plan.helpers.iter().map(|helper| helper.name.as_str()).chain(resolver))
                .map(|(port, name)| (name.to_owned(), format!("127.0.0.1:{port}")))
                .collect(),
        }
    }
}
