//! Care for a store: refused servers, copies that other tools made, damage.

use std::process::{Command, Output};

use meantime_store::postgres::cluster::database;

use crate::binary::{BINARY, Server, write};

fn run(arguments: &[&str]) -> Output {
    Command::new(BINARY).args(arguments).output().expect("the binary runs")
}

#[test]
fn a_server_that_is_refused_leaves_no_file_behind() {
    let directory = tempfile::tempdir().expect("a directory");
    let holder = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = holder.local_addr().expect("an address").to_string();
    let db = format!("sqlite:{}", directory.path().join("store.db").display());
    // The network without credentials, and a port that somebody else has.
    for address in ["0.0.0.0:0", &taken] {
        let refused = run(&["serve", "--db", &db, "--listen", address]);
        assert!(!refused.status.success(), "{address}");
        let left: Vec<_> = std::fs::read_dir(directory.path()).expect("a list").collect();
        assert!(left.is_empty(), "{address}: {left:?}");
    }
}

#[test]
fn a_database_that_other_tools_restored_is_marked_and_starts_paused() {
    let database = database().expect("PostgreSQL");
    let url = crate::postgres::as_url(database.url());
    let directory = tempfile::tempdir().expect("a directory");
    let server = Server::start(directory.path(), &["serve", "--db", &url]);
    // As long as somebody uses it, it is no copy.
    assert!(!run(&["restore", "--mark", "--db", &url]).status.success());
    assert_eq!(server.stop(), Some(0));
    let marked = run(&["restore", "--mark", "--reason", "drill", "--db", &url]);
    let said = String::from_utf8_lossy(&marked.stdout);
    assert!(marked.status.success() && said.contains("paused"), "{marked:?}");
    let server = Server::start(directory.path(), &["serve", "--db", &url]);
    let file = write(directory.path(), "one.flow.js", "return 1\n");
    let refused = server.run(&["deploy", &file]);
    assert!(!refused.status.success(), "{refused:?}");
    server.text(&["resume", "--reason", "it is the only one"]);
    server.text(&["deploy", &file]);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn an_instance_whose_state_cannot_be_decoded_is_listed_and_found() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let db = format!("sqlite:{}", path.display());
    let server = Server::start(directory.path(), &["serve", "--db", &db]);
    let file = write(directory.path(), "wait.flow.js", "return await Signal.next('go')\n");
    server.text(&["deploy", &file]);
    for _ in 0..2 {
        server.text(&["start", "wait"]);
    }
    assert!(run(&["doctor", "--db", &db]).status.success());
    assert_eq!(server.stop(), Some(0));
    let connection = rusqlite::Connection::open(&path).expect("it opens");
    let damage = "UPDATE instance SET state = x'ff' WHERE ord = (SELECT max(ord) FROM instance)";
    assert_eq!(connection.execute(damage, []).expect("it can be changed"), 1);
    drop(connection);
    let found = run(&["doctor", "--db", &db]);
    let said = String::from_utf8_lossy(&found.stdout);
    assert!(!found.status.success() && said.contains("its state cannot be decoded"), "{said}");
    let server = Server::start(directory.path(), &["serve", "--db", &db]);
    let (status, list) = crate::request::get(&server.url, "/instances").expect("a list");
    assert_eq!(status, 200, "{list}");
    let items = list["items"].as_array().expect("items");
    let damaged = items.iter().filter(|it| it["damaged"].is_string()).count();
    assert_eq!((items.len(), damaged), (2, 1), "{list}");
    assert_eq!(server.stop(), Some(0));
}
