//! A layer that the kernel carries out (Documentation/networking/tls.rst): the connection sends and receives bytes of its
//! protocol, as without a layer, and only alerts are left to it.
//!
//! The kernel takes over behind the handshake, at the boundary of a record in both directions, and encrypts with the keys that it
//! was given until the end. What would need others ends the connection: a peer that updates its keys, and the number of records
//! that one key may encrypt.

use crate::LayerFailure;

/// Content types of records (RFC 8446 section 5.1).
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// The first byte of a message of the handshake by which a peer updates its keys (RFC 8446 section 4.6.3).
const KEY_UPDATE: u8 = 24;

/// Levels and descriptions of alerts (RFC 8446 section 6).
const WARNING: u8 = 1;
const FATAL: u8 = 2;
const USER_CANCELED: u8 = 90;
pub(super) const CLOSE_NOTIFY: [u8; 2] = [WARNING, 0];
const UNEXPECTED_MESSAGE: [u8; 2] = [FATAL, 10];
pub(super) const BAD_RECORD_MAC: [u8; 2] = [FATAL, 20];
const INTERNAL_ERROR: [u8; 2] = [FATAL, 80];

/// Bytes of the protocol in a record, at most.
const RECORD_BYTES: u64 = 16 << 10;
/// Records that are sent with one key: half of what RFC 8446 section 5.5 has for AES-GCM, as they are estimated.
const RECORDS_MAX: u32 = 1 << 23;

/// What is left to a connection of a layer that the kernel carries out.
#[derive(Debug, Default)]
pub(super) struct KernelLayer {
    /// Records sent, or somewhat more: the kernel does not count them for others.
    records: u32,
    /// What has to be said to the peer.
    alert: Option<[u8; 2]>,
}

/// What a record that has arrived through the kernel means.
#[derive(Debug)]
pub(super) enum Record {
    /// It is data of the protocol.
    Data,
    /// The peer says that nothing follows.
    End,
    /// It is without consequences.
    Nothing,
    /// The layer has failed, and the peer may have to be told why.
    Failure(LayerFailure, Option<[u8; 2]>),
}

impl Record {
    pub(super) fn of(content_type: u8, record: &[u8]) -> Record {
        match (content_type, record) {
            (APPLICATION_DATA, _) => Record::Data,
            (ALERT, [_, 0]) => Record::End,
            // TLS 1.3 has no other alerts without consequences; in TLS 1.2 their level says so.
            (ALERT, [_, USER_CANCELED] | [WARNING, _]) => Record::Nothing,
            (ALERT, [_, _]) => Record::Failure(LayerFailure::Refused, None),
            // It is no fault of the peer, whose keys the kernel cannot follow before Linux 6.14.
            (HANDSHAKE, [KEY_UPDATE, ..]) => {
                Record::Failure(LayerFailure::Incompatible, Some(INTERNAL_ERROR))
            }
            _ => Record::Failure(LayerFailure::Malformed, Some(UNEXPECTED_MESSAGE)),
        }
    }
}

impl KernelLayer {
    pub(super) fn say(&mut self, alert: [u8; 2]) {
        self.alert = Some(alert);
    }

    pub(super) fn alert_due(&self) -> Option<[u8; 2]> {
        self.alert
    }

    pub(super) fn alerted(&mut self) {
        self.alert = None;
    }

    /// Counts records of what was sent.
    pub(super) fn count_records(&mut self, bytes: u64) {
        let records = 1 + u32::try_from(bytes / RECORD_BYTES).unwrap_or(u32::MAX - 1);
        self.records = self.records.saturating_add(records);
    }

    /// True if no further request is to be answered with its key.
    pub(super) fn has_worn_key(&self) -> bool {
        self.records >= RECORDS_MAX
    }
}
