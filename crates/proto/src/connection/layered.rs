use super::kernel::KernelLayer;
use crate::{KernelKeys, Layer};

/// The layer of a connection.
pub(super) struct Layered {
    pub(super) carrier: Carrier,
    /// True if the peer has been told that nothing follows, or why.
    pub(super) ended: bool,
    /// True until the kernel has been asked to carry on, if the layer can be handed over.
    pub(super) offers: bool,
}

/// Who carries a layer out.
pub(super) enum Carrier {
    /// This process.
    Layer(Box<dyn Layer>),
    /// The kernel, to which it was handed over.
    Kernel(KernelLayer),
}

impl Layered {
    pub(super) fn new(layer: Box<dyn Layer>) -> Box<Layered> {
        Box::new(Layered { carrier: Carrier::Layer(layer), ended: false, offers: true })
    }

    /// The layer, if this process carries it out.
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

    /// True if the kernel can carry on now.
    pub(super) fn can_hand_over(&self) -> bool {
        match &self.carrier {
            Carrier::Layer(layer) => self.offers && !self.ended && layer.can_hand_over(),
            Carrier::Kernel(_) => false,
        }
    }

    /// Leaves the layer to the kernel, which gets its keys; there may be none after all.
    pub(super) fn hand_over(&mut self) -> Option<KernelKeys> {
        match std::mem::replace(&mut self.carrier, Carrier::Kernel(KernelLayer::default())) {
            Carrier::Layer(layer) => layer.hand_over(),
            Carrier::Kernel(_) => None,
        }
    }

    /// What is left of the layer here, if the kernel carries it out.
    pub(super) fn kernel(&mut self) -> Option<&mut KernelLayer> {
        match &mut self.carrier {
            Carrier::Kernel(kernel) => Some(kernel),
            Carrier::Layer(_) => None,
        }
    }

    /// What has to be said to the peer through the kernel.
    pub(super) fn alert_due(&self) -> Option<[u8; 2]> {
        match &self.carrier {
            Carrier::Kernel(kernel) => kernel.alert_due(),
            Carrier::Layer(_) => None,
        }
    }

    /// True if no further request is to be answered with the layer's key.
    pub(super) fn has_worn_key(&self) -> bool {
        match &self.carrier {
            Carrier::Kernel(kernel) => kernel.has_worn_key(),
            Carrier::Layer(_) => false,
        }
    }
}
