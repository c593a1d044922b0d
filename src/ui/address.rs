//! Where a request comes from: its connection's address or, behind a proxy that the operator trusts, the one that proxy
//! names in `X-Forwarded-For`.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use axum::http::HeaderMap;
use serde::Deserialize;

const FORWARDED_FOR: &str = "x-forwarded-for";
/// Proxies that a request may have come through.
const MOST_HOPS: usize = 16;

/// Addresses with one beginning: `10.0.0.0/8`, or a single one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Network, String> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| "must be an address or a network, as 10.0.0.0/8")?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), str::parse::<u32>).map_err(|_| "the length of a network is a number")?;
        if bits > most { Err(format!("a network's length is at most {most}")) } else { Ok(Network { address, bits }) }
    }
}

impl TryFrom<String> for Network {
    type Error = String;

    fn try_from(text: String) -> Result<Network, String> {
        text.parse()
    }
}

impl Network {
    fn holds(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                self.bits == 0 || (own.to_bits() ^ other.to_bits()).leading_zeros() >= self.bits
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                self.bits == 0 || (own.to_bits() ^ other.to_bits()).leading_zeros() >= self.bits
            }
            _ => false,
        }
    }
}

/// The address that the last proxy to be trusted was asked from. What stands in front of that may be made up.
pub fn client(peer: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.holds(address));
    let named = headers.get_all(FORWARDED_FOR).iter().rev().filter_map(|value| value.to_str().ok());
    let mut hops = named.flat_map(|value| value.rsplit(',')).map(str::trim).take(MOST_HOPS);
    let mut client = peer;
    while is_trusted(client)
        && let Some(before) = hops.next().and_then(address)
    {
        client = before;
    }
    client.to_canonical()
}

/// Some proxies add a port, and brackets.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| Some(text.parse::<SocketAddr>().ok()?.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client_of(peer: &str, forwarded: &[&str], trusted: &[&str]) -> String {
        let headers = forwarded.iter().map(|value| (FORWARDED_FOR.parse().unwrap(), value.parse().unwrap()));
        let trusted: Vec<Network> = trusted.iter().map(|network| network.parse().unwrap()).collect();
        client(peer.parse().unwrap(), &headers.collect(), &trusted).to_string()
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        assert_eq!(client_of("192.0.2.1", &["203.0.113.7"], &[]), "192.0.2.1");
        assert_eq!(client_of("10.0.0.1", &["203.0.113.7"], &["10.0.0.0/8"]), "203.0.113.7");
        assert_eq!(
            client_of("10.0.0.1", &["1.1.1.1, 203.0.113.7"], &["10.0.0.0/8"]),
            "203.0.113.7",
            "made up in front"
        );
        let two = ["1.1.1.1, 203.0.113.7", "10.9.9.9"];
        assert_eq!(client_of("10.0.0.1", &two, &["10.0.0.0/8"]), "203.0.113.7", "through two of them");
        assert_eq!(client_of("10.0.0.1", &[], &["10.0.0.0/8"]), "10.0.0.1");
        assert_eq!(client_of("10.0.0.1", &["nonsense"], &["10.0.0.0/8"]), "10.0.0.1");
        assert_eq!(client_of("::1", &["[2001:db8::7]:443"], &["::1"]), "2001:db8::7");
        assert_eq!(client_of("::ffff:127.0.0.1", &["203.0.113.7:80"], &["127.0.0.1"]), "203.0.113.7");
    }

    #[test]
    fn networks_are_read_and_others_refused() {
        let holds = |network: &str, address: &str| network.parse::<Network>().unwrap().holds(address.parse().unwrap());
        assert!(holds("10.0.0.0/8", "10.255.0.1") && !holds("10.0.0.0/8", "11.0.0.1") && holds("0.0.0.0/0", "9.9.9.9"));
        assert!(holds("2001:db8::/32", "2001:db8:1::1") && !holds("::/0", "9.9.9.9") && holds("::1", "::1"));
        for odd in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/x", "localhost", "10.0.0.0/-1"] {
            assert!(odd.parse::<Network>().is_err(), "{odd}");
        }
    }
}
