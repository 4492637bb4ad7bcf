//! What a server adds to a page that it shows: ways to other pages, forms, and the progress of what is being measured.

/// Around a page.
#[derive(Clone, Debug, Default)]
pub struct Served {
    /// Other pages.
    pub navigation: Vec<Link>,
    /// Forms before the content.
    pub before: Vec<Form>,
    /// Forms after the content; they stay in view.
    pub after: Vec<Form>,
    /// The other pages of a long list.
    pub pages: Vec<Link>,
    /// The state of what is being measured, for a page that is updated.
    pub progress: Option<Progress>,
    /// A note above all, for example that something was done.
    pub note: String,
}

/// A way to another page.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// Its text.
    pub text: String,
    /// Its path.
    pub to: String,
    /// Whether it leads to this page.
    pub is_here: bool,
}

/// A form.
#[derive(Clone, Debug, Default)]
pub struct Form {
    /// Its name within the page, by which [`crate::document::Choice`] belongs to it.
    pub id: &'static str,
    /// Where it is sent.
    pub to: String,
    /// Whether it changes something (POST), and does not only ask (GET).
    pub changes: bool,
    /// What is filled in.
    pub fields: Vec<Field>,
    /// The text of its button.
    pub button: &'static str,
}

/// A field of a form.
#[derive(Clone, Debug)]
pub struct Field {
    /// The name that the form sends.
    pub name: &'static str,
    /// What it is.
    pub label: &'static str,
    /// What is in it.
    pub input: Input,
}

/// What is in a field.
#[derive(Clone, Debug)]
pub enum Input {
    /// A text to search for.
    Search(String),
    /// One of several values, each with its text, and the one that is selected.
    Select(Vec<(String, String)>, String),
}

/// The state of what is being measured.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The path of its events: `progress` has [`data`](Self::data), `page` the content ([`crate::document::Document::content`]) after a
    /// change, `changed` says that there was one in a page that depends on what its reader asked for, and is asked for again.
    pub events: String,
    /// How much is done, 0 to 1, if that is known.
    pub part: Option<f64>,
    /// How much is done, in words. Screen readers say it at each tenth and at the end.
    pub sentence: String,
    /// The time that it took and will take, in words.
    pub time: String,
    /// Whether it is over.
    pub is_over: bool,
    /// The form that stops it, for those who may.
    pub stop: Option<Form>,
}

impl Progress {
    /// What an event says of it, as JSON in one line.
    pub fn data(&self) -> String {
        let Progress { part, sentence, time, is_over, .. } = self;
        serde_json::json!({ "part": part, "sentence": sentence, "time": time, "over": is_over }).to_string()
    }
}
