//! Operating a store: servers that refuse to start, copies made by other tools, damage.

use std::process::{Command, Output};

use meantime_store::postgres::cluster::{Database, database};

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
    // Listening on the network without credentials, and a port that is in use.
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
    // A store that a server uses is not a copy.
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

/// A store that is damaged while no server runs.
enum Store {
    File(tempfile::TempDir),
    Database(Box<Database>),
}

impl Store {
    fn all() -> [Self; 2] {
        let directory = tempfile::tempdir().expect("a directory");
        [Self::File(directory), Self::Database(Box::new(database().expect("PostgreSQL")))]
    }

    fn url(&self) -> String {
        match self {
            Self::File(directory) => {
                format!("sqlite:{}", directory.path().join("store.db").display())
            }
            Self::Database(database) => crate::postgres::as_url(database.url()),
        }
    }

    fn execute(&self, sql: &str) {
        match self {
            Self::File(directory) => {
                let file = rusqlite::Connection::open(directory.path().join("store.db"));
                let sql = sql.replace("BAD", "x'ff'");
                file.expect("it opens").execute_batch(&sql).expect("it can be changed");
            }
            Self::Database(database) => {
                let sql = sql.replace("BAD", "'\\xff'::bytea");
                database.execute(&sql).expect("it can be changed");
            }
        }
    }
}

#[test]
fn damaged_instances_are_shown_found_and_cancelled_and_others_go_on() {
    for store in Store::all() {
        let (directory, db) = (tempfile::tempdir().expect("a directory"), store.url());
        let empty = run(&["doctor", "--db", &db]);
        assert!(empty.status.success(), "{empty:?}");
        let server = Server::start(directory.path(), &["serve", "--db", &db]);
        let file = write(directory.path(), "wait.flow.js", "return await Signal.next('go')\n");
        server.text(&["deploy", &file]);
        let start = || server.json(&["start", "wait"])["id"].as_str().expect("an id").to_owned();
        let (open, meta, state, good) = (start(), start(), start(), start());
        let sound = run(&["doctor", "--db", &db]);
        assert!(sound.status.success(), "{sound:?}");
        assert_eq!(server.stop(), Some(0));
        // The newest instance is left intact.
        let damage = "UPDATE instance SET COLUMN = BAD WHERE id_order = (SELECT id_order FROM instance \
                      ORDER BY id_order DESC LIMIT 1 OFFSET PLACE);";
        for (column, place) in [("open", "3"), ("meta", "2"), ("state", "1")] {
            store.execute(&damage.replace("COLUMN", column).replace("PLACE", place));
        }
        let found = run(&["doctor", "--db", &db]);
        let said = String::from_utf8_lossy(&found.stdout);
        assert!(!found.status.success(), "{said}");
        for (id, what) in [
            (&open, "a row of `instance` cannot be read"),
            (&meta, "a row of `instance` cannot be read"),
            (&state, "its state cannot be decoded"),
        ] {
            let is_told = |line: &str| line.contains(id.as_str()) && line.contains(what);
            assert!(said.lines().any(is_told), "{id} {what}: {said}");
        }
        assert!(!said.contains(&good), "{said}");
        let server = Server::start(directory.path(), &["serve", "--db", &db]);
        let get = |path: &str| crate::request::get(&server.url, path).expect("an answer");
        for id in [&open, &meta, &state] {
            let (status, shown) = get(&format!("/instances/{id}"));
            assert_eq!((status, shown["damaged"].is_string()), (200, true), "{shown}");
        }
        let post = |path: &str| {
            crate::request::post(&server.url, path, "", &serde_json::json!({})).expect("an answer")
        };
        for id in [&open, &meta] {
            let (status, refused) = post(&format!("/instances/{id}/signals/go"));
            assert_eq!((status, &refused["code"]), (409, &"instance_damaged".into()), "{refused}");
            let (_, shown) = get(&format!("/instances/{id}"));
            assert_eq!(shown["incidents"][0]["kind"], "damage", "{shown}");
        }
        assert_eq!(post(&format!("/instances/{good}/signals/go")).0, 202);
        assert_eq!(get(&format!("/instances/{good}")).1["status"], "completed");
        let (_, listed) = get("/incidents");
        assert_eq!(listed["items"].as_array().map(Vec::len), Some(2), "{listed}");
        let (status, list) = get("/instances");
        let items = list["items"].as_array().expect("items");
        let damaged = items.iter().filter(|it| it["damaged"].is_string()).count();
        assert_eq!((status, items.len(), damaged), (200, 4, 3), "{list}");
        for id in [&open, &meta, &state] {
            let (status, shown) = post(&format!("/instances/{id}/cancel"));
            assert_eq!((status, &shown["status"]), (200, &"cancelled".into()), "{shown}");
            assert!(shown["damaged"].is_null(), "{shown}");
        }
        assert_eq!(get("/incidents").1["items"].as_array().map(Vec::len), Some(0));
        assert_eq!(server.stop(), Some(0));
        let sound = run(&["doctor", "--db", &db]);
        assert!(sound.status.success(), "{}", String::from_utf8_lossy(&sound.stdout));
    }
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
    let damage =
        "UPDATE instance SET state = x'ff' WHERE id_order = (SELECT max(id_order) FROM instance)";
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
