//! The names of requests: `request-`, six hexadecimal digits of the process, `-`, six of the connection, `-`, ten of the request.

use std::fmt;

/// The placeholder for the name in a path.
pub const NAME_PLACE: &str = "{request-id}";
/// The placeholder's value until a request is sent.
pub const BLANK_NAME: &str = "request-000000-000000-0000000000";

/// What every name begins with.
const BEGINNING: &str = "request-";
const CONNECTION_LENGTH: usize = BEGINNING.len() + 6 + 1 + 6;
/// Digits of a request's number, behind one more `-`.
const NUMBER_LENGTH: usize = 10;

/// The prefix of the names of a connection's requests: `request-0004d2-00001f`.
pub fn connection_name(process: u32, connection: u32) -> String {
    format!("{BEGINNING}{process:06x}-{connection:06x}")
}

/// The name of a request, stored with it in the name of a file or in the header of a mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestName<'t> {
    /// The prefix of its connection ([`connection_name`]).
    pub connection: &'t str,
    /// Its number on that connection.
    pub number: u64,
}

impl<'t> RequestName<'t> {
    /// The first name in a text.
    pub fn find(text: &'t str) -> Option<RequestName<'t>> {
        text.match_indices(BEGINNING).find_map(|(at, _)| {
            let connection = text.get(at..at + CONNECTION_LENGTH)?;
            let number = text.get(at + CONNECTION_LENGTH..at + CONNECTION_LENGTH + 1 + NUMBER_LENGTH)?;
            let number = u64::from_str_radix(number.strip_prefix('-')?, 16).ok()?;
            Some(RequestName { connection, number })
        })
    }
}

impl fmt::Display for RequestName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:010x}", self.connection, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_they_stand() {
        let name = |connection, number| Some(RequestName { connection, number });
        let of_mail = "Received: by mx\r\nMessage-ID: <request-0004d2-00001f-00000003e8@pitot.invalid>\r\n";
        assert_eq!(RequestName::find(of_mail), name("request-0004d2-00001f", 1000));
        assert_eq!(
            RequestName::find("request-x request-000001-000002-0000000000.dat"),
            name("request-000001-000002", 0)
        );
        for none in
            ["", "request-", "request-000001-000002-", "request-000001-000002-00000000zz", "über request-ü"]
        {
            assert_eq!(RequestName::find(none), None, "{none}");
        }
    }

    #[test]
    fn a_name_as_it_is_written_is_one_as_it_is_read() {
        let connection = connection_name(1234, 31);
        let name = RequestName { connection: &connection, number: 1000 };
        assert_eq!(name.to_string(), "request-0004d2-00001f-00000003e8");
        assert_eq!(RequestName::find(&name.to_string()), Some(name));
        let blank = RequestName { connection: &connection_name(0, 0), number: 0 };
        assert_eq!((RequestName::find(BLANK_NAME), blank.to_string()), (Some(blank), BLANK_NAME.to_owned()));
    }
}
