//! Network interfaces as ethtool(8) shows and sets them: by messages of generic netlink, and where the kernel does not have these
//! by SIOCETHTOOL (netdevice(7), include/uapi/linux/ethtool.h).
//!
//! Every command of the ioctl is a table of 32-bit words whose first is the command's number; which table belongs to which
//! command is known to the files of this directory alone. All calls are about interfaces of the network namespace of this
//! process.

mod attributes;
mod command;
mod features;
mod netlink;
mod offloads;
mod tables;

pub use features::{Feature, features, set_feature};
pub use offloads::offloads;
pub use tables::{FIELDS, Field};
