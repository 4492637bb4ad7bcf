//! What can be reported, whatever it is.

use crate::document::Document;
use crate::format::Format;
use pitot_results::visible;

/// Results: a page for people, and data for programs.
pub trait Reported {
    /// The page.
    fn page(&self) -> Document;

    /// The data in a form that is made of records; none if that form is for people, or there is none.
    fn data(&self, format: Format) -> Option<String>;

    /// The report in a form, if there is one of that form. What a terminal or a viewer would obey in place of showing it is made
    /// visible: titles, labels and output of programs are others'.
    fn report(&self, format: Format) -> Option<String> {
        match self.data(format) {
            Some(data) => Some(visible(&data).into_owned()),
            None => self.page().render(format),
        }
    }
}
