//! Test vectors: results of another implementation, stored so that tests do not need to run it.
//!
//! `vectors flow` generates expressions from a seed, evaluates each of them in Node, and writes
//! both to a file. The tests `agrees_with_node` and `is_near_node` of the flow notation read it. It
//! does the same with programs, for the order of their output: the test `continues_as_in_node`.
//! `vectors types` writes what the compiler of TypeScript makes of the sources in
//! `crates/script/tests/types`.

mod flow;
mod types;

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::shell::root;

/// The file with the vectors, and the function that shows a value as text, in Node and in scripts.
const FLOW_VECTORS_FILE: &str = "crates/flow/tests/node/vectors.txt";
const FLOW_NEAR_VECTORS_FILE: &str = "crates/flow/tests/node/near.txt";
/// Programs, with what they write.
const FLOW_PROGRAMS_FILE: &str = "crates/flow/tests/node/programs.txt";
const SHOW_SCRIPT: &str = "crates/flow/tests/node/show.js";

pub(crate) fn run(args: &[String]) -> Result<()> {
    match args {
        [language] if language == "flow" => write_flow(),
        [language] if language == "types" => types::write(),
        _ => bail!("`vectors` takes what to write: `vectors flow` or `vectors types`"),
    }
}

fn write_flow() -> Result<()> {
    let cases = flow::expressions();
    write(&cases.exact, FLOW_VECTORS_FILE)?;
    write(&cases.near, FLOW_NEAR_VECTORS_FILE)?;
    check_modules()?;
    write_programs(&flow::all_programs())
}

/// Checks that Node accepts the examples that are modules.
fn check_modules() -> Result<()> {
    let root = root()?;
    let copies = root.join("target/modules");
    std::fs::create_dir_all(&copies).context("a directory for copies")?;
    for entry in std::fs::read_dir(root.join("examples/flows")).context("the examples")? {
        let path = entry?.path();
        let text = std::fs::read_to_string(&path)?;
        let (Some(name), true) = (path.file_stem(), text.contains("export default")) else {
            continue;
        };
        // Node decides by the name whether a file is a module.
        let copy = copies.join(name).with_extension("mjs");
        std::fs::write(&copy, &text)?;
        let status = Command::new("node").arg("--check").arg(&copy).status();
        let is_accepted = status.context("cannot start Node")?.success();
        ensure!(is_accepted, "Node does not accept {}", path.display());
    }
    Ok(())
}

/// Runs programs in Node, each to its end, and writes them with their output. Time is virtual.
fn write_programs(programs: &[String]) -> Result<()> {
    const RUNNER: &str = include_str!("vectors/programs.js");
    let show = std::fs::read_to_string(root()?.join(SHOW_SCRIPT)).context("the text of `show`")?;
    let program = RUNNER.replace("SHOW", &quoted(&show));
    let lines: Vec<String> = programs.iter().map(|it| quoted_json(it)).collect();
    let answers = ask_node(&program, lines.join("\n"))?;
    let count = answers.lines().count();
    ensure!(count == programs.len(), "{} programs, but {count} outputs", programs.len());
    ensure!(!answers.contains("\t\"! SyntaxError"), "a program is not JavaScript");
    std::fs::write(root()?.join(FLOW_PROGRAMS_FILE), &answers).context("cannot write programs")?;
    println!("{count} programs with their output in {FLOW_PROGRAMS_FILE}");
    Ok(())
}

fn quoted_json(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{text}\"")
}

/// Runs a program in Node and returns what it writes.
fn ask_node(program: &str, input: String) -> Result<String> {
    let mut node = Command::new("node")
        .args(["-e", program])
        // Local time is UTC in scripts.
        .env("TZ", "UTC")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start Node, which says what is right")?;
    let mut stdin = node.stdin.take().context("the input of Node")?;
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = node.wait_with_output()?;
    ensure!(output.status.success(), "Node failed ({})", output.status);
    ensure!(writer.join().is_ok_and(|it| it.is_ok()), "Node did not read everything");
    String::from_utf8(output.stdout).context("Node did not write UTF-8")
}

/// Evaluates expressions in Node and writes them with their results.
fn write(cases: &[String], file: &str) -> Result<()> {
    let root = root()?;
    let show = std::fs::read_to_string(root.join(SHOW_SCRIPT)).context("the text of `show`")?;
    let program = format!(
        "'use strict';\n\
         const lines = require('fs').readFileSync(0, 'utf8').split('\\n').filter(it => it);\n\
         for (const line of lines) {{\n\
           let found;\n\
           try {{ found = '=' + new Function('\"use strict\";' + {show} + '; return show((' + line + '))')() }}\n\
           catch (e) {{ found = '!' + (e instanceof Error ? e.name : 'thrown') }}\n\
           process.stdout.write(line + '\\t' + found + '\\n')\n\
         }}\n",
        show = quoted(&show)
    );
    let answers = ask_node(&program, cases.join("\n"))?;
    let count = answers.lines().count();
    ensure!(count == cases.len(), "{} expressions, but {count} answers", cases.len());
    std::fs::write(root.join(file), &answers).with_context(|| format!("cannot write {file}"))?;
    println!("{count} expressions with Node's answers in {file}");
    Ok(())
}

/// A text as a JavaScript string.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
}
