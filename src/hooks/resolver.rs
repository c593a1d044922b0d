//! Looking names up so that only addresses of the public internet come out. What is connected to is what was judged: a
//! name that means something else a moment later gains nothing by it.

use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::domain::hook::address::is_public;

/// All addresses of a host lie elsewhere than in the public internet.
#[derive(Debug, thiserror::Error)]
#[error("no address in the public internet")]
pub struct Refused;

pub struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(public(found)?)
        })
    }
}

pub(super) fn public(found: Vec<SocketAddr>) -> Result<Addrs, Refused> {
    let public: Vec<SocketAddr> = found.into_iter().filter(|address| is_public(address.ip())).collect();
    if public.is_empty() { Err(Refused) } else { Ok(Box::new(public.into_iter())) }
}
