//! `read` and `write`: text in a data format.

use meantime_value::json::{self, Layout};
use meantime_value::{Kind, Value};

use super::super::super::coerce;
use super::super::super::eval::{Eval, Fault, Result};
use super::super::literal::literal;
use super::super::native::{Args, Native, Overload, Param};

pub(in crate::library) const FUNCTIONS: &[Native] = &[
    Native::new(
        "read",
        &[Overload::new(&[Param::TEXT.or(Kind::Binary), Param::TEXT, Param::OBJECT], read)
            .optional(2)],
    ),
    Native::new(
        "write",
        &[Overload::new(&[Param::ANY, Param::TEXT, Param::OBJECT], write).optional(2)],
    ),
];

fn mime(args: &Args) -> String {
    if args.has(1) { args.text(1).to_string() } else { "application/json".to_owned() }
}

fn unsupported(mime: &str) -> Fault {
    Fault::invalid(format!("the format `{mime}` is not supported; use application/json"))
}

fn read(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let text = match args.get(0) {
        Value::Binary(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => args.text(0).to_string(),
    };
    eval.charge(text.len() as u64)?;
    eval.reserve_text(text.len())?;
    match mime(args).as_str() {
        "application/json" | "text/json" => {
            json::read(&text).map_err(|error| Fault::invalid(error.to_string()))
        }
        "text/plain" => eval.text(text),
        other => Err(unsupported(other)),
    }
}

fn write(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mime = mime(args);
    match mime.as_str() {
        "application/json" | "text/json" => {
            let value = eval.finished(args.get(0))?;
            let indent = args.object(2).get("indent").map(coerce::to_boolean).transpose()?;
            let layout = if indent.unwrap_or(true) { Layout::Indented } else { Layout::OneLine };
            let text = json::write(&value, layout, eval.text_limit())
                .map_err(|error| Fault::limit(error.to_string()))?;
            eval.text(text)
        }
        "text/plain" => match coerce::auto_text(args.get(0)) {
            Some(text) => eval.text(text),
            None => Err(Fault::expected(Kind::String, args.get(0))),
        },
        "application/dw" => {
            let text = literal(eval, args.get(0))?;
            eval.text(text)
        }
        other => Err(unsupported(other)),
    }
}
