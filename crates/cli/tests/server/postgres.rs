//! The same server on PostgreSQL, and two of them on one database.

use meantime_store::postgres::cluster;

use crate::binary::{Server, write};

#[test]
fn two_servers_share_a_database() {
    let database = cluster::database().expect("a database");
    let url = as_url(database.url());
    let directory = tempfile::tempdir().expect("a directory");
    let serve = || Server::start(directory.path(), &["serve", "--db", &url]);
    let (one, two) = (serve(), serve());
    let flow = "return await Signal.next('go')\n";
    one.text(&["deploy", &write(directory.path(), "wait.flow.js", flow)]);
    let id = two.json(&["start", "wait"])["id"].as_str().expect("an id").to_owned();
    one.text(&["signal", &id, "go", "7"]);
    assert_eq!(two.json(&["show", &id])["output"], 7);
    assert_eq!((one.stop(), two.stop()), (Some(0), Some(0)));
}

/// A connection string as a URL: the command line accepts nothing else.
pub(crate) fn as_url(settings: &str) -> String {
    if settings.starts_with("postgres") {
        return settings.to_owned();
    }
    format!("postgres:///?{}", settings.replace(' ', "&").replace('\'', ""))
}
