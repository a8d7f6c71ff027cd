//! What happens to a server whose process is ended without asking.

use crate::binary::{Server, write};

#[test]
fn a_server_that_was_killed_goes_on_where_it_was() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = Server::on(directory.path(), &[]);
    let file = write(directory.path(), "wait.flow.js", "return await Signal.next('go')\n");
    server.text(&["deploy", &file]);
    let id = server.json(&["start", "wait"])["id"].as_str().expect("an id").to_owned();
    server.kill();
    let server = Server::on(directory.path(), &[]);
    server.text(&["signal", &id, "go", "7"]);
    assert_eq!(server.json(&["show", &id])["output"], 7);
}
