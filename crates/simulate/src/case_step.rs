//! The steps of a test case.

use meantime_core::{Json, Message};
use meantime_kernel::command::{Command, Reply, Report as TaskReport};
use meantime_kernel::history::AuditInfo;
use serde::Deserialize;
use serde_json::Value;

use crate::case::{Expectation, after};
use crate::compare::differences;
use crate::run::{Simulation, SimulationError};
use crate::stub::StubFailure;
use crate::stub_match::{call_target, failed};

/// One step: exactly one of its members.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct TestStep {
    /// Moves the clock by a duration, or to an instant.
    advance: Option<String>,
    signal: Option<SignalStep>,
    message: Option<MessageStep>,
    broadcast: Option<SignalStep>,
    submit: Option<SubmitStep>,
    complete: Option<CompleteStep>,
    fail: Option<FailStep>,
    cancel: Option<CancelStep>,
    expect: Option<Expectation>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SignalStep {
    name: String,
    #[serde(default, deserialize_with = "crate::yaml::json")]
    payload: Json,
    #[serde(default)]
    instance: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MessageStep {
    name: String,
    #[serde(default)]
    correlation_key: String,
    #[serde(default, deserialize_with = "crate::yaml::json")]
    payload: Json,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SubmitStep {
    step: String,
    #[serde(default, deserialize_with = "crate::yaml::json")]
    body: Json,
    #[serde(default)]
    instance: Option<String>,
    /// The step is refused with this code.
    #[serde(default)]
    refused: Option<String>,
    /// What the answer of the step contains.
    #[serde(default, deserialize_with = "crate::yaml::some_json")]
    answer: Option<Json>,
}

/// Completes a task of a worker, of a person, or an outbound call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CompleteStep {
    /// Its type, its element, or method and URL of a call; `*` in an URL stands for any text.
    task: String,
    #[serde(default, deserialize_with = "crate::yaml::json")]
    output: Json,
    /// The response of a call: `status`, `headers`, `body`.
    #[serde(default)]
    response: Option<ResponseStep>,
    /// What its input contains.
    #[serde(default, deserialize_with = "crate::yaml::some_json")]
    input: Option<Json>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ResponseStep {
    #[serde(default = "ok_status")]
    status: u16,
    #[serde(default)]
    headers: std::collections::BTreeMap<String, String>,
    #[serde(default, deserialize_with = "crate::yaml::json")]
    body: Json,
}

fn ok_status() -> u16 {
    200
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FailStep {
    task: String,
    #[serde(default)]
    error: StubFailure,
    #[serde(default, deserialize_with = "crate::yaml::some_json")]
    input: Option<Json>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct CancelStep {
    reason: String,
    instance: Option<String>,
}

/// What differs, or nothing.
type Found = Result<Vec<String>, SimulationError>;

impl TestStep {
    /// Whether it expects something.
    pub(crate) fn expects(&self) -> bool {
        self.expect.is_some()
    }

    /// A step does exactly one thing.
    pub(crate) fn check(&self) -> Result<(), String> {
        let members = [
            self.advance.is_some(),
            self.signal.is_some(),
            self.message.is_some(),
            self.broadcast.is_some(),
            self.submit.is_some(),
            self.complete.is_some(),
            self.fail.is_some(),
            self.cancel.is_some(),
            self.expect.is_some(),
        ];
        if members.into_iter().filter(|it| *it).count() == 1 {
            return Ok(());
        }
        Err("a step is one of advance, signal, message, broadcast, submit, complete, fail, \
             cancel and expect"
            .to_owned())
    }

    /// Does the step; returns what is not as expected.
    pub(crate) async fn play(&self, simulation: &mut Simulation) -> Found {
        if let Some(text) = &self.advance {
            return match after(simulation.now(), text) {
                Ok(to) if to >= simulation.now() => {
                    simulation.advance_to(to).await.map(|()| Vec::new())
                }
                Ok(to) => Ok(vec![format!("advance: {to} is in the past")]),
                Err(error) => Ok(vec![format!("advance: {error}")]),
            };
        }
        if let Some(SignalStep { name, payload, instance }) = &self.signal {
            let Some(instance) = simulation.instance_named(instance.as_deref()) else {
                return Ok(vec!["signal: there is no such instance".to_owned()]);
            };
            let (name, payload) = (name.clone(), payload.clone());
            return tried(simulation, Command::Signal { instance, name, payload }).await;
        }
        if let Some(MessageStep { name, correlation_key, payload }) = &self.message {
            let (name, key, payload) = (name.clone(), correlation_key.clone(), payload.clone());
            let message = Message { name, key, payload, ttl_ms: None, id: None };
            return tried(simulation, Command::Publish(message)).await;
        }
        if let Some(SignalStep { name, payload, .. }) = &self.broadcast {
            let (name, payload) = (name.clone(), payload.clone());
            return tried(simulation, Command::Broadcast { name, payload }).await;
        }
        if let Some(submit) = &self.submit {
            return submit.play(simulation).await;
        }
        if let Some(complete) = &self.complete {
            return complete.play(simulation).await;
        }
        if let Some(FailStep { task, error, input }) = &self.fail {
            return report(simulation, task, input.as_ref(), |_| Ok(failed(error))).await;
        }
        if let Some(CancelStep { reason, instance }) = &self.cancel {
            let Some(instance) = simulation.instance_named(instance.as_deref()) else {
                return Ok(vec!["cancel: there is no such instance".to_owned()]);
            };
            let audit = AuditInfo { actor: "test".to_owned(), reason: reason.clone() };
            return tried(simulation, Command::Cancel { instance, audit }).await;
        }
        match &self.expect {
            Some(expect) => expect.check(simulation).await,
            None => Ok(Vec::new()),
        }
    }
}

/// Executes a command; a refusal is a failure of the test, not of the simulation.
async fn tried(simulation: &mut Simulation, command: Command) -> Found {
    match simulation.call(command).await {
        Ok(_) => Ok(Vec::new()),
        Err(SimulationError::Kernel(error)) => Ok(vec![format!("{}: {error}", error.code())]),
        Err(error) => Err(error),
    }
}

impl SubmitStep {
    async fn play(&self, simulation: &mut Simulation) -> Found {
        let Some(instance) = simulation.instance_named(self.instance.as_deref()) else {
            return Ok(vec!["submit: there is no such instance".to_owned()]);
        };
        let (step, payload) = (self.step.clone(), self.body.clone());
        let command = Command::Submit { instance, step, payload, request_bindings: None };
        let answer = match simulation.call(command).await {
            Ok(Reply::Submitted { reply }) => Ok(reply.unwrap_or_default()),
            Ok(_) => Ok(Json::null()),
            Err(SimulationError::Kernel(error)) => Err(error),
            Err(error) => return Err(error),
        };
        Ok(match (answer, &self.refused) {
            (Err(error), Some(code)) => {
                // A definition refuses with a code of its own.
                let own = match &error {
                    meantime_kernel::command::Error::Refused { code, .. } => Some(code.as_str()),
                    _ => None,
                };
                if error.code() == code || own == Some(code) {
                    Vec::new()
                } else {
                    vec![format!("submit: expected {code}, got {error}")]
                }
            }
            (Err(error), None) => vec![format!("submit: {}: {error}", error.code())],
            (Ok(_), Some(code)) => vec![format!("submit: expected {code}, and it was accepted")],
            (Ok(answer), None) => {
                let expected = self.answer.as_ref().map(value);
                expected.map(|it| differences("answer", &it, &value(&answer))).unwrap_or_default()
            }
        })
    }
}

impl CompleteStep {
    async fn play(&self, simulation: &mut Simulation) -> Found {
        report(simulation, &self.task, self.input.as_ref(), |is_call| {
            match (&self.response, is_call) {
                (Some(it), true) => {
                    let output = serde_json::json!({
                        "status": it.status,
                        "headers": it.headers,
                        "body": value(&it.body),
                    });
                    Ok(TaskReport::Completed(Json::from(&output)))
                }
                (Some(_), false) => Err("`response` is for outbound calls: use `output`"),
                (None, true) => Err("an outbound call has a `response`"),
                (None, false) => Ok(TaskReport::Completed(self.output.clone())),
            }
        })
        .await
    }
}

/// Reports on the task that an instance waits for.
async fn report(
    simulation: &mut Simulation,
    name: &str,
    input: Option<&Json>,
    make: impl Fn(bool) -> Result<TaskReport, &'static str>,
) -> Found {
    let Some(task) = simulation.open_task(name).await? else {
        return Ok(vec![format!("no open task or call is `{name}`")]);
    };
    if let Some(expected) = input {
        let found = differences("input", &value(expected), &value(&task.spec.input));
        if !found.is_empty() {
            return Ok(found);
        }
    }
    let report = match make(call_target(&task).is_some()) {
        Ok(report) => report,
        Err(text) => return Ok(vec![text.to_owned()]),
    };
    let token = simulation.lease(&task).await?;
    tried(simulation, Command::Report { task: task.id, token, report }).await
}

fn value(json: &Json) -> Value {
    json.read().unwrap_or_default()
}
