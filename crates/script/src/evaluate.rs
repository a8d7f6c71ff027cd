//! Evaluates one expression or script without an instance: no effects, no saved state.

use std::sync::Arc;

use meantime_core::{Diagnostic, Failure, Json, Limits, Severity, Timestamp};

use super::compile::Program;
use super::pure_host::PureHost;
use super::session::compile_script;
use super::vm::{Machine, StopReason};

/// The result of an evaluation.
#[derive(Debug)]
pub struct Evaluation {
    /// Problems of the text; with an error among them it was not run.
    pub diagnostics: Vec<Diagnostic>,
    /// The result, or why there is none.
    pub result: Option<Result<Json, Failure>>,
}

/// Evaluates an expression, or a script that returns. Variables are available by name and as
/// properties of `Inputs`. `now` and `seed` are its time and random seed.
pub fn evaluate(
    text: &str,
    variables: &[(String, Json)],
    now: Timestamp,
    seed: u64,
    limits: &Limits,
) -> Evaluation {
    // On the same line as the text, so that line numbers stay.
    let names: Vec<String> =
        variables.iter().map(|(name, _)| format!("{name} = Inputs.{name}")).collect();
    let head = if names.is_empty() { String::new() } else { format!("let {};", names.join(", ")) };
    let expression = compile_script(&Arc::from(format!("{head}return ({text}\n)")), "expression");
    let compiled = match expression.program {
        Some(_) => expression,
        None => compile_script(&Arc::from(format!("{head}{text}")), "script"),
    };
    let Some(program) = compiled.program else {
        let diagnostics =
            compiled.diagnostics.into_iter().filter_map(|it| without_head(it, head.len()));
        return Evaluation { diagnostics: diagnostics.collect(), result: None };
    };
    let inputs = Json::object(variables.iter().map(|(name, value)| (name.as_str(), value)));
    let result = Some(run(&program, &inputs, PureHost::new(now, seed, None), limits));
    Evaluation { diagnostics: Vec::new(), result }
}

/// The problem with its position in the text. Of the generated head only errors are kept: variable
/// names that are not valid.
fn without_head(mut diagnostic: Diagnostic, head: usize) -> Option<Diagnostic> {
    let head = u32::try_from(head).unwrap_or(u32::MAX);
    let before = diagnostic.start.line == 1 && diagnostic.start.column <= head;
    for index in [Some(&mut diagnostic.start), diagnostic.end.as_mut()].into_iter().flatten() {
        if index.line == 1 {
            index.column = index.column.saturating_sub(head).max(1);
        }
    }
    (!before || diagnostic.severity == Severity::Error).then_some(diagnostic)
}

fn run(
    program: &Program,
    inputs: &Json,
    mut host: PureHost<'_>,
    limits: &Limits,
) -> Result<Json, Failure> {
    // Nothing else runs here that it would have to yield to, so one slice has the whole budget.
    let limits = Limits { ops_per_slice: limits.ops_runaway, ..limits.clone() };
    let failed = |fault: meantime_core::Fault| Failure::new(fault.code, fault.message);
    let mut machine = Machine::start(program, 0, inputs, &mut host, &limits).map_err(failed)?;
    match machine.run().map_err(failed)? {
        StopReason::Finished => machine.result().map_err(failed)?,
        StopReason::Uncaught { trace } => Err(Failure {
            data: machine.error_part("data"),
            trace: Some(trace),
            ..Failure::new("uncaught", machine.error().1)
        }),
        StopReason::Waiting => Err(Failure::new("waits", "it waits, and nothing can end here")),
        StopReason::Yield => {
            let text = format!("more than {} operations", limits.ops_runaway);
            Err(Failure::new("runaway", text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let variables = [("a".to_owned(), Json::parse("[1,2]").unwrap())];
        let found = evaluate(text, &variables, Timestamp::default(), 7, &Limits::default());
        match found.result {
            Some(Ok(json)) => json.to_string(),
            Some(Err(failure)) => format!("{}: {}", failure.code, failure.message),
            None => {
                let first = found.diagnostics.first().expect("a reason");
                format!("{} {}:{}", first.code, first.start.line, first.start.column)
            }
        }
    }

    #[test]
    fn expressions_and_scripts_are_evaluated() {
        assert_eq!(shown("a.map(x => x * 2)"), "[2,4]");
        assert_eq!(
            shown("let n = a.length\nreturn { n, i: Inputs }"),
            "{\"n\":2,\"i\":{\"a\":[1,2]}}"
        );
        assert_eq!(shown("{ a: 1 }"), "{\"a\":1}");
        assert_eq!(shown("a.x.y"), "uncaught: TypeError: cannot read `y` of undefined");
        assert_eq!(
            shown("Task.run(\"a\", 1)"),
            "uncaught: TypeError: nothing can be started outside of an instance"
        );
        assert_eq!(shown("let n = 0; while (true) n++"), "runaway: more than 20000000 operations");
        assert_eq!(shown("let x = ;"), "F001 1:9");
    }
}
