//! A layer in the kernel (Documentation/networking/tls.rst): the connection sends and receives bytes of its protocol, as
//! without a layer, and handles only alerts.
//!
//! The kernel takes over after the handshake, at the boundary of a record in both directions, and uses the same keys until the
//! end. The connection ends when other keys would be needed: when the peer updates its keys, or one key has encrypted the
//! maximal number of records.

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

/// The most bytes of the protocol in a record.
const RECORD_BYTES: u64 = 16 << 10;
/// Records sent with one key: half of the limit of RFC 8446 section 5.5 for AES-GCM, since their number is estimated.
const RECORDS_MAX: u32 = 1 << 23;

/// The connection's part of a layer in the kernel.
#[derive(Debug, Default)]
pub(super) struct KernelLayer {
    /// An upper estimate of the records sent, which the kernel does not report.
    records: u32,
    /// To be sent to the peer.
    alert: Option<[u8; 2]>,
}

/// A record that has arrived through the kernel.
#[derive(Debug)]
pub(super) enum Record {
    /// Data of the protocol.
    Data,
    /// The end of the peer's data.
    End,
    /// A record that is ignored.
    Nothing,
    /// The layer has failed; with an alert for the peer, if one is needed.
    Failure(LayerFailure, Option<[u8; 2]>),
}

impl Record {
    pub(super) fn of(content_type: u8, record: &[u8]) -> Record {
        match (content_type, record) {
            (APPLICATION_DATA, _) => Record::Data,
            (ALERT, [_, 0]) => Record::End,
            // In TLS 1.3, only this alert is ignored; in TLS 1.2, all warnings are.
            (ALERT, [_, USER_CANCELED] | [WARNING, _]) => Record::Nothing,
            (ALERT, [_, _]) => Record::Failure(LayerFailure::Refused, None),
            // The peer is right, but the kernel cannot update keys before Linux 6.14.
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

    /// Counts sent records.
    pub(super) fn count_records(&mut self, bytes: u64) {
        let records = 1 + u32::try_from(bytes / RECORD_BYTES).unwrap_or(u32::MAX - 1);
        self.records = self.records.saturating_add(records);
    }

    /// True if the key must not be used for further requests.
    pub(super) fn has_worn_key(&self) -> bool {
        self.records >= RECORDS_MAX
    }
}
