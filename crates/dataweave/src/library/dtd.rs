//! `dw::xml::Dtd`.

use super::super::coerce;
use super::super::eval::{Eval, Result};
use super::native::{Args, Native, Overload, Param};

pub(super) const FUNCTIONS: &[Native] =
    &[Native::new("docTypeAsString", &[Overload::new(&[Param::OBJECT], doc_type_as_string)])];

fn doc_type_as_string(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let parts = args.object(0);
    let part = |name: &str| match parts.get(name) {
        Some(value) if !value.is_null() => coerce::to_text(value).map(Some),
        _ => Ok(None),
    };
    let mut text = part("rootName")?.unwrap_or_default().to_string();
    let (public, system) = (part("publicId")?, part("systemId")?);
    match (&public, &system) {
        (Some(public), Some(system)) => text.extend([" PUBLIC ", public, " ", system]),
        (Some(public), None) => text.extend([" PUBLIC ", public]),
        (None, Some(system)) => text.extend([" SYSTEM ", system]),
        (None, None) => {}
    }
    eval.text(text)
}
