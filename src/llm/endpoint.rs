//! The address that a wire format is posted to.

use reqwest::Url;

use super::config::{SetupError, UpstreamConfig};
use super::wire::Wire;

/// The full address: `base_url` itself where it already names the endpoint, else with the endpoint's path
/// added, after `/v1` where no segment of it is a version.
pub(super) fn endpoint(config: &UpstreamConfig, wire: Wire) -> Result<Url, SetupError> {
    let refuse = |reason| SetupError::BaseUrl { name: config.name.clone(), reason };
    let mut url = Url::parse(config.base_url.trim()).map_err(|_| refuse("is not an address"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse("must be http or https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refuse("must not hold credentials; use api_key or headers"));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    if !path.ends_with(&format!("/{}", wire.path())) {
        let version = if path.split('/').any(is_version) { "" } else { "/v1" };
        url.set_path(&format!("{path}{version}/{}", wire.path()));
    }
    Ok(url)
}

/// `v1`, `v4`, `v1beta`.
fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()))
}
