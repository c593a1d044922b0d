//! The bytes of a request's body as they come. The memory of a large one is made ready, and its blocks are joined, by
//! threads that answer nobody: the system gives out a page of memory at its first touch, which takes longer than to fill it.

use axum::body::Bytes;

use crate::api::problem::Result;
use crate::service::core::offload::aside;

/// Up to here a body grows where it is read.
const FIRST_BLOCK: usize = 256 << 10;
/// A block is as large as all before it together, so that there are few of them and little is made ready in vain.
const LARGEST_BLOCK: usize = 4 << 20;

#[derive(Default)]
pub struct BodyBlocks {
    /// The body, while it is one frame: as most are.
    only: Bytes,
    full: Vec<Vec<u8>>,
    last: Vec<u8>,
    bytes: usize,
}

impl BodyBlocks {
    /// Puts the next bytes behind those that came before.
    pub async fn push(&mut self, frame: Bytes) -> Result<()> {
        if self.bytes == 0 {
            self.bytes = frame.len();
            self.only = frame;
            return Ok(());
        }
        let only = std::mem::take(&mut self.only);
        self.bytes += frame.len();
        for part in [only, frame] {
            self.copy(&part).await?;
        }
        Ok(())
    }

    async fn copy(&mut self, mut part: &[u8]) -> Result<()> {
        while !part.is_empty() {
            let room = self.last.capacity().max(FIRST_BLOCK) - self.last.len();
            if room == 0 {
                let so_far = self.full.iter().map(Vec::len).sum::<usize>() + self.last.len();
                let next = ready(so_far.min(LARGEST_BLOCK)).await?;
                self.full.push(std::mem::replace(&mut self.last, next));
                continue;
            }
            let (now, rest) = part.split_at(room.min(part.len()));
            self.last.extend_from_slice(now);
            part = rest;
        }
        Ok(())
    }

    /// The whole body.
    pub async fn joined(self) -> Result<Bytes> {
        if self.full.is_empty() {
            return Ok(if self.last.is_empty() { self.only } else { self.last.into() });
        }
        let join = move || {
            let mut whole = Vec::with_capacity(self.bytes);
            // Each block is let go as soon as it is copied.
            for block in self.full.into_iter().chain([self.last]) {
                whole.extend_from_slice(&block);
            }
            Bytes::from(whole)
        };
        Ok(aside(join).await?)
    }
}

/// An empty block whose memory was touched. It isn't filled with zeroes, which an allocator has without touching it.
async fn ready(bytes: usize) -> Result<Vec<u8>> {
    let touched = move || {
        let mut block = vec![1; bytes];
        block.clear();
        block
    };
    Ok(aside(touched).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bodies_of_any_size_and_cut_come_out_as_they_went_in() {
        for (bytes, frame) in
            [(0, 1), (1, 1), (9, 4), (FIRST_BLOCK, 65_537), (FIRST_BLOCK + 1, FIRST_BLOCK), (9 << 20, 400_000)]
        {
            let body: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
            let mut blocks = BodyBlocks::default();
            for part in body.chunks(frame) {
                blocks.push(Bytes::copy_from_slice(part)).await.unwrap();
            }
            assert!(blocks.full.iter().all(|block| block.len() == block.capacity() || block.len() >= FIRST_BLOCK));
            assert_eq!(blocks.joined().await.unwrap(), body, "{bytes} in frames of {frame}");
        }
    }
}
