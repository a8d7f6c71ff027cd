//! Protects against requests that a browser sends for a page of another site.
//!
//! Any page can make a browser send requests to this server, even if it listens on loopback only.
//! Browsers send the origin; unsafe methods from another origin are rejected (CSRF). A server
//! without authentication also accepts only loopback names in `Host`, so that no foreign name can
//! be pointed at it (DNS rebinding).

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, Method};

/// Whether a request with an unsafe method comes from a page of another origin.
pub(super) fn is_cross_origin_write(method: &Method, headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN).and_then(|value| value.to_str().ok()) else {
        return false;
    };
    let host = headers.get(HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let same = origin.split_once("://").is_some_and(|(_, origin)| origin == host);
    !method.is_safe() && !same
}

/// Whether `Host` names this machine.
pub(super) fn is_loopback_host(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST).and_then(|value| value.to_str().ok()) else {
        // Only browsers are affected by DNS rebinding, and they always send `Host`.
        return true;
    };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            (axum::http::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        });
        pairs.collect()
    }

    #[test]
    fn another_site_may_look_and_not_touch() {
        let foreign = headers(&[("host", "127.0.0.1:8088"), ("origin", "https://evil.example")]);
        assert!(
            is_cross_origin_write(&Method::POST, &foreign)
                && !is_cross_origin_write(&Method::GET, &foreign)
        );
        let null = headers(&[("host", "127.0.0.1:8088"), ("origin", "null")]);
        assert!(is_cross_origin_write(&Method::POST, &null));
        let own = headers(&[("host", "127.0.0.1:8088"), ("origin", "http://127.0.0.1:8088")]);
        assert!(!is_cross_origin_write(&Method::POST, &own));
        assert!(!is_cross_origin_write(&Method::POST, &headers(&[("host", "127.0.0.1:8088")])));
    }

    #[test]
    fn only_names_of_this_machine_are_local() {
        for host in ["localhost:8088", "127.0.0.1:8088", "[::1]:8088", "LOCALHOST", "127.3.2.1"] {
            assert!(is_loopback_host(&headers(&[("host", host)])), "{host}");
        }
        for host in ["evil.example", "127.0.0.1.nip.io", "10.0.0.1:8088", "localhost.evil.example"]
        {
            assert!(!is_loopback_host(&headers(&[("host", host)])), "{host}");
        }
    }
}
