//! The egress policy: which addresses outbound calls may reach.
//!
//! The policy checks the address that is about to be connected to, never a name, because a name can
//! resolve to another address a moment later. Only public addresses are permitted, unless the
//! configuration allows a network. An IPv6 address that embeds an IPv4 address is checked as that.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnet::IpNet;

use crate::settings::EgressSettings;

/// Networks that are not the public internet, from the registries of special-purpose addresses.
const SPECIAL_NETWORKS: &[&str] = &[
    "0.0.0.0/8",         // this network
    "10.0.0.0/8",        // private
    "100.64.0.0/10",     // shared by carriers
    "127.0.0.0/8",       // this machine
    "169.254.0.0/16",    // link-local, with the metadata services of clouds
    "172.16.0.0/12",     // private
    "192.0.0.0/24",      // protocol assignments
    "192.0.2.0/24",      // documentation
    "192.31.196.0/24",   // AS112
    "192.52.193.0/24",   // AMT
    "192.88.99.0/24",    // 6to4 relays
    "192.168.0.0/16",    // private
    "192.175.48.0/24",   // AS112
    "198.18.0.0/15",     // benchmarks
    "198.51.100.0/24",   // documentation
    "203.0.113.0/24",    // documentation
    "224.0.0.0/4",       // multicast
    "240.0.0.0/4",       // reserved, with broadcast
    "::/128",            // unspecified
    "::1/128",           // this machine
    "64:ff9b:1::/48",    // translation of private addresses
    "100::/64",          // discard
    "2001::/23",         // protocol assignments, with Teredo
    "2001:db8::/32",     // documentation
    "2620:4f:8000::/48", // AS112
    "3fff::/20",         // documentation
    "5f00::/16",         // segment routing
    "fc00::/7",          // unique local
    "fe80::/10",         // link-local
    "fec0::/10",         // site-local, of old
    "ff00::/8",          // multicast
];

/// Decides which addresses may be connected to.
#[derive(Debug, Clone)]
pub struct EgressPolicy {
    special: Vec<IpNet>,
    allow: Vec<IpNet>,
    ports: Vec<u16>,
}

impl EgressPolicy {
    /// Builds the policy from the configuration; the error names the invalid entry.
    pub fn new(settings: &EgressSettings) -> Result<Self, String> {
        let net = |text: &str| -> Result<IpNet, String> {
            let address = text.parse::<IpAddr>().map(IpNet::from);
            let net = address.or_else(|_| text.parse());
            net.map_err(|_| format!("egress.allow: {text:?} is not a network such as 10.1.0.0/16"))
        };
        let special = SPECIAL_NETWORKS.iter().map(|text| net(text)).collect::<Result<_, _>>()?;
        let allow = settings.allow.iter().map(|text| net(text)).collect::<Result<_, _>>()?;
        Ok(Self { special, allow, ports: settings.ports.clone() })
    }

    /// A policy that permits everything, for addresses that the operator has chosen.
    pub fn allow_all() -> Self {
        Self { special: Vec::new(), allow: Vec::new(), ports: Vec::new() }
    }

    /// Whether an address may be connected to. Allowed networks may be called on any port.
    pub fn permits(&self, address: SocketAddr) -> bool {
        let ip = embedded_ipv4(address.ip());
        let within = |nets: &[IpNet]| nets.iter().any(|net| net.contains(&ip));
        let is_port = self.ports.is_empty() || self.ports.contains(&address.port());
        within(&self.allow) || (!within(&self.special) && is_port)
    }
}

/// The IPv4 address that an IPv6 address embeds, or the address itself.
fn embedded_ipv4(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = ip else { return ip };
    let segments = v6.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        _ if v6 <= Ipv6Addr::LOCALHOST => ip,
        // IPv4-compatible, IPv4-mapped, IPv4-translated, NAT64, 6to4.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => v4(high, low),
        _ => ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::EgressSettings;

    fn policy(allow: &[&str], ports: &[u16]) -> EgressPolicy {
        let allow = allow.iter().map(|text| (*text).to_owned()).collect();
        let settings = EgressSettings { allow, ports: ports.to_vec(), ..EgressSettings::default() };
        EgressPolicy::new(&settings).unwrap()
    }

    fn permits(policy: &EgressPolicy, address: &str) -> bool {
        policy.permits(address.parse().unwrap())
    }

    #[test]
    fn only_plain_public_addresses_may_be_called() {
        let policy = policy(&[], &[80, 443]);
        for address in ["93.184.216.34:80", "[2606:2800:220:1::1]:443", "8.8.8.8:443"] {
            assert!(permits(&policy, address), "{address}");
        }
        let refused = [
            "0.0.0.0:80",
            "10.0.0.1:80",
            "100.64.0.1:80",
            "127.0.0.1:80",
            "127.255.0.9:80",
            "169.254.169.254:80",
            "172.31.0.1:80",
            "192.168.1.1:80",
            "224.0.0.1:80",
            "255.255.255.255:80",
            "[::]:80",
            "[::1]:80",
            "[::ffff:127.0.0.1]:80",
            "[::ffff:a9fe:a9fe]:80",
            "[::7f00:1]:80",
            "[64:ff9b::7f00:1]:80",
            "[64:ff9b:1::7f00:1]:80",
            "[2002:7f00:1::]:80",
            "[2002:a9fe:a9fe::1]:80",
            "[fc00::1]:80",
            "[fd00:ec2::254]:80",
            "[fe80::1]:80",
            "[fec0::1]:80",
            "[ff02::1]:80",
            "[2001::1]:80",
            "[2001:db8::1]:80",
            "[::ffff:0:127.0.0.1]:80",
        ];
        for address in refused {
            assert!(!permits(&policy, address), "{address}");
        }
        assert!(!permits(&policy, "8.8.8.8:22"), "a port that is not on the list");
    }

    #[test]
    fn what_is_allowed_is_allowed_in_every_spelling_and_on_every_port() {
        let policy = policy(&["127.0.0.0/8", "fd00::/8", "10.1.2.3"], &[80]);
        for address in ["127.0.0.1:9999", "[::ffff:127.0.0.1]:1", "[fd12::1]:22", "10.1.2.3:5432"] {
            assert!(permits(&policy, address), "{address}");
        }
        for address in ["10.1.2.4:80", "[::1]:80", "[fc00::1]:80"] {
            assert!(!permits(&policy, address), "{address}");
        }
    }

    #[test]
    fn a_network_that_is_none_is_refused_by_name() {
        let settings =
            EgressSettings { allow: vec!["10.0.0.0/99".to_owned()], ..EgressSettings::default() };
        assert!(EgressPolicy::new(&settings).unwrap_err().contains("10.0.0.0/99"));
    }
}
