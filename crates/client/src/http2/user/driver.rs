use std::collections::VecDeque;
use std::sync::Arc;

use httlib_hpack::Encoder;

use super::contract::{Driver, DriverPlan};
use crate::exchange::Progress;
use crate::outgoing::Outgoing;

/// A driver, with the buffers that its connection needs.
pub(in crate::http2) struct UserDriver {
    pub(in crate::http2) driver: Box<dyn Driver>,
    pub(in crate::http2) scheme: Arc<str>,
    pub(in crate::http2) encoder: Encoder<'static>,
    /// The current request, as in HTTP/1.1.
    pub(in crate::http2) text: Outgoing,
    /// The same, encoded.
    pub(in crate::http2) block: Vec<u8>,
    /// The head of a reply as text.
    pub(in crate::http2) head: Vec<u8>,
    /// To be reported next.
    pub(in crate::http2) due: VecDeque<Progress>,
}

impl UserDriver {
    pub(in crate::http2) fn new(plan: &dyn DriverPlan, scheme: &Arc<str>) -> UserDriver {
        UserDriver {
            driver: plan.driver(),
            scheme: Arc::clone(scheme),
            encoder: Encoder::default(),
            text: Outgoing::new(),
            block: Vec::new(),
            head: Vec::new(),
            due: VecDeque::new(),
        }
    }
}
