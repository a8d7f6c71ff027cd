//! Finds the stub of a task or call, and makes its report.

use meantime_core::{Failure, Json, TaskKind, Thrown};
use meantime_kernel::command::Report;
use meantime_kernel::store::TaskRow;
use serde::{Deserialize, Serialize};

use crate::stub::{Stub, StubFailure, Stubs};

/// What a stub for calls looks at. Every engine task with these members is a call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct CallTarget {
    pub(crate) method: String,
    pub(crate) url: String,
}

/// The output of a call, as the engine's own connector writes it.
#[derive(Serialize)]
struct CallOutput<'a> {
    status: u16,
    headers: &'a std::collections::BTreeMap<String, String>,
    body: Json,
}

/// The target of an outbound call; none for other tasks.
pub(crate) fn call_target(task: &TaskRow) -> Option<CallTarget> {
    if task.spec.kind != TaskKind::Engine {
        return None;
    }
    task.spec.input.read().ok()
}

/// The stub of a task, with a name that tells it from others.
pub(crate) fn stub_of<'s>(stubs: &'s Stubs, task: &TaskRow) -> Option<(String, &'s Stub)> {
    let (name, element) = (&task.spec.name, &task.spec.element);
    if let Some(target) = call_target(task) {
        let index = stubs.http.iter().position(|stub| matches_call(stub, &target))?;
        return Some((format!("http[{index}]"), &stubs.http[index]));
    }
    let (section, known) = match task.spec.kind {
        TaskKind::User => ("people", &stubs.people),
        TaskKind::Worker | TaskKind::Engine => ("tasks", &stubs.tasks),
    };
    let found = match task.spec.kind {
        TaskKind::User => known.get(element).map(|stub| (element, stub)),
        TaskKind::Worker | TaskKind::Engine => None,
    };
    let found = found.or_else(|| known.get(name).map(|stub| (name, stub)));
    // Calls and credential checks of the engine are no work of a worker.
    let any = known.get("*").filter(|_| task.spec.kind != TaskKind::Engine);
    let (found, stub) = found.or_else(|| any.map(|stub| (name, stub)))?;
    Some((format!("{section}.{found}"), stub))
}

fn matches_call(stub: &Stub, target: &CallTarget) -> bool {
    let method = stub.method.as_ref().is_none_or(|it| it.eq_ignore_ascii_case(&target.method));
    method && stub.url.as_ref().is_some_and(|pattern| matches_pattern(pattern, &target.url))
}

/// Whether a text is like a pattern in which `*` stands for any text.
pub(crate) fn matches_pattern(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// The report of a task whose stub answers.
pub(crate) fn report_of(stub: &Stub, task: &TaskRow, failure: Option<&StubFailure>) -> Report {
    if let Some(failure) = failure {
        return failed(failure);
    }
    if call_target(task).is_none() {
        return Report::Completed(stub.returns.clone().unwrap_or_default());
    }
    let output = CallOutput {
        status: stub.status.unwrap_or(200),
        headers: &stub.headers,
        body: stub.body.clone().unwrap_or_default(),
    };
    match Json::of(&output) {
        Ok(output) => Report::Completed(output),
        Err(error) => Report::Failed {
            failure: Failure::new("HTTP_BODY", error.to_string()),
            retryable: false,
            retry_after_ms: None,
            thrown: None,
        },
    }
}

/// The report of a failure.
pub(crate) fn failed(it: &StubFailure) -> Report {
    let code = if it.code.is_empty() { "FAILED" } else { &it.code };
    let mut failure = Failure::new(code, it.message.clone());
    failure.data.clone_from(&it.data);
    let thrown = it.bpmn_error.clone().map(|code| Thrown { code, variables: it.data.clone() });
    Report::Failed { failure, retryable: it.retryable, retry_after_ms: None, thrown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, matches) in [
            ("https://a/b", "https://a/b", true),
            ("https://a/b", "https://a/bc", false),
            ("https://a/*", "https://a/b/c", true),
            ("*/orders/*/pay", "https://a/orders/7/pay", true),
            ("*/orders/*/pay", "https://a/orders/7/paid", false),
            ("*", "", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches_pattern(pattern, text), matches, "{pattern} {text}");
        }
    }
}
