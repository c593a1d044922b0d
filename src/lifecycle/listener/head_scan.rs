//! How often a request's head says how long its body is. The HTTP library keeps one of the headers and drops the others,
//! so who comes behind it can't tell; a gateway on the way may have gone by another one.

/// Longer names are none of those that count.
const LONGEST_NAME: usize = 20;

/// Reads the bytes of one head as they come.
#[derive(Debug, Default)]
pub struct HeadScan {
    /// The beginning of a line, up to its colon.
    name: Vec<u8>,
    is_named: bool,
    /// The first line has come.
    began: bool,
    ended: bool,
    lengths: usize,
    codings: usize,
}

impl HeadScan {
    pub fn read(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match byte {
                _ if self.ended => return,
                b'\r' => {}
                b'\n' => self.end_line(),
                b':' => self.is_named = true,
                byte if !self.is_named && self.name.len() < LONGEST_NAME => self.name.push(byte.to_ascii_lowercase()),
                _ => {}
            }
        }
    }

    fn end_line(&mut self) {
        // Empty lines before a request count as nothing.
        let is_empty = !self.is_named && self.name.is_empty();
        self.ended = is_empty && self.began;
        self.began |= !is_empty;
        if self.is_named {
            self.lengths += usize::from(self.name == b"content-length");
            self.codings += usize::from(self.name == b"transfer-encoding");
        }
        self.name.clear();
        self.is_named = false;
    }

    /// Returns true if the length of the body is said more than once.
    pub fn is_ambiguous(&self) -> bool {
        self.lengths + self.codings > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_ambiguous(head: &str) -> bool {
        // In pieces of every size, as they may come.
        let whole = |size: usize| {
            let mut scan = HeadScan::default();
            head.as_bytes().chunks(size).for_each(|piece| scan.read(piece));
            scan.is_ambiguous()
        };
        let first = whole(1);
        assert!((1..40).all(|size| whole(size) == first), "{head}");
        first
    }

    #[test]
    fn lengths_are_counted_in_the_head_alone() {
        let fine = ["content-length: 5", "Transfer-Encoding: chunked", "x-content-length: 5\r\ncontent-length: 1"];
        let bad = [
            "content-length: 5\r\ncontent-length: 5",
            "Content-Length: 5\r\nTRANSFER-ENCODING: chunked",
            "transfer-encoding: chunked\r\na: b\r\ncontent-length: 0",
            "transfer-encoding: chunked\r\nTransfer-Encoding: identity",
        ];
        for (all, due) in [(&fine[..], false), (&bad[..], true)] {
            for headers in all {
                let body = "\r\n\r\ncontent-length: 1\r\ncontent-length: 2\r\n";
                assert_eq!(
                    is_ambiguous(&format!("\r\nPOST /a:b HTTP/1.1\r\nhost: x\r\n{headers}{body}")),
                    due,
                    "{headers}"
                );
            }
        }
    }
}
