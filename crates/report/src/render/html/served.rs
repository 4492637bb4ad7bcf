//! A page as a server shows it.

use super::content::content;
use super::page;
use super::text::linked;
use crate::document::Document;
use crate::escape::escape;
use crate::served::{Field, Form, Input, Link, Progress, Served};
use std::fmt::Write as _;

pub(crate) fn served(document: &Document, around: &Served) -> String {
    let mut html = String::from("<a class=\"skip\" href=\"#content\">Skip to the content</a>");
    let _ =
        write!(html, "<nav class=\"site\" aria-label=\"Pitot\">{}<div class=\"links\">", page::BRAND_SERVED);
    links(&mut html, &around.navigation);
    html.push_str("</div></nav>");
    if let Some(of) = &around.progress {
        progress(&mut html, of);
    }
    if !around.note.is_empty() {
        let _ = write!(html, "<p class=\"notice\" role=\"status\">{}</p>", escape(&around.note));
    }
    let mut before = String::new();
    forms(&mut before, "before", &around.before);
    let _ = write!(html, "<div id=\"page\">{}</div>", content(document, "", &before));
    forms(&mut html, "after", &around.after);
    if !around.pages.is_empty() {
        html.push_str("<div class=\"pages\"><nav aria-label=\"Pages of the list\">");
        links(&mut html, &around.pages);
        html.push_str("</nav></div>");
    }
    page::served(&format!("{} · Pitot", document.title), &html, around.progress.is_some())
}

fn links(html: &mut String, links: &[Link]) {
    for Link { text, to, is_here } in links {
        match is_here {
            true => {
                let _ = write!(html, "<a aria-current=\"page\" href=\"{}\">{}</a>", escape(to), escape(text));
            }
            false => html.push_str(&linked(text, Some(to))),
        }
    }
}

fn progress(html: &mut String, of: &Progress) {
    let _ = write!(
        html,
        "<div id=\"progress\" role=\"region\" aria-label=\"In progress\" class=\"progress{}\" data-events=\"{}\">",
        if of.is_over { " over" } else { "" },
        escape(&of.events)
    );
    if let Some(part) = of.part {
        let _ = write!(html, "<progress aria-label=\"Progress\" value=\"{part:.4}\"></progress>");
    }
    let _ = write!(
        html,
        "<p><b class=\"now\">{}</b> <span class=\"time\">{}</span></p>",
        escape(&of.sentence),
        escape(&of.time)
    );
    if let Some(stop) = &of.stop {
        form(html, stop);
    }
    html.push_str("<p class=\"said\" role=\"status\"></p></div>");
}

fn forms(html: &mut String, class: &str, forms: &[Form]) {
    if forms.is_empty() {
        return;
    }
    let _ = write!(
        html,
        "<div class=\"forms {class}\" role=\"region\" aria-label=\"Forms {class} the content\">"
    );
    for one in forms {
        form(html, one);
    }
    html.push_str("</div>");
}

fn form(html: &mut String, form: &Form) {
    let method = if form.changes { "post" } else { "get" };
    let _ = write!(html, "<form id=\"{}\" action=\"{}\" method=\"{method}\">", form.id, escape(&form.to));
    for Field { name, label, input } in &form.fields {
        let _ = write!(html, "<label>{} ", escape(label));
        match input {
            Input::Search(text) => {
                let _ = write!(html, "<input type=\"search\" name=\"{name}\" value=\"{}\">", escape(text));
            }
            Input::Select(options, selected) => {
                let _ = write!(html, "<select name=\"{name}\">");
                for (value, text) in options {
                    let chosen = if value == selected { " selected" } else { "" };
                    let [value, text] = [value, text].map(|text| escape(text));
                    let _ = write!(html, "<option value=\"{value}\"{chosen}>{text}</option>");
                }
                html.push_str("</select>");
            }
        }
        html.push_str("</label>");
    }
    let _ = write!(html, "<button>{}</button></form>", escape(form.button));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Block, Choice, Row, Table};

    fn page() -> String {
        let row = Row {
            link: Some("/report/a%20b.pitot".into()),
            choice: Some(Choice { form: "compare", name: "run", value: "a \"b\".pitot".into() }),
            ..Row::of("a <b>")
        };
        let mut table = Table::plain("Runs", "run", Vec::new(), Vec::<(String, Vec<String>)>::new());
        table.groups[0].rows.push(row);
        let document =
            Document { title: "Runs".into(), blocks: vec![Block::Table(table)], ..Document::default() };
        let search = Form {
            id: "find",
            to: "/".into(),
            fields: vec![
                Field { name: "q", label: "Find", input: Input::Search("\"><script>".into()) },
                Field {
                    name: "sort",
                    label: "Sort by",
                    input: Input::Select(vec![("name".into(), "Name".into())], "name".into()),
                },
            ],
            button: "Show",
            ..Form::default()
        };
        let progress = Progress {
            events: "/events/a?have=1".into(),
            part: Some(0.25),
            sentence: "1 of 4 repetitions".into(),
            ..Progress::default()
        };
        let navigation = vec![Link { text: "Runs".into(), to: "/".into(), is_here: true }];
        document.serve(&Served {
            navigation,
            before: vec![search],
            progress: Some(progress),
            ..Served::default()
        })
    }

    #[test]
    fn a_served_page_has_links_forms_and_progress_and_escapes_what_is_in_them() {
        let page = page();
        for part in [
            "<a aria-current=\"page\" href=\"/\">Runs</a>",
            "<a href=\"/report/a%20b.pitot\">a &lt;b&gt;</a>",
            "value=\"a &quot;b&quot;.pitot\" aria-label=\"Choose a &lt;b&gt;\"",
            "<input type=\"search\" name=\"q\" value=\"&quot;&gt;&lt;script&gt;\">",
            "<option value=\"name\" selected>Name</option>",
            "data-events=\"/events/a?have=1\"><progress aria-label=\"Progress\" value=\"0.2500\">",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("\"><script>\""));
    }

    #[test]
    fn only_a_served_page_may_connect_and_send_forms_and_only_to_its_server() {
        let policy = |page: &str| {
            let policy = page.split_once("Content-Security-Policy\" content=\"").unwrap().1;
            policy.split_once("\">").unwrap().0.to_owned()
        };
        let served = policy(&page());
        assert!(
            served.contains("connect-src 'self'; form-action 'self'")
                && served.contains("default-src 'none'")
        );
        let file = policy(&Document::default().render(crate::Format::Html).unwrap());
        assert!(!file.contains("'self'") && file.contains("form-action 'none'"), "{file}");
    }
}
