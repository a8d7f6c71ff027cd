//! `dw::util::Timer`. `now` is constant during an evaluation, so every duration is zero.

use meantime_value::{Object, Value};

use super::super::eval::{Eval, Result};
use super::native::{Args, Native, Overload, Param};

pub(super) const FUNCTIONS: &[Native] = &[
    Native::new("currentMilliseconds", &[Overload::new(&[], current_milliseconds)]),
    Native::new("toMilliseconds", &[Overload::new(&[Param::DATE_TIME], to_milliseconds)]),
    Native::new("duration", &[Overload::new(&[Param::callback(0)], duration)]),
    Native::new("time", &[Overload::new(&[Param::callback(0)], time)]),
];

fn current_milliseconds(eval: &mut Eval<'_>, _: &mut Args) -> Result {
    Ok(Value::from(eval.now().timestamp().as_millisecond()))
}

fn to_milliseconds(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(match args.get(0) {
        Value::DateTime(zoned) => Value::from(zoned.timestamp().as_millisecond()),
        _ => Value::Null,
    })
}

fn duration(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let result = eval.call(args.get(0), &mut [])?;
    let mut measured = Object::default();
    measured.insert("time", 0_i64);
    measured.insert("result", result);
    eval.object(measured)
}

fn time(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let now = Value::date_time(eval.now().clone());
    let result = eval.call(args.get(0), &mut [])?;
    let mut measured = Object::default();
    measured.insert("start", now.clone());
    measured.insert("result", result);
    measured.insert("end", now);
    eval.object(measured)
}
