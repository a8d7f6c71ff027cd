//! Addresses of calls: read as people write them, and joined with what a redirect says.

use std::fmt::Write as _;

use axum::http::Uri;

/// Reads the address of a call. What cannot stand in one is written as `%xx`.
pub(super) fn read(text: &str) -> Result<Uri, String> {
    let without_fragment = text.split('#').next().unwrap_or_default();
    let uri: Uri =
        escaped(without_fragment).parse().map_err(|error| format!("{text:?}: {error}"))?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http" | "https"), Some(host)) if !host.is_empty() => Ok(uri),
        _ => Err(format!("{text:?} is not an address that begins with http:// or https://")),
    }
}

/// Where a redirect leads, from the address that gave it (RFC 3986, section 5.2).
pub(super) fn join(base: &Uri, location: &str) -> Result<Uri, String> {
    let location = location.trim();
    let scheme = base.scheme_str().unwrap_or("http");
    let authority = base.authority().map_or("", |authority| authority.as_str());
    let has_scheme = location.split(['/', '?', '#']).next().is_some_and(|head| head.contains(':'));
    let text = if has_scheme {
        location.to_owned()
    } else if let Some(rest) = location.strip_prefix("//") {
        format!("{scheme}://{rest}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else if location.starts_with('?') {
        format!("{scheme}://{authority}{}{location}", base.path())
    } else {
        let directory = base.path().rsplit_once('/').map_or("", |(directory, _)| directory);
        format!("{scheme}://{authority}{directory}/{location}")
    };
    read(&text)
}

/// Whether two addresses belong to the same server.
pub(super) fn is_same_server(one: &Uri, other: &Uri) -> bool {
    let port = |uri: &Uri| {
        uri.port_u16().or(match uri.scheme_str() {
            Some("https") => Some(443),
            _ => Some(80),
        })
    };
    let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
    one.scheme_str() == other.scheme_str() && host(one) == host(other) && port(one) == port(other)
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            0x21..=0x7e if !b"\"<>\\^`{|}".contains(&byte) => escaped.push(char::from(byte)),
            // Writing to a String cannot fail.
            _ => drop(write!(escaped, "%{byte:02X}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let read = |text| read(text).map(|uri| uri.to_string());
        assert_eq!(read("http://a.example/x y?q=ä").unwrap(), "http://a.example/x%20y?q=%C3%A4");
        assert_eq!(read("https://a.example").unwrap(), "https://a.example/");
        assert_eq!(read("http://a/b#c").unwrap(), "http://a/b");
        for bad in
            ["", "a.example/x", "ftp://a/", "file:///etc/passwd", "http://", "//a", "http:/a"]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn redirects_lead_where_they_say() {
        let base: Uri = "https://a.example:8443/b/c?d=1".parse().unwrap();
        let cases = [
            ("http://b.example/x", "http://b.example/x"),
            ("//b.example/x", "https://b.example/x"),
            ("/x?y", "https://a.example:8443/x?y"),
            ("x", "https://a.example:8443/b/x"),
            ("?y=2", "https://a.example:8443/b/c?y=2"),
        ];
        for (location, expected) in cases {
            assert_eq!(join(&base, location).unwrap().to_string(), expected, "{location}");
        }
        assert!(join(&base, "gopher://x/").is_err());
        assert!(join(&base, "javascript:alert(1)").is_err());
    }

    #[test]
    fn the_usual_port_is_the_same_as_none() {
        let uri = |text: &str| text.parse::<Uri>().unwrap();
        assert!(is_same_server(&uri("http://A/x"), &uri("http://a:80/y")));
        assert!(!is_same_server(&uri("http://a/"), &uri("https://a/")));
        assert!(!is_same_server(&uri("http://a/"), &uri("http://a:8080/")));
    }
}
