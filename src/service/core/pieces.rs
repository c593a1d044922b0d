//! Answers that are written while what they tell is read: a piece is read and made when whoever takes them has taken the one before.
//!
//! Between two pieces nothing is held but what the writer remembers: no connection, no transaction, no turn. So a client may
//! be as slow as it likes, and one that goes away ends the reading.

use futures::stream::{BoxStream, StreamExt, unfold};

use crate::service::core::error::Result;

/// A text in pieces, in order. After an error there are no more: the text is cut off.
pub type Pieces = BoxStream<'static, Result<String>>;

/// Something that makes a text piece by piece.
pub(crate) trait PieceWriter: Send + 'static {
    /// The next piece, which may be empty. `None`: that was all.
    fn next(&mut self) -> impl Future<Output = Result<Option<String>>> + Send;
}

pub(crate) fn pieces<W: PieceWriter>(writer: W) -> Pieces {
    let step = |state: Option<W>| async move {
        let mut writer = state?;
        match writer.next().await {
            Ok(Some(piece)) => Some((Ok(piece), Some(writer))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    };
    // A body asks once more behind the end.
    unfold(Some(writer), step).fuse().boxed()
}
