//! General help for a problem, for use where nothing more exact is known: the rule in a few words.

use crate::code::Code;

impl Code {
    /// What the rule requires. The reporting code may give a more exact help instead.
    pub(crate) const fn advice(self) -> Option<&'static str> {
        Some(match self {
            Self::Header => {
                "a document has `apiVersion: v1`, `kind`, `metadata` with name and version, `spec`"
            }
            Self::Shape => "write the block as the reference of the language shows it",
            Self::Yaml => "check quotes, brackets and indentation here and on the line before",
            Self::Expression => "write `{lang: dataweave, expr: …}`; `meantime eval` tries it out",
            Self::Schema => "a JSON Schema of draft 2020-12 that refers to nothing outside it",
            Self::Flow => "every state leads to another one, and in the end to `succeed` or `fail`",
            Self::Choice => "an entry of `choices` has `when.predicate` and `next`",
            Self::Transform => "a transform has a `mapper`, and a `target` for its result",
            Self::Fail => "a fail state has an `errorCode` and a `reason`, both text",
            Self::TimerXor => "write exactly one: `duration`, how long, or `until`, until when",
            Self::TimerDuration => "a duration of ISO 8601, such as PT5M, or a mapper",
            Self::TimerUntil | Self::ScheduleStartAt => {
                "an instant of RFC 3339, such as 2026-01-31T09:00:00Z, or a mapper"
            }
            Self::TimerMapper => "write a text, or `{mapper: {lang, expr}}`",
            Self::TimerNext | Self::StepNext => "name the state that follows with `next`",
            Self::ScheduleStart => "name the state of `spec.states` at which runs begin",
            Self::ScheduleInterval => "a duration of ISO 8601, such as P1D, or a mapper",
            Self::ScheduleMaxRuns => "a whole number of at least 1 without quotes, or a mapper",
            Self::ScheduleMappers => "write `{mapper: {lang, expr}}`",
            Self::Execution => "`maxDurationSec` and `onTimeout` with code and reason go together",
            Self::Lifecycle => "`cancellable` is true or false, `startMode` is sync or async",
            Self::Limits => "limits are whole numbers of at least 1",
            Self::StepInput => "`input.schema` says what may be submitted; `{}` is everything",
            Self::StepTimeout => "seconds, as a whole number of at least 1",
            Self::Branches => "a branch has a name of its own, `start` and `states`",
            Self::Join => "a join has a `strategy`; `mapper` and `resultVar` go together",
            Self::Subjourney => "define it in `spec.subjourneys` and name it with `ref`",
            Self::Compensation => "a compensation has `start` and `states` of its own",
            Self::TaskKind => "a task has a `kind`, such as `httpCall:v1`",
            Self::Http => "a call has `operationRef`, or `method` and `url`, and a `resultVar`",
            Self::TaskCookies => "only `httpCall:v1` has `cookies`, with `useJar: true` or `false`",
            Self::Kafka => "a publication has a `topic` and a `value` mapper, and no result",
            Self::Cache => "`get` has `key` and `resultVar`, `put` has `key` and `value`",
            Self::XmlDecode => "`sourceVar` names the text, `target` the place of the result",
            Self::Policy => "define it in `spec.policies`, by its id",
            Self::ApiBindings => "leave it out, or use `kind: Api`",
            Self::ApiResponses => "a rule has `when.phase` and one of `status` and `statusExpr`",
            Self::StepBindings => "name a wait or webhook, and a field for each header",
            Self::Transports => "leave it out: this kind is not reached that way",
            Self::Errors => "a custom envelope has a `mapper`; the format is rfc9457",
            Self::Outcomes => "an outcome has `when.phase`: SUCCEEDED or FAILED",
            Self::Cookies => "a jar has patterns; `returnToClient` has a `mode`",
            Self::Access => "`public` is true or false, `read.guardRef` names a subjourney",
            Self::Config => "declare it in `spec.platform.config`, with its `type`",
            Self::TooLarge => "split it, or raise the limit of the engine",
            Self::TimerAfterDeadline | Self::TimeoutsBeyondBudget => {
                "the run ends with `spec.execution.onTimeout` before that"
            }
            _ => return None,
        })
    }
}
