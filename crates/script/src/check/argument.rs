//! Checks literal arguments before the script runs: times, names, options.

use meantime_core::Timestamp;
use meantime_core::time::{Span as Duration, TimeError};

use super::call::Calls;
use super::similar::closest;
use crate::ast::{Arg, Expr, ExprKind, Prop, PropKey, UnaryOp};
use crate::lex::Number;
use crate::library::Builtin;
use crate::problem::Code;
use crate::span::Span;

const TASK_OPTIONS: &[&str] = &["queue", "retry", "timeout", "deadline", "priority", "key"];
const RETRY_OPTIONS: &[&str] = &["maxAttempts", "backoff", "maxDelay"];
const SIGNAL_OPTIONS: &[&str] = &["timeout"];
const CHILD_OPTIONS: &[&str] = &["version", "key", "deadline"];
const HTTP_OPTIONS: &[&str] = &["method", "url", "headers", "body", "timeout", "retry"];

/// A larger number of seconds is probably an instant, not a delay.
const MAX_DELAY_SECONDS: i64 = 1_000_000_000;

/// A timer with a literal time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LiteralTimer {
    pub(crate) at: u32,
    pub(crate) time: TimerLiteral,
}

/// The time of a literal timer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TimerLiteral {
    After(Duration),
    At(Timestamp),
}

impl Calls<'_> {
    pub(super) fn check_arguments(&mut self, function: Builtin, args: &[Arg]) {
        let plain = |index: usize| args.get(index).filter(|arg| !arg.spread).map(|arg| &arg.value);
        match function {
            Builtin::TaskRun => {
                self.check_name(plain(0), "the type of the task");
                self.check_options(plain(2), TASK_OPTIONS);
            }
            Builtin::TaskDelay | Builtin::TimerDelay => {
                if let Some(time) = plain(0).and_then(|value| self.check_delay(value)) {
                    self.record_timer(plain(0), TimerLiteral::After(time));
                }
            }
            Builtin::TimerUntil => self.check_until(plain(0)),
            Builtin::SignalNext | Builtin::WaitForSignal => {
                self.check_name(plain(0), "the name of the signal");
                self.check_options(plain(1), SIGNAL_OPTIONS);
            }
            Builtin::WorkflowRun => {
                self.check_name(plain(0), "the name of the workflow");
                self.check_options(plain(2), CHILD_OPTIONS);
            }
            Builtin::HttpRequest => self.check_options(plain(0), HTTP_OPTIONS),
            _ => {}
        }
    }

    fn record_timer(&mut self, value: Option<&Expr>, time: TimerLiteral) {
        let at = value.map_or(0, |value| value.span.start);
        self.timers.push(LiteralTimer { at, time });
    }

    fn check_name(&mut self, value: Option<&Expr>, what: &str) {
        let Some(value) = value else { return };
        let problem = match &value.kind {
            ExprKind::Text(text) if text.is_empty() => format!("{what} is empty"),
            ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Null | ExprKind::Array(_) => {
                format!("{what} is a string")
            }
            ExprKind::Object(_) | ExprKind::Function(_) => format!("{what} is a string"),
            _ => return,
        };
        self.problems.add(Code::Argument, value.span, problem);
    }

    /// A literal delay: seconds, or a duration as text.
    fn check_delay(&mut self, value: &Expr) -> Option<Duration> {
        let negative = |it: &mut Self| {
            let message = "a delay cannot be negative";
            it.problems.add(Code::Argument, value.span, message);
        };
        match &value.kind {
            ExprKind::Text(text) => match Duration::parse_delay(text) {
                Ok(span) => Some(span),
                Err(error) => {
                    self.time_problem(value.span, &error);
                    None
                }
            },
            ExprKind::Number(Number::Int(number)) if *number >= MAX_DELAY_SECONDS => {
                self.time_problem(value.span, &TimeError::InstantAsDelay { number: *number });
                None
            }
            ExprKind::Number(Number::Int(seconds)) => {
                seconds.checked_mul(1000).map(Duration::from_millis)
            }
            ExprKind::Unary { op: UnaryOp::Minus, operand }
                if matches!(operand.kind, ExprKind::Number(_)) =>
            {
                negative(self);
                None
            }
            ExprKind::Bool(_) | ExprKind::Null | ExprKind::Array(_) | ExprKind::Object(_) => {
                let message = "a delay is a number of seconds or a duration such as \"PT5M\"";
                self.problems.add(Code::Argument, value.span, message);
                None
            }
            _ => None,
        }
    }

    fn check_until(&mut self, value: Option<&Expr>) {
        let Some(value) = value else { return };
        let found = match &value.kind {
            ExprKind::Text(text) => Timestamp::parse(text),
            ExprKind::Number(Number::Int(millis)) => Timestamp::from_written_millis(*millis),
            ExprKind::Number(_)
            | ExprKind::Bool(_)
            | ExprKind::Null
            | ExprKind::Array(_)
            | ExprKind::Object(_) => {
                let message = "an instant is a text such as \"2026-03-01T10:00:00Z\", or a whole \
                               number of milliseconds since 1970";
                return self.problems.add(Code::Argument, value.span, message);
            }
            _ => return,
        };
        match (found, &value.kind) {
            (Ok(at), _) => self.record_timer(Some(value), TimerLiteral::At(at)),
            (Err(_), ExprKind::Text(text)) if Duration::parse(text).is_ok() => {
                let message = format!("{text:?} is a duration, not an instant");
                let help = "use `Timer.delay` for a duration";
                self.problems.add_with_help(Code::Argument, value.span, message, help);
            }
            (Err(error), _) => self.time_problem(value.span, &error),
        }
    }

    fn time_problem(&mut self, span: Span, error: &TimeError) {
        let text = error.to_string();
        match error.hint() {
            Some(hint) => self.problems.add_with_help(Code::Argument, span, text, hint),
            None => self.problems.add(Code::Argument, span, text),
        }
    }

    /// The options of a library function, if they are an object literal.
    fn check_options(&mut self, value: Option<&Expr>, known: &[&'static str]) {
        let Some(Expr { kind: ExprKind::Object(props), .. }) = value else { return };
        for prop in props {
            let (name, span, value) = match prop {
                Prop::Pair { key: PropKey::Name(name, span), value } => (name, *span, Some(value)),
                Prop::Short { name, .. } => (&name.name, name.span, None),
                _ => continue,
            };
            if !known.contains(&&**name) {
                let message = format!("there is no option `{name}`");
                let help = closest(name, known.iter().copied()).map_or_else(
                    || format!("there is {}", known.join(", ")),
                    |meant| format!("did you mean `{meant}`?"),
                );
                self.problems.add_with_help(Code::Argument, span, message, help);
                continue;
            }
            match &**name {
                "timeout" | "backoff" | "maxDelay" => {
                    value.map(|value| self.check_delay(value));
                }
                "retry" => self.check_options(value, RETRY_OPTIONS),
                _ => {}
            }
        }
    }
}
