//! Searches with the real binary, as the page about them shows.

use crate::binary::{BINARY, Server, write};
use std::process::Command;

const PAGE: &str = include_str!("../../../../docs/operate/search.md");

const CLOCK: &[&str] = &["--virtual-clock", "2026-01-01T00:00:00Z"];

const ORDER: &str = "const item = Inputs.item
const paid = await Signal.next('go')
if (item === 'none') throw { code: 'NO_STOCK', message: 'nothing is left' }
await Timer.delay('P1D')
return paid
";

/// The commands of the page, in order.
fn commands() -> Vec<&'static str> {
    let blocks = PAGE.split("```sh\n").skip(1).filter_map(|block| block.split("```").next());
    blocks.flat_map(str::lines).filter(|line| line.starts_with("meantime ")).collect()
}

#[test]
fn the_commands_of_the_page_about_searches_work() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = Server::on(directory.path(), CLOCK);
    server.text(&["deploy", &write(directory.path(), "order.flow.js", ORDER)]);
    let start = |key: &str, item: &str, tags: &[&str]| {
        let input = format!("{{\"item\":\"{item}\"}}");
        let mut arguments = vec!["start", "order", "--key", key, "--input", &input];
        for tag in tags {
            arguments.extend(["--tag", tag]);
        }
        let started = server.json(&arguments);
        started["id"].as_str().expect("an id").to_owned()
    };
    let failed = start("A-1", "none", &["eu"]);
    let sleeping = start("A-2", "book", &["eu", "express"]);
    let waiting = start("B-1", "book", &["express", "eu"]);
    server.text(&["signal", &failed, "go"]);
    server.text(&["signal", &sleeping, "go"]);
    let commands = commands();
    assert_eq!(commands.len(), 8, "{commands:?}");
    let shown: Vec<String> = commands
        .iter()
        .map(|command| {
            let arguments = command.split(' ').skip(1);
            let mut command_line = Command::new(BINARY);
            command_line.args(arguments).env("MEANTIME_URL", &server.url);
            let output = command_line.output().expect("the binary runs");
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command}: {error}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        })
        .collect();
    let lists = |number: usize, ids: &[&String]| {
        let text: &str = &shown[number];
        let places: Vec<_> = ids.iter().map(|id| text.find(id.as_str())).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{number}: {text}");
        assert_eq!(text.matches("in_").count(), ids.len(), "{number}: {text}");
    };
    lists(0, &[&failed]);
    lists(1, &[&failed, &sleeping]);
    lists(2, &[&waiting]);
    lists(3, &[&sleeping, &waiting]);
    lists(4, &[&sleeping]);
    assert_eq!(shown[5], "1\n");
    assert!(shown[6].contains("order"), "{}", shown[6]);
    let group = shown[6].lines().nth(1).unwrap_or_default();
    let numbers: Vec<&str> = group.split_whitespace().collect();
    assert_eq!(numbers, ["order", "3", "2", "0", "1", "0"]);
    assert!(shown[7].contains("order 2:20"), "{}", shown[7]);
}
