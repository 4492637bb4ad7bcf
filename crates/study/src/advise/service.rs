//! The protocols for which there is advice.

use pitot_host::check::Use;

/// A protocol and how it is loaded.
#[derive(Debug)]
pub struct Service {
    /// The protocol of `pitot serve`.
    pub name: &'static str,
    /// What is requested.
    pub url: &'static str,
    /// Whether replies have a size.
    pub has_size: bool,
    /// Whether it sends files.
    pub has_files: bool,
    /// Whether a connection can carry several requests, and so be idle.
    pub keeps_connections: bool,
    /// Whether all connections share data, which separate processes cannot.
    pub shares_data: bool,
    /// What the machine is used for.
    pub host_use: Use,
}

/// All of them.
pub static SERVICES: &[Service] = &[
    Service {
        name: "http",
        url: "http://{address}/bytes/{size}",
        has_size: true,
        has_files: true,
        keeps_connections: true,
        shares_data: false,
        host_use: Use::Http,
    },
    Service {
        name: "blob",
        url: "blob://{address}/{size}",
        has_size: true,
        has_files: false,
        keeps_connections: true,
        shares_data: false,
        host_use: Use::Http,
    },
    Service {
        name: "busy",
        url: "busy://{address}",
        has_size: false,
        has_files: false,
        keeps_connections: false,
        shares_data: false,
        host_use: Use::Mail,
    },
    Service {
        name: "memcache",
        url: "memcache://{address}/?keys=10k&get=0.9&value={size}",
        has_size: true,
        has_files: false,
        keeps_connections: true,
        shares_data: true,
        host_use: Use::Cache,
    },
];
