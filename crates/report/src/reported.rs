//! Results that can be reported.

use crate::document::Document;
use crate::format::Format;
use pitot_results::visible;

/// Results: a page for people, and data for programs.
pub trait Reported {
    /// The page in a form for readers; it may omit what this form does not show.
    fn page(&self, format: Format) -> Document;

    /// The data in a form that is made of records; none for other forms.
    fn data(&self, format: Format) -> Option<String>;

    /// The report in a form, if it has that form. Control characters are made visible, since titles, labels and output of programs
    /// are not trusted.
    fn report(&self, format: Format) -> Option<String> {
        match self.data(format) {
            Some(data) => Some(visible(&data).into_owned()),
            None => self.page(format).render(format),
        }
    }
}
