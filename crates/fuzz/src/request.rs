//! What callers of the server send beside JSON: forms with files, ids and cursors.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use meantime_core::{IncidentId, InstanceId, TaskId, TimerId};
use meantime_server::fuzz::{read_cursors, read_form};

use crate::case_random::CaseRandom;

pub(crate) const FORM_WORDS: &[&str] = &[
    "\r\n",
    "\r\n\r\n",
    "--x1",
    "\r\n--x1",
    "\r\n--x1--\r\n",
    "Content-Disposition: form-data; ",
    "name=\"source\"",
    "filename=\"a.yaml\"",
    "Content-Type: application/yaml; charset=utf-8",
    "boundary=\"x1\"",
    "multipart/form-data;",
    ";",
    "=",
    "\"",
];

pub(crate) fn form_seeds() -> Vec<String> {
    let part = "Content-Disposition: form-data; name=\"file\"; filename=\"bank.yaml\"\r\n\r\n\
                openapi: 3.1.0";
    let source = "content-disposition: form-data; name=\"source\"\r\nContent-Type: \
                  application/yaml; charset=utf-8\r\n\r\nkind: Journey\n--x\n";
    vec![
        format!(
            "multipart/form-data; boundary=\"x1\"\n--x1\r\n{part}\r\n--x1\r\n{source}\r\n--x1--\r\n"
        ),
        format!("Multipart/Form-Data;boundary=x1\n--x1\r\n{source}\r\n--x1--"),
        "application/json\n{}".to_owned(),
    ]
}

/// The first line is the content type, the rest the body. Nothing of a form is invented.
pub(crate) fn fuzz_form(text: &str, _: &mut CaseRandom) {
    let (content_type, body) = text.split_once('\n').unwrap_or((text, ""));
    let Some(Ok(parts)) = read_form(content_type, body) else { return };
    assert!(!parts.is_empty(), "a form without a source is refused");
    let size: usize = parts.iter().map(String::len).sum();
    assert!(size <= body.len(), "{size} bytes of {}", body.len());
    assert!(parts.iter().all(|part| body.contains(part.as_str())));
}

pub(crate) const ID_WORDS: &[&str] = &[
    "in_",
    "ic_",
    "tk_",
    "tm_",
    "-",
    ".",
    "a.",
    "f.",
    "0",
    "7zzzzzzzzzzzzzzzzzzzzzzzzz",
    "i",
    "L",
];

pub(crate) fn id_seeds() -> Vec<String> {
    let instance = InstanceId::new(70_000, 9);
    let (task, timer) = (TaskId(instance.effect(3, 1)), TimerId(instance.effect(u64::MAX, 2)));
    let at = "1767225600000";
    vec![
        instance.to_string(),
        InstanceId::new(0, 0).to_string(),
        IncidentId::from_bytes([255; 16]).to_string(),
        task.to_string(),
        timer.to_string(),
        format!("a.{at}.{timer}"),
        format!("f.-{at}.{timer}"),
        format!("{at}.{timer}"),
        format!("{at}.{instance}.{at}"),
        format!("{at}x"),
        "17.3".to_owned(),
        at.to_owned(),
    ]
}

/// An id or a cursor that is accepted has one text: a page is found again by what was read of its
/// cursor, and no instance has two names.
pub(crate) fn fuzz_id(text: &str, _: &mut CaseRandom) {
    again::<InstanceId>(text);
    again::<IncidentId>(text);
    again::<TaskId>(text);
    again::<TimerId>(text);
    for written in read_cursors(text) {
        assert!(read_cursors(&written).contains(&written), "{text:?} is {written:?}");
    }
}

fn again<T: FromStr + Display + Debug + PartialEq>(text: &str) {
    let Ok(id) = text.parse::<T>() else { return };
    let written = id.to_string();
    assert!(written.parse::<T>().is_ok_and(|it| it == id), "{text:?} is {written:?}");
    assert!(written.eq_ignore_ascii_case(text), "{text:?} and {written:?} are the same");
}
