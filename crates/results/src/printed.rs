//! The objects of programs that can stand in for the load generator.

use crate::disk::{DiskFiles, DiskRead};
use crate::floor::FloorResult;
use crate::mail::MailResult;

/// What a program printed in the place of a load generator's result, with all its fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Printed {
    /// The load result itself.
    #[default]
    Load,
    /// The object of `pitot disk files`.
    DiskFiles(Box<DiskFiles>),
    /// The object of `pitot disk read`.
    DiskRead(Box<DiskRead>),
    /// The object of `pitot floor`.
    Floor(Box<FloorResult>),
    /// The object of `pitot mail`.
    Mail(Box<MailResult>),
}
