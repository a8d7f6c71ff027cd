//! Host overrides: send calls for some hosts to mocks, for development and tests.
//!
//! The `Host` header and the name that the certificate must match do not change. An address that
//! the configuration names may be called regardless of the egress policy.

use std::collections::BTreeMap;

use url::Url;

/// The host overrides.
#[derive(Debug, Clone, Default)]
pub struct HostOverrides(Vec<HostOverride>);

#[derive(Debug, Clone)]
struct HostOverride {
    /// A host name, or `*.` and a domain for all hosts below it.
    pattern: String,
    to: OverrideTarget,
}

/// The address that replaces a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OverrideTarget {
    pub(super) host: String,
    /// The port; that of the request by default.
    pub(super) port: Option<u16>,
    /// Whether to connect without TLS, also for `https`.
    pub(super) is_plain: bool,
}

impl HostOverrides {
    /// Parses the configuration; the error names the invalid entry.
    pub fn new(hosts: &BTreeMap<String, String>) -> Result<Self, String> {
        let read = |(pattern, to): (&String, &String)| {
            let wrong = |what: &str| format!("egress.host_overrides.{pattern:?} = {to:?}: {what}");
            let name = pattern.strip_prefix("*.").unwrap_or(pattern);
            if name.is_empty() || name.contains(['*', '/', ':', ' ']) {
                return Err(wrong("the host is a name, or `*.` and a name"));
            }
            let to = parse_target(to).ok_or_else(|| {
                wrong("the address is `HOST:PORT`, or `http://HOST:PORT` for one without TLS")
            })?;
            Ok(HostOverride { pattern: pattern.to_ascii_lowercase(), to })
        };
        let mut overrides: Vec<HostOverride> = hosts.iter().map(read).collect::<Result<_, _>>()?;
        // Exact names match before patterns, longer patterns before shorter ones.
        let order =
            |it: &HostOverride| (it.pattern.starts_with('*'), usize::MAX - it.pattern.len());
        overrides.sort_by_key(order);
        Ok(Self(overrides))
    }

    /// The override of a host, if there is one.
    pub(super) fn find(&self, host: &str) -> Option<&OverrideTarget> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let fits = |it: &&HostOverride| match it.pattern.strip_prefix('*') {
            // `*.example.com` does not match `example.com` itself.
            Some(end) => host.ends_with(end) && host.len() > end.len(),
            None => host == it.pattern,
        };
        self.0.iter().find(fits).map(|it| &it.to)
    }
}

fn parse_target(text: &str) -> Option<OverrideTarget> {
    let (is_plain, rest) = match text.strip_prefix("http://") {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix("https://").unwrap_or(text)),
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.is_empty() || rest.contains(['/', '?', '#', '@']) {
        return None;
    }
    // A scheme without default port, because `url` drops the default port of known schemes.
    let url = Url::parse(&format!("meantime://{rest}")).ok()?;
    let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
    Some(OverrideTarget { host, port: url.port(), is_plain })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overrides(pairs: &[(&str, &str)]) -> Result<HostOverrides, String> {
        let pairs = pairs.iter().map(|(host, to)| ((*host).to_owned(), (*to).to_owned()));
        HostOverrides::new(&pairs.collect())
    }

    #[test]
    fn the_most_exact_name_decides() {
        let known = overrides(&[
            ("*.example.com", "127.0.0.1:9443"),
            ("*.pay.example.com", "[::1]:9444"),
            ("api.example.com", "http://localhost:9000/"),
        ]);
        let known = known.unwrap();
        let found = |host: &str| {
            let to = known.find(host)?;
            Some(format!("{}|{:?}|{}", to.host, to.port, to.is_plain))
        };
        assert_eq!(found("API.example.com.").as_deref(), Some("localhost|Some(9000)|true"));
        assert_eq!(found("crm.example.com").as_deref(), Some("127.0.0.1|Some(9443)|false"));
        assert_eq!(found("a.pay.example.com").as_deref(), Some("::1|Some(9444)|false"));
        assert_eq!(found("example.com"), None);
        assert_eq!(found("badexample.com"), None);
    }

    #[test]
    fn what_is_wrong_is_said_by_name() {
        for (host, to) in
            [("", "a:1"), ("*", "a:1"), ("a.*", "a:1"), ("a", ""), ("a", "b:x"), ("a", "b/c")]
        {
            let error = overrides(&[(host, to)]).unwrap_err();
            assert!(error.contains("egress.host_overrides"), "{error}");
        }
    }
}
