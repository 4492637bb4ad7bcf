//! Text as HTML and SVG, and as Markdown.

/// Text as HTML, also within quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Text as Markdown in one line: `**` and back quotes keep their meaning; HTML, links, images and blocks of code are escaped
/// (CommonMark 0.31, sections 2.4, 6.1, 6.3 and 6.6).
pub(crate) fn markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('`') {
        plain_markdown(&mut escaped, &rest[..at]);
        let from = &rest[at..];
        let run = from.len() - from.trim_start_matches('`').len();
        let code = end_of_code(&from[run..], run).map(|length| from.split_at(length + 2 * run));
        rest = match code {
            Some((code, behind)) => {
                escaped.push_str(&one_line(code));
                behind
            }
            None => {
                escaped.push_str(&"\\`".repeat(run));
                &from[run..]
            }
        };
    }
    plain_markdown(&mut escaped, rest);
    escaped
}

/// The length of the code up to a run of `run` back quotes, if there is one.
fn end_of_code(text: &str, run: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(next) = text[at..].find('`') {
        let found = text[at + next..].len() - text[at + next..].trim_start_matches('`').len();
        if found == run {
            return Some(at + next);
        }
        at += next + found;
    }
    None
}

fn one_line(text: &str) -> String {
    text.replace(['\r', '\n', '\t'], " ")
}

/// Text without code in it.
fn plain_markdown(escaped: &mut String, text: &str) {
    let text = one_line(text);
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let opens = match letter {
            '\\' => true,
            '<' => letters.peek().is_some_and(|&next| next.is_ascii_alphabetic() || "/!?".contains(next)),
            '(' => before == ']',
            _ => false,
        };
        if opens {
            escaped.push('\\');
        }
        escaped.push(letter);
        before = letter;
    }
}

/// A paragraph of Markdown that does not begin another block, such as a heading.
pub(crate) fn markdown_paragraph(text: &str) -> String {
    let paragraph = markdown(text.trim_start());
    let opens = paragraph.starts_with(['#', '>', '+', '-', '=', '~', '|', '[', ':']);
    format!("{}{paragraph}", if opens { "\\" } else { "" })
}

/// A field of a Markdown table: bars are escaped, in code too.
pub(crate) fn markdown_field(text: &str) -> String {
    let mut field = String::with_capacity(text.len());
    let mut is_escaped = false;
    for letter in markdown(text).chars() {
        if letter == '|' {
            field.push_str(if is_escaped { "\\\\" } else { "\\" });
        }
        field.push(letter);
        is_escaped = letter == '\\' && !is_escaped;
    }
    field
}

/// A block of code, with a fence longer than any in the lines.
pub(crate) fn markdown_code(language: &str, lines: &str) -> String {
    let longest = lines.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}\n", lines.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside_cannot_become_markup() {
        assert_eq!(escape("<a href='x'>&\""), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
    }

    #[test]
    fn markdown_shows_what_would_open_html_or_a_link() {
        assert_eq!(markdown("**a** wins, 5 < 8; `<b>`"), "**a** wins, 5 < 8; `<b>`");
        assert_eq!(markdown("<img src=x>\\<b>"), "\\<img src=x>\\\\\\<b>");
        assert_eq!(markdown("![x](http://e.test)"), "![x]\\(http://e.test)");
        // Runs of back quotes that nothing ends are no code.
        assert_eq!(markdown("`a``b <i> ```c"), "\\`a\\`\\`b \\<i> \\`\\`\\`c");
        assert_eq!(markdown("`` ` <i>`` <b>"), "`` ` <i>`` \\<b>");
        assert_eq!(markdown_paragraph("# no\nheading"), "\\# no heading");
        assert_eq!(markdown_paragraph("```sh"), "\\`\\`\\`sh");
    }

    #[test]
    fn a_field_of_markdown_has_one_line_and_no_bar() {
        assert_eq!(markdown_field("a|b\n| c |"), "a\\|b \\| c \\|");
        assert_eq!(markdown_field("\\| `x\\|y`"), "\\\\\\| `x\\\\\\|y`");
    }

    #[test]
    fn a_block_of_code_ends_where_pitot_ends_it() {
        assert_eq!(markdown_code("sh", "a\n```\n# b\n"), "````sh\na\n```\n# b\n````\n");
    }
}
