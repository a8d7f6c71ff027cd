//! TLS to the server: what each `sslmode` accepts and refuses, and client certificates.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use meantime_core::Timestamp;
use meantime_kernel::store::Store as _;
use meantime_store::conformance::block_on;
use meantime_store::postgres::cluster::{Cluster, TlsSetup, database_at};
use meantime_store::postgres::{Options, PostgresStore};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use crate::rows::query;

/// A certificate authority.
struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate").pem();
    Authority { certificate, issuer: Issuer::new(params, key) }
}

impl Authority {
    /// A certificate for a host or a role, and its key.
    fn sign(&self, hosts: &[&str], name: &str) -> (String, String) {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts).expect("parameters");
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }
}

fn write(directory: &Path, name: &str, text: &str, mode: u32) -> String {
    let path = directory.join(name);
    std::fs::write(&path, text).expect("it can be written");
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(&path, permissions).expect("it is ours");
    path.display().to_string()
}

/// The number of the store's connections with TLS, and without.
const CONNECTIONS: &str = "SELECT count(*) FILTER (WHERE s.ssl), count(*) FILTER (WHERE NOT s.ssl) \
     FROM pg_stat_activity AS a JOIN pg_stat_ssl AS s USING (pid) \
     WHERE a.application_name = 'meantime'";

#[test]
fn every_mode_accepts_and_refuses_what_it_should() {
    let (trusted, other) = (authority("trusted"), authority("other"));
    let (certificate, key) = trusted.sign(&["db.example"], "db.example");
    let access = "local all all trust\n\
                  hostssl all certified 127.0.0.1/32 cert\n\
                  hostssl all all 127.0.0.1/32 trust\n";
    let setup = TlsSetup {
        certificate: &certificate,
        key: &key,
        client_roots: &trusted.certificate,
        access,
    };
    let cluster = Cluster::start_with_tls(&setup).expect("PostgreSQL");
    let database = database_at(cluster.address()).expect("a database");
    let local = database.url();
    create_role(local);
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: &str, mode| write(directory.path(), name, text, mode);
    let trusts = format!("sslrootcert={}", file("trusted.crt", &trusted.certificate, 0o644));
    let distrusts = format!("sslrootcert={}", file("other.crt", &other.certificate, 0o644));
    let itself = format!("sslrootcert={}", file("itself.crt", &certificate, 0o644));
    let (shown, kept) = trusted.sign(&[], "certified");
    let shown = format!("sslcert={}", file("client.crt", &shown, 0o644));
    let secret = format!("sslkey={}", file("client.key", &kept, 0o600));
    let open_to_all = format!("sslkey={}", file("open.key", &kept, 0o644));
    let (ours, wrong) = ("host=db.example", "host=localhost");
    let cases: Vec<(Vec<&str>, Option<bool>)> = vec![
        (vec![ours, "sslmode=disable"], None),
        (vec![ours], Some(true)),
        (vec![ours, "sslmode=prefer"], Some(true)),
        (vec![ours, "sslmode=require"], Some(true)),
        (vec![ours, "sslmode=require", &trusts], Some(true)),
        (vec![ours, "sslmode=require", &distrusts], None),
        (vec![wrong, "sslmode=require", &trusts], Some(true)),
        (vec![wrong, "sslmode=verify-ca", &trusts], Some(true)),
        (vec![ours, "sslmode=verify-ca", &distrusts], None),
        (vec![ours, "sslmode=verify-ca"], None),
        (vec![ours, "sslmode=verify-full", &trusts], Some(true)),
        (vec![ours, "sslmode=verify-full", &itself], Some(true)),
        (vec![wrong, "sslmode=verify-full", &itself], None),
        (vec![wrong, "sslmode=verify-full", &trusts], None),
        (vec![ours, "sslmode=verify-full", &distrusts], None),
        (vec![ours, "user=certified", "sslmode=verify-full", &trusts], None),
        (vec![ours, "user=certified", "sslmode=verify-full", &trusts, &shown, &secret], Some(true)),
        (vec![ours, "user=certified", "sslmode=require", &shown, &open_to_all], None),
    ];
    let port = cluster.port().expect("it has a port");
    let name = local.split(' ').find(|it| it.starts_with("dbname=")).expect("a database");
    for (parameters, expected) in cases {
        let user = if parameters.contains(&"user=certified") { "" } else { "user=meantime" };
        let parameters = parameters.join(" ");
        let url = format!("hostaddr=127.0.0.1 port={port} {name} {user} {parameters}");
        let opened = block_on(PostgresStore::open(Options::new(url)));
        match (opened, expected) {
            (Ok(store), Some(_)) => {
                block_on(store.renew_lease(Timestamp::default())).expect("it has a node_lease");
                block_on(store.ping()).expect("it answers");
                // All connections use TLS: those that read and write, and the one that listens.
                let [with, without] = query(local, CONNECTIONS)[..] else { panic!("two counts") };
                assert!(with >= 2 && without == 0, "{parameters}: {with} {without}");
                drop(store);
                while query(local, CONNECTIONS) != [0, 0] {}
            }
            (Err(error), None) => {
                assert_eq!(error.code(), "store_unavailable", "{parameters}: {error}");
            }
            (Ok(_), None) => panic!("{parameters} is accepted"),
            (Err(error), Some(_)) => panic!("{parameters}: {error}"),
        }
    }
}

fn create_role(url: &str) {
    let url = url.to_owned();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async move {
        let (client, io) =
            tokio_postgres::connect(&url, tokio_postgres::NoTls).await.expect("it connects");
        let io = tokio::spawn(io);
        let role = "CREATE ROLE certified LOGIN SUPERUSER";
        client.batch_execute(role).await.expect("it can be made");
        io.abort();
    });
}
