//! URLs of outbound calls: parsed as browsers parse them, and resolved for redirects.

use axum::http::Uri;
use url::Url;

/// Parses the URL of a call. Other characters are percent-encoded, dot segments are removed, and
/// the fragment is dropped because it is not sent.
pub(super) fn parse(text: &str) -> Result<Url, String> {
    // Browsers accept `http:a` and `http:///a`; in a definition they are mistakes.
    let rest = text.split_once("://").map_or("", |(_, rest)| rest);
    if rest.is_empty() || rest.starts_with(['/', '?', '#']) {
        return Err(not_http(text));
    }
    check_url(Url::parse(text), text)
}

/// Resolves the target of a redirect (RFC 3986, section 5.2).
pub(super) fn resolve_redirect(base: &Url, location: &str) -> Result<Url, String> {
    check_url(base.join(location.trim()), location)
}

/// Converts a URL for the HTTP client.
pub(super) fn to_uri(url: &Url) -> Result<Uri, String> {
    url.as_str().parse().map_err(|error| format!("{url}: {error}"))
}

fn check_url(read: Result<Url, url::ParseError>, text: &str) -> Result<Url, String> {
    let mut url = read.map_err(|error| format!("{text:?}: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(not_http(text));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("{text:?} has a name or a password in it: use a header"));
    }
    url.set_fragment(None);
    Ok(url)
}

fn not_http(text: &str) -> String {
    format!("{text:?} is not an address that begins with http:// or https://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let parse = |text| parse(text).map(|url| to_uri(&url).unwrap().to_string());
        assert_eq!(parse("http://a.example/x y?q=ä").unwrap(), "http://a.example/x%20y?q=%C3%A4");
        assert_eq!(parse("https://a.example").unwrap(), "https://a.example/");
        assert_eq!(parse("http://a/b#c").unwrap(), "http://a/b");
        assert_eq!(parse("http://A.example:80/b/./../c").unwrap(), "http://a.example/c");
        assert_eq!(parse("http://bücher.example/").unwrap(), "http://xn--bcher-kva.example/");
        let bad = [
            "",
            "a.example/x",
            "ftp://a/",
            "file:///etc/passwd",
            "http://",
            "//a",
            "http:/a",
            "http:///a",
            "http://me:secret@a/",
        ];
        for bad in bad {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    /// Dot segments are removed (RFC 3986, sections 5.2.4 and 5.4).
    #[test]
    fn redirects_lead_where_they_say() {
        let base = parse("https://a.example:8443/b/c/d;p?q").unwrap();
        let cases = [
            ("http://b.example/x", "http://b.example/x"),
            ("//b.example/x", "https://b.example/x"),
            ("/x?y", "https://a.example:8443/x?y"),
            ("g", "https://a.example:8443/b/c/g"),
            ("./g", "https://a.example:8443/b/c/g"),
            ("g/", "https://a.example:8443/b/c/g/"),
            ("?y=2", "https://a.example:8443/b/c/d;p?y=2"),
            ("", "https://a.example:8443/b/c/d;p?q"),
            (".", "https://a.example:8443/b/c/"),
            ("..", "https://a.example:8443/b/"),
            ("../g", "https://a.example:8443/b/g"),
            ("../../../../g", "https://a.example:8443/g"),
            ("/./g/../h", "https://a.example:8443/h"),
            ("g#s", "https://a.example:8443/b/c/g"),
        ];
        for (location, expected) in cases {
            assert_eq!(resolve_redirect(&base, location).unwrap().as_str(), expected, "{location}");
        }
        assert!(resolve_redirect(&base, "gopher://x/").is_err());
        assert!(resolve_redirect(&base, "javascript:alert(1)").is_err());
    }

    #[test]
    fn the_usual_port_is_the_same_as_none() {
        let origin = |text: &str| parse(text).unwrap().origin();
        assert_eq!(origin("http://A/x"), origin("http://a:80/y"));
        assert_ne!(origin("http://a/"), origin("https://a/"));
        assert_ne!(origin("http://a/"), origin("http://a:8080/"));
    }
}
