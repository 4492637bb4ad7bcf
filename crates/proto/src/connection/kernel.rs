//! A layer that the kernel carries out (Documentation/networking/tls.rst): the connection sends and receives bytes of its
//! protocol, as without a layer, and only alerts are left to it.
//!
//! The kernel takes over behind the handshake, at the boundary of a record in both directions, and encrypts with the keys that it
//! was given until the end. What would need others ends the connection: a peer that updates its keys, and the number of records
//! that one key may encrypt.

use super::{Carrier, Connection, State};
use crate::{Exchange, KernelKeys, LayerFailure, Worker};

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
const BAD_RECORD_MAC: [u8; 2] = [FATAL, 20];
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

impl KernelLayer {
    pub(super) fn say(&mut self, alert: [u8; 2]) {
        self.alert = Some(alert);
    }
}

impl Connection {
    /// The keys for the kernel, which is ready to carry on. `None` if there are none after all; then the connection is over.
    pub fn kernel_keys(&mut self) -> Option<KernelKeys> {
        let layered = self.layer.as_mut().filter(|layered| layered.is_here())?;
        let carrier = std::mem::replace(&mut layered.carrier, Carrier::Kernel(KernelLayer::default()));
        let keys = match carrier {
            Carrier::Layer(layer) => layer.hand_over(),
            Carrier::Kernel(_) => None,
        };
        if keys.is_none() {
            self.state = State::Closed;
        }
        keys
    }

    /// The kernel has the keys; or it has refused them, and nothing more can be sent on this connection.
    pub fn handed_over(&mut self, worker: &mut Worker, is_taken: bool) {
        if is_taken {
            worker.tally.layers_in_kernel += 1;
        } else {
            worker.tally.layer_failed(LayerFailure::Malformed);
            self.state = State::Closed;
        }
    }

    /// The kernel cannot carry on: the layer does, until the end.
    pub fn keeps_layer(&mut self) {
        if let Some(layered) = &mut self.layer {
            layered.offers = false;
        }
    }

    /// True if the kernel carries the layer out. What is received ends with each record, and what is no data of the protocol is
    /// reported as an error of the receive (EIO), after which it can be received with its type.
    pub fn is_in_kernel(&self) -> bool {
        self.layer.as_ref().is_some_and(|layered| !layered.is_here())
    }

    /// A record has arrived through the kernel, of this content type.
    pub fn received_record(&mut self, worker: &mut Worker, content_type: u8, record: &[u8]) {
        match (content_type, record) {
            (APPLICATION_DATA, _) => self.received(worker, record),
            // The peer says that nothing follows.
            (ALERT, [_, 0]) => self.ended(),
            // TLS 1.3 has no other alerts without consequences; in TLS 1.2 their level says so.
            (ALERT, [_, USER_CANCELED] | [WARNING, _]) => {}
            (ALERT, [_, _]) => self.record_failed(worker, LayerFailure::Refused, None),
            // It is no fault of the peer, whose keys the kernel cannot follow before Linux 6.14.
            (HANDSHAKE, [KEY_UPDATE, ..]) => {
                self.record_failed(worker, LayerFailure::Incompatible, Some(INTERNAL_ERROR));
            }
            _ => self.record_failed(worker, LayerFailure::Malformed, Some(UNEXPECTED_MESSAGE)),
        }
    }

    /// The kernel has refused a record: it is forged or malformed.
    pub fn record_refused(&mut self, worker: &mut Worker) {
        self.record_failed(worker, LayerFailure::Malformed, Some(BAD_RECORD_MAC));
    }

    /// The alert is sent.
    pub fn alerted(&mut self) {
        self.progressed = true;
        if let Some(kernel) = self.kernel() {
            kernel.alert = None;
        }
    }

    fn record_failed(&mut self, worker: &mut Worker, failure: LayerFailure, alert: Option<[u8; 2]>) {
        if self.is_closing() {
            // It would be found again and again by who waits for the end.
            self.state = State::Closed;
            return;
        }
        self.layer_failed(worker, failure);
        if let (Some(kernel), Some(alert)) = (self.kernel(), alert) {
            kernel.say(alert);
        }
    }

    fn kernel(&mut self) -> Option<&mut KernelLayer> {
        match &mut self.layer.as_mut()?.carrier {
            Carrier::Kernel(kernel) => Some(kernel),
            Carrier::Layer(_) => None,
        }
    }

    /// True if the kernel carries on with what the protocol has to send next.
    pub(super) fn will_hand_over(&self) -> bool {
        let Some(layered) = &self.layer else { return false };
        let Carrier::Layer(layer) = &layered.carrier else { return false };
        let has_work = match self.state {
            State::Closed | State::Lingering => false,
            // A layer that is about to end needs no kernel for it.
            State::Closing | State::ClosingGently => {
                self.exchange.as_ref().is_some_and(|exchange| !exchange.out.is_empty())
            }
            _ => true,
        };
        layered.offers && !layered.ended && has_work && layer.can_hand_over()
    }

    /// The same, and all that the layer has made is sent.
    pub(super) fn hands_over_now(&self) -> bool {
        let is_sent = |exchange: &Exchange| exchange.wire.is_empty() && exchange.wire.lent() == 0;
        self.layer.is_some()
            && self.exchange.as_ref().is_none_or(|exchange| is_sent(exchange))
            && self.will_hand_over()
    }

    /// What has to be said to the peer through the kernel.
    pub(super) fn alert_due(&self) -> Option<[u8; 2]> {
        match &self.layer.as_ref()?.carrier {
            Carrier::Kernel(kernel) => kernel.alert,
            Carrier::Layer(_) => None,
        }
    }

    /// Counts records of what was sent.
    pub(super) fn count_records(&mut self, bytes: u64) {
        if let Some(kernel) = self.kernel() {
            let records = 1 + u32::try_from(bytes / RECORD_BYTES).unwrap_or(u32::MAX - 1);
            kernel.records = kernel.records.saturating_add(records);
        }
    }

    /// True if no further request is to be answered with the connection's key.
    pub(super) fn has_worn_key(&self) -> bool {
        let worn = self.layer.as_ref().is_some_and(|layered| match &layered.carrier {
            Carrier::Kernel(kernel) => kernel.records >= RECORDS_MAX,
            Carrier::Layer(_) => false,
        });
        worn && !self.mid_request()
    }
}
