//! What a server keeps of requests that have names of their own, for the result.

use pitot_proto::client::Kept as Content;
use pitot_results::receipts::{Kept, Receipts, mail_text};

use crate::digest::digest_of;

/// Receipts of which none is given yet.
pub(crate) fn of(content: Content<'_>) -> Receipts {
    let (of, (bytes, sha256)) = match content {
        Content::Upload(body) => (Kept::Uploads, digest_of(body)),
        Content::Mail(mail) => (Kept::Mail, digest_of(&mail_text(mail))),
    };
    Receipts { of, bytes: bytes as u64, sha256, connections: Vec::new() }
}

#[cfg(test)]
mod tests {
    use pitot_proto::client::BLANK_RECEIPT;
    use pitot_results::receipts::ReceiptName;

    use super::*;

    #[test]
    fn a_name_as_it_is_written_is_one_as_it_is_read() {
        let name = ReceiptName::find(BLANK_RECEIPT).unwrap();
        assert_eq!((name.connection, name.number), ("receipt-000000-000000", 0));
    }

    #[test]
    fn of_a_mail_the_text_is_kept_and_of_an_upload_all() {
        let (mail, upload) = (of(Content::Mail(b"A: b\r\n\r\nabc\r\n")), of(Content::Upload(b"abc")));
        assert_eq!((mail.of, mail.bytes), (Kept::Mail, 3));
        assert_eq!((upload.of, &upload.sha256), (Kept::Uploads, &mail.sha256));
    }
}
