use super::kernel::KernelLayer;
use crate::{KernelKeys, Layer};

/// The layer of a connection.
pub(super) struct Layered {
    pub(super) carrier: Carrier,
    /// True if the end, or a failure, was announced to the peer.
    pub(super) ended: bool,
    /// True until the kernel was asked to take over, if the layer can be handed over.
    pub(super) offers: bool,
}

/// Where a layer runs.
pub(super) enum Carrier {
    /// In this process.
    Layer(Box<dyn Layer>),
    /// In the kernel, to which it was handed over.
    Kernel(KernelLayer),
}

impl Layered {
    pub(super) fn new(layer: Box<dyn Layer>) -> Box<Layered> {
        Box::new(Layered { carrier: Carrier::Layer(layer), ended: false, offers: true })
    }

    /// The layer, if it runs in this process.
    pub(super) fn here(&mut self) -> Option<&mut dyn Layer> {
        match &mut self.carrier {
            Carrier::Layer(layer) => Some(&mut **layer),
            Carrier::Kernel(_) => None,
        }
    }

    pub(super) fn is_here(&self) -> bool {
        matches!(self.carrier, Carrier::Layer(_))
    }

    pub(super) fn is_open(&self) -> bool {
        match &self.carrier {
            Carrier::Layer(layer) => layer.is_open(),
            Carrier::Kernel(_) => true,
        }
    }

    /// True in the middle of a handshake or a record.
    pub(super) fn is_midway(&self) -> bool {
        match &self.carrier {
            Carrier::Layer(layer) => layer.is_midway(),
            Carrier::Kernel(_) => false,
        }
    }

    /// True if the kernel can take over now.
    pub(super) fn can_hand_over(&self) -> bool {
        match &self.carrier {
            Carrier::Layer(layer) => self.offers && !self.ended && layer.can_hand_over(),
            Carrier::Kernel(_) => false,
        }
    }

    /// Hands the layer over to the kernel, which gets its keys; there may be none.
    pub(super) fn hand_over(&mut self) -> Option<KernelKeys> {
        match std::mem::replace(&mut self.carrier, Carrier::Kernel(KernelLayer::default())) {
            Carrier::Layer(layer) => layer.hand_over(),
            Carrier::Kernel(_) => None,
        }
    }

    /// This process's part of the layer, if it runs in the kernel.
    pub(super) fn kernel(&mut self) -> Option<&mut KernelLayer> {
        match &mut self.carrier {
            Carrier::Kernel(kernel) => Some(kernel),
            Carrier::Layer(_) => None,
        }
    }

    /// The alert to send through the kernel.
    pub(super) fn alert_due(&self) -> Option<[u8; 2]> {
        match &self.carrier {
            Carrier::Kernel(kernel) => kernel.alert_due(),
            Carrier::Layer(_) => None,
        }
    }

    /// True if the layer's key must not be used for further requests.
    pub(super) fn has_worn_key(&self) -> bool {
        match &self.carrier {
            Carrier::Kernel(kernel) => kernel.has_worn_key(),
            Carrier::Layer(_) => false,
        }
    }
}
