//! Where requests may come from: the names in `Host` and the pages in `Origin`. A page that has its own name point at this machine is
//! refused by both.

use std::net::{IpAddr, SocketAddr};

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, Uri};

use super::HttpOptions;

/// The names and pages that are let in.
pub(super) struct Places {
    /// In lower case, with or without a port.
    hosts: Vec<String>,
    origins: Vec<String>,
    /// Whether any address may stand in `Host`. A page can have a name point anywhere, but not an address.
    addresses: bool,
}

/// Why a request is not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stranger {
    Host,
    Origin,
}

impl Stranger {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Host => {
                "the name in the header `Host` is not one of this server's; reach it by its address, or add the name to `hosts` of its configuration"
            }
            Self::Origin => "the page in the header `Origin` may not call this server; add it to `origins` of its configuration",
        }
    }
}

impl Places {
    pub(super) fn new(options: &HttpOptions, address: SocketAddr, published: Option<&str>) -> Self {
        let mut hosts: Vec<String> = options.hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        hosts.extend(published.map(str::to_ascii_lowercase));
        Self {
            hosts,
            origins: options.origins.iter().map(|origin| origin.to_ascii_lowercase()).collect(),
            addresses: !address.ip().is_loopback(),
        }
    }

    /// Whether a request with these headers may be looked at; the page that is to be told so, if one asks.
    ///
    /// # Errors
    /// When it may not.
    pub(super) fn admit<'h>(&self, headers: &'h HeaderMap, target: &Uri) -> Result<Option<&'h str>, Stranger> {
        let host = only(headers, &HOST)?.ok_or(Stranger::Host)?.to_ascii_lowercase();
        let named = target.authority().map(|authority| authority.as_str().to_ascii_lowercase());
        if !self.is_ours(&host) || !named.is_none_or(|named| self.is_ours(&named)) {
            return Err(Stranger::Host);
        }
        let origin = match headers.get_all(ORIGIN).iter().count() {
            0 => return Ok(None),
            1 => headers.get(ORIGIN).and_then(|origin| origin.to_str().ok()).ok_or(Stranger::Origin)?,
            _ => return Err(Stranger::Origin),
        };
        let lower = origin.to_ascii_lowercase();
        let own = lower.strip_prefix("http://").or_else(|| lower.strip_prefix("https://")) == Some(host.as_str());
        if own || self.origins.contains(&lower) { Ok(Some(origin)) } else { Err(Stranger::Origin) }
    }

    fn is_ours(&self, host: &str) -> bool {
        let Some(name) = name_of(host) else { return false };
        let address: Option<IpAddr> = name.trim_start_matches('[').trim_end_matches(']').parse().ok();
        let known = self.hosts.iter().any(|ours| ours == host || ours == name);
        known || name == "localhost" || address.is_some_and(|address| self.addresses || address.is_loopback())
    }
}

fn only<'h>(headers: &'h HeaderMap, name: &http::HeaderName) -> Result<Option<&'h str>, Stranger> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(|value| Some(value.trim())).map_err(|_| Stranger::Host),
        (Some(_), Some(_)) => Err(Stranger::Host),
    }
}

/// The name or address without its port.
fn name_of(host: &str) -> Option<&str> {
    let end = if host.starts_with('[') { host.find(']')? + 1 } else { host.find(':').unwrap_or(host.len()) };
    let (name, port) = host.split_at_checked(end)?;
    let port_fits = port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    (port_fits && !name.is_empty()).then_some(name)
}

/// Whether it can stand in `Host`.
pub(super) fn is_host(host: &str) -> bool {
    name_of(host).is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._[]:".contains(&byte)))
}

/// Whether it can stand in `Origin`, and names a page.
pub(super) fn is_origin(origin: &str) -> bool {
    origin.split_once("://").is_some_and(|(scheme, host)| {
        !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) && is_host(host)
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn places(address: &str) -> Places {
        let mut options = HttpOptions::new(address.parse().unwrap());
        options.hosts = vec!["Tools.Example.com".to_owned(), "other:8443".to_owned()];
        options.origins = vec!["https://app.example.com".to_owned()];
        Places::new(&options, options.address, Some("published.example.com"))
    }

    fn asked(places: &Places, host: &str, origin: Option<&str>) -> Result<(), Stranger> {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        places.admit(&headers, &Uri::from_static("/mcp")).map(|_| ())
    }

    #[test]
    fn names_that_are_not_ours_are_refused() {
        let loopback = places("127.0.0.1:80");
        let everywhere = places("0.0.0.0:80");
        for (host, on_loopback, on_all) in [
            ("localhost", true, true),
            ("LOCALHOST:8050", true, true),
            ("127.0.0.1:8050", true, true),
            ("[::1]:8050", true, true),
            ("[::1]", true, true),
            ("192.0.2.7:8050", false, true),
            ("tools.example.com", true, true),
            ("tools.example.com:1", true, true),
            ("published.example.com", true, true),
            ("other:8443", true, true),
            ("other", false, false),
            ("other:1", false, false),
            ("evil.example.com", false, false),
            ("localhost.evil.example.com", false, false),
            ("127.0.0.1.evil.example.com", false, false),
            ("localhost:port", false, false),
            ("", false, false),
            ("[::1", false, false),
        ] {
            assert_eq!(asked(&loopback, host, None).is_ok(), on_loopback, "{host} on loopback");
            assert_eq!(asked(&everywhere, host, None).is_ok(), on_all, "{host} everywhere");
        }
    }

    #[test]
    fn pages_that_are_not_ours_are_refused() {
        let places = places("127.0.0.1:8050");
        for (host, origin, let_in) in [
            ("localhost:8050", "http://localhost:8050", true),
            ("127.0.0.1:8050", "http://127.0.0.1:8050", true),
            ("localhost:8050", "https://app.example.com", true),
            ("localhost:8050", "https://APP.example.com", true),
            ("localhost:8050", "http://app.example.com", false),
            ("localhost:8050", "http://localhost:3000", false),
            ("localhost:8050", "http://evil.example.com", false),
            ("localhost:8050", "null", false),
            ("localhost:8050", "", false),
            ("evil.example.com", "http://evil.example.com", false),
        ] {
            assert_eq!(asked(&places, host, Some(origin)).is_ok(), let_in, "{origin} at {host}");
        }
    }
}
