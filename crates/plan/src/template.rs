//! Lines of generated files: texts with numbers in them.

/// A part of a line template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinePiece<'a> {
    /// As it stands.
    Text(&'a str),
    /// The line's number, or that number modulo a divisor.
    Number(Option<u64>),
}

/// Parses a line such as `u{i}@d{i%10}.test`. Other braces are text.
pub fn line_template(line: &str) -> Vec<LinePiece<'_>> {
    let mut parts = Vec::new();
    let mut rest = line;
    let mut from = 0;
    while let Some(open) = rest[from..].find("{i").map(|at| at + from) {
        let close = rest[open..].find('}').map(|at| at + open);
        let number = close.and_then(|close| match &rest[open + 2..close] {
            "" => Some(None),
            inside => inside.strip_prefix('%')?.parse::<u64>().ok().filter(|n| *n > 0).map(Some),
        });
        let (Some(close), Some(number)) = (close, number) else {
            from = open + 2;
            continue;
        };
        if open > 0 {
            parts.push(LinePiece::Text(&rest[..open]));
        }
        parts.push(LinePiece::Number(number));
        rest = &rest[close + 1..];
        from = 0;
    }
    if !rest.is_empty() {
        parts.push(LinePiece::Text(rest));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_file_carry_their_numbers() {
        let parts = line_template("u{i}@d{i%9113}.{x}{i%0}");
        let wanted = [
            LinePiece::Text("u"),
            LinePiece::Number(None),
            LinePiece::Text("@d"),
            LinePiece::Number(Some(9113)),
            LinePiece::Text(".{x}{i%0}"),
        ];
        assert_eq!(parts, wanted);
        assert_eq!(line_template("{i}"), [LinePiece::Number(None)]);
        assert_eq!(line_template("{i"), [LinePiece::Text("{i")]);
    }
}
