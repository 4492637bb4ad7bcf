//! How the file of a soak is known.

use pitot_record::database::Format;

/// The application is "PitS".
pub(super) const FORMAT: Format = Format {
    application_id: 0x5069_7453,
    layout: 5,
    tables: &[
        ("soak", 1),
        ("subject", 1),
        ("load", 1),
        ("interval", 1),
        ("figure", 1),
        ("sample", 1),
        ("event", 1),
        ("fault", 2),
        ("loss", 3),
        ("endings", 4),
        ("loss_interval", 5),
        ("fault_loss", 5),
    ],
    view: None,
};
