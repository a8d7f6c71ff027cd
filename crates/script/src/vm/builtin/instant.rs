//! `Date`: a time in milliseconds. The time of the turn is its clock, and UTC its zone.

use super::calendar::{Fields, Parsed, clip, parse};
use super::dispatch::arg;
use crate::library::{Builtin, Method};
use crate::vm::arithmetic::number;
use crate::vm::{Inner, Machine, Record, RecordRef, Value, VmResult, range_error, unsupported};

impl Machine<'_> {
    /// `new Date(…)`
    #[expect(clippy::cast_precision_loss, reason = "instants are below 2^53 milliseconds")]
    pub(crate) fn new_date(&mut self, args: &[Value]) -> VmResult<Value> {
        let time = match args {
            [] => self.host.now().as_millis() as f64,
            [only] => match self.date_of(only) {
                Some(time) => time,
                None => match self.primitive_of(only)? {
                    Value::Text(text) => Self::read_time(text.as_str())?,
                    other => clip(self.float_of(&other)?),
                },
            },
            fields => self.time_of_fields(fields)?,
        };
        Ok(self.new_inner(Builtin::MakeDate, Inner::Date(time)))
    }

    /// `Date.parse` and `Date.UTC`
    pub(super) fn date_function(&mut self, function: Builtin, args: &[Value]) -> VmResult<Value> {
        if function == Builtin::DateUtc {
            return Ok(number(self.time_of_fields(args)?));
        }
        let text = self.string_of(&arg(args, 0))?;
        Ok(number(Self::read_time(text.as_str())?))
    }

    fn read_time(text: &str) -> VmResult<f64> {
        match parse(text) {
            Parsed::Time(time) => Ok(time),
            Parsed::Invalid => Ok(f64::NAN),
            Parsed::Unknown => Err(unsupported(
                "this format of a time; write it as \"2026-01-31\" or \"2026-01-31T12:00:00Z\"",
            )),
        }
    }

    fn time_of_fields(&mut self, args: &[Value]) -> VmResult<f64> {
        let mut all = [f64::NAN, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        for (field, value) in all.iter_mut().zip(args) {
            *field = self.float_of(value)?;
        }
        let [year, month, day, hour, minute, second, millis] = all;
        let year = match year.trunc() {
            short if (0.0..=99.0).contains(&short) => 1900.0 + short,
            _ => year,
        };
        Ok(Fields { year, month, day, hour, minute, second, millis }.time())
    }

    /// The time of a value that is a `Date`.
    pub(crate) fn date_of(&self, value: &Value) -> Option<f64> {
        let Value::Record(at) = value else { return None };
        match self.heap.records.get(*at)?.inner() {
            Inner::Date(time) => Some(*time),
            _ => None,
        }
    }

    /// The text of a `Date`.
    pub(crate) fn date_text(time: f64) -> String {
        if time.is_nan() {
            return "Invalid Date".to_owned();
        }
        let fields = Fields::of(time);
        format!("{} {}", fields.date_text(time), fields.time_text())
    }

    /// A time as `toISOString` writes it; none for an invalid one.
    pub(crate) fn iso_text(time: f64) -> Option<String> {
        (!time.is_nan()).then(|| Fields::of(time).iso())
    }

    pub(super) fn date_method(
        &mut self,
        at: RecordRef,
        method: Method,
        args: &[Value],
    ) -> VmResult<Option<Value>> {
        let Some(time) = self.date_of(&Value::Record(at)) else { return Ok(None) };
        let text = |it: &dyn Fn(Fields) -> String| {
            Value::text(if time.is_nan() {
                "Invalid Date".to_owned()
            } else {
                it(Fields::of(time))
            })
        };
        Ok(Some(match method {
            Method::GetTime | Method::ValueOf => number(time),
            Method::GetTimezoneOffset => number(if time.is_nan() { time } else { 0.0 }),
            Method::SetTime => {
                let time = clip(self.float_of(&arg(args, 0))?);
                self.set_date(at, time)
            }
            Method::ToIsoString => match Self::iso_text(time) {
                Some(text) => Value::text(text),
                None => return Err(range_error("the time is invalid")),
            },
            Method::ToJson => Self::iso_text(time).map_or(Value::Null, Value::text),
            Method::ToString => Value::text(Self::date_text(time)),
            Method::ToDateString => text(&|it| it.date_text(time)),
            Method::ToTimeString => text(&Fields::time_text),
            Method::ToUtcString => text(&|it| it.utc_text(time)),
            _ => return self.date_field(at, time, method, args),
        }))
    }

    fn set_date(&mut self, at: RecordRef, time: f64) -> Value {
        if let Some(inner) = self.heap.records.get_mut(at).and_then(Record::inner_mut) {
            *inner = Inner::Date(time);
        }
        number(time)
    }

    /// `getHours`, `setUTCMonth` and the like. Local time is UTC.
    fn date_field(
        &mut self,
        at: RecordRef,
        time: f64,
        method: Method,
        args: &[Value],
    ) -> VmResult<Option<Value>> {
        let name = method.name();
        let Some((action, field)) = name.split_at_checked(3) else { return Ok(None) };
        let field = field.strip_prefix("UTC").unwrap_or(field);
        let fields = Fields::of(time);
        let Fields { year, month, day, hour, minute, second, millis } = fields;
        let names = ["FullYear", "Month", "Date", "Hours", "Minutes", "Seconds", "Milliseconds"];
        if action == "get" {
            let values = [year, month, day, hour, minute, second, millis];
            let known = names.iter().zip(values).find(|(name, _)| **name == field);
            let value = match (known, field) {
                (Some((_, value)), _) => value,
                (None, "Day") => Fields::weekday(time),
                _ => return Ok(None),
            };
            return Ok(Some(number(if time.is_nan() { time } else { value })));
        }
        let Some(first) = names.iter().position(|name| *name == field) else { return Ok(None) };
        let mut all = [year, month, day, hour, minute, second, millis];
        if time.is_nan() && field == "FullYear" {
            all = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        } else if time.is_nan() {
            all = [f64::NAN; 7];
        }
        // A date takes no fields of the time of day, and the other way round.
        let last = if first < 3 { 3 } else { 7 };
        let mut given = Vec::with_capacity(args.len());
        for value in args {
            given.push(self.float_of(value)?);
        }
        if given.is_empty() {
            given.push(f64::NAN);
        }
        for (slot, value) in all.iter_mut().take(last).skip(first).zip(given) {
            *slot = value;
        }
        let [year, month, day, hour, minute, second, millis] = all;
        let time = Fields { year, month, day, hour, minute, second, millis }.time();
        Ok(Some(self.set_date(at, time)))
    }
}
