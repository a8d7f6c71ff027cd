//! `Time.…` and `Date.now`: the time of the turn, as RFC 3339 texts.

use meantime_core::Timestamp;
use meantime_core::time::{Span, Zone};

use super::dispatch::arg;
use crate::library::Builtin;
use crate::vm::{Machine, Text, Value, VmResult, time_error, type_error};

impl Machine<'_> {
    pub(super) fn time(&mut self, function: Builtin, args: &[Value]) -> VmResult<Value> {
        let now = self.host.now();
        match function {
            Builtin::TimeNow => Ok(Value::text(now.to_string())),
            Builtin::DateNow => Ok(Value::Int(now.as_millis())),
            Builtin::TimeAdd => {
                let at = instant(&arg(args, 0), "Time.add")?;
                let span = need_text(&arg(args, 1), "Time.add")?;
                let span = Span::parse(span.as_str()).map_err(|error| time_error(&error))?;
                let zone = zone(&arg(args, 2))?;
                let sum = span.add_to(at, &zone).map_err(|error| time_error(&error))?;
                Ok(Value::text(sum.to_string()))
            }
            Builtin::TimeDiff => {
                let from = instant(&arg(args, 0), "Time.diff")?;
                let to = instant(&arg(args, 1), "Time.diff")?;
                let millis = to.saturating_since(from);
                Ok(seconds(millis))
            }
            _ => {
                let at = instant(&arg(args, 0), "Time.format")?;
                let pattern = need_text(&arg(args, 1), "Time.format")?;
                let zone = zone(&arg(args, 2))?;
                self.check_text(pattern.bytes().saturating_mul(8))?;
                let text = zone.format(at, pattern.as_str()).map_err(|error| time_error(&error))?;
                self.new_text(text)
            }
        }
    }
}

/// A value that must be a string.
fn need_text(value: &Value, of: &str) -> VmResult<Text> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        other => Err(type_error(format!("`{of}` needs a string, not {}", other.kind_name()))),
    }
}

/// An instant as text, or as milliseconds since 1970.
fn instant(value: &Value, of: &str) -> VmResult<Timestamp> {
    match value {
        Value::Text(text) => Timestamp::parse(text.as_str()).map_err(|error| time_error(&error)),
        Value::Int(millis) => {
            Timestamp::from_written_millis(*millis).map_err(|error| time_error(&error))
        }
        other => Err(type_error(format!("`{of}` needs an instant, not {}", other.kind_name()))),
    }
}

fn zone(value: &Value) -> VmResult<Zone> {
    match value {
        Value::Undefined => Ok(Zone::utc()),
        other => {
            let name = need_text(other, "the time zone")?;
            Zone::parse(name.as_str()).map_err(|error| time_error(&error))
        }
    }
}

/// Seconds, with a fraction only if it is not zero.
#[expect(clippy::cast_precision_loss, reason = "instants span less than 2^53 milliseconds")]
fn seconds(millis: i64) -> Value {
    if millis % 1000 == 0 {
        Value::Int(millis / 1000)
    } else {
        Value::Float(millis as f64 / 1000.0)
    }
}
