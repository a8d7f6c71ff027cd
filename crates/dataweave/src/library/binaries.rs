//! `dw::core::Binaries`.

use meantime_value::{Kind, Object, Value};

use super::super::coerce;
use super::super::eval::{Eval, Result};
use super::native::{Args, Native, Overload, Param};

const TEXT_PARAMS: &[Param] = &[Param::TEXT];
const BINARY_PARAMS: &[Param] = &[Param::BINARY];

pub(super) const FUNCTIONS: &[Native] = &[
    Native::new("fromBase64", &[Overload::new(TEXT_PARAMS, from_base64)]),
    Native::new("fromHex", &[Overload::new(TEXT_PARAMS, from_hex)]),
    Native::new("toBase64", &[Overload::new(BINARY_PARAMS, to_base64)]),
    Native::new("toHex", &[Overload::new(BINARY_PARAMS, to_hex)]),
    Native::new(
        "concatWith",
        &[
            Overload::new(&[Param::BINARY, Param::BINARY], concat_with),
            Overload::new(&[Param::BINARY, Param::NULL], first),
            Overload::new(&[Param::NULL, Param::BINARY], second),
        ],
    ),
    Native::new("readLinesWith", &[Overload::new(&[Param::BINARY, Param::TEXT], read_lines_with)]),
    Native::new("writeLinesWith", &[Overload::new(&[Param::ARRAY, Param::TEXT], write_lines_with)]),
];

fn based(value: &Value, kind: Kind, base: &str) -> Result {
    let mut schema = Object::default();
    schema.insert("base", base);
    coerce::with_metadata(value, kind, &schema)
}

fn from_base64(_: &mut Eval<'_>, args: &mut Args) -> Result {
    based(args.get(0), Kind::Binary, "64")
}

fn from_hex(_: &mut Eval<'_>, args: &mut Args) -> Result {
    based(args.get(0), Kind::Binary, "16")
}

fn to_base64(_: &mut Eval<'_>, args: &mut Args) -> Result {
    based(args.get(0), Kind::String, "64")
}

fn to_hex(_: &mut Eval<'_>, args: &mut Args) -> Result {
    based(args.get(0), Kind::String, "16")
}

fn concat_with(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (left, right) = (args.binary(0), args.binary(1));
    eval.reserve_text(left.len() + right.len())?;
    Ok(Value::Binary(left.iter().chain(right.iter()).copied().collect()))
}

fn first(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(args.take(0))
}

fn second(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(args.take(1))
}

fn read_lines_with(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let text = coerce::decode(&args.binary(0), &args.text(1))?;
    eval.reserve_text(text.len())?;
    let lines = text.lines().map(Value::from).collect();
    eval.array(lines)
}

fn write_lines_with(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut text = String::new();
    for line in Eval::items(args.get(0)) {
        eval.charge(1)?;
        text.push_str(&coerce::to_text(&line)?);
        text.push('\n');
    }
    eval.reserve_text(text.len())?;
    Ok(Value::Binary(coerce::encode(&text, &args.text(1))?.into()))
}
