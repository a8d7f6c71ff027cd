//! `multipart/form-data` (RFC 7578), as far as deploying needs it: a source with the files it
//! refers to.

use meantime_core::SourceFile;

/// A source with its files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SourceUpload {
    /// The media type of the source.
    pub(super) media_type: Option<String>,
    /// The first part, or the one with the name `source`.
    pub(super) text: String,
    /// All others, by their file names.
    pub(super) files: Vec<SourceFile>,
}

struct FormPart<'a> {
    name: Option<&'a str>,
    file: Option<&'a str>,
    media_type: Option<String>,
    text: &'a str,
}

/// The boundary between parts, from the value of `Content-Type`.
pub(super) fn boundary(content_type: &str) -> Option<&str> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    parameter(parameters, "boundary").filter(|it| (1..=70).contains(&it.len()))
}

/// Reads a body.
pub(super) fn read(body: &str, boundary: &str) -> Result<SourceUpload, String> {
    let delimiter = format!("--{boundary}");
    let broken = |what: &str| Err(format!("the multipart body {what}"));
    let Some(rest) = body.strip_prefix(delimiter.as_str()) else {
        return broken("does not begin with its boundary");
    };
    let separator = format!("\r\n{delimiter}");
    let mut parts = Vec::new();
    let mut rest = rest;
    loop {
        if rest.starts_with("--") {
            break;
        }
        let Some(after) = rest.strip_prefix("\r\n") else { return broken("is cut off") };
        let Some((part, after)) = after.split_once(separator.as_str()) else {
            return broken("does not end with its boundary");
        };
        let Some(part) = read_part(part) else { return broken("has a part without headers") };
        parts.push(part);
        rest = after;
    }
    let source = parts.iter().position(|part| part.name == Some("source")).unwrap_or(0);
    if source >= parts.len() {
        return broken("has no part");
    }
    let part = parts.remove(source);
    let named = parts.into_iter().filter_map(|part| {
        let name = part.file.or(part.name)?.to_owned();
        Some(SourceFile { name, text: part.text.to_owned() })
    });
    let mut files: Vec<SourceFile> = named.collect();
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(SourceUpload { media_type: part.media_type, text: part.text.to_owned(), files })
}

/// The texts of a form, as [`crate::fuzz::read_form`] describes.
#[cfg(feature = "fuzz")]
pub(crate) fn read_form(content_type: &str, body: &str) -> Option<Result<Vec<String>, String>> {
    let boundary = boundary(content_type)?;
    Some(read(body, boundary).map(|upload| {
        let files = upload.files.into_iter().map(|file| file.text);
        std::iter::once(upload.text).chain(files).collect()
    }))
}

fn read_part(part: &str) -> Option<FormPart<'_>> {
    let (head, text) = part.split_once("\r\n\r\n")?;
    let header = |name: &str| {
        let mut pairs = head.split("\r\n").filter_map(|line| line.split_once(':'));
        let found = pairs.find(|(known, _)| known.trim().eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    };
    let disposition = header("content-disposition").unwrap_or_default();
    let media_type = header("content-type").map(|value| {
        let kind = value.split(';').next().unwrap_or_default();
        kind.trim().to_ascii_lowercase()
    });
    let (name, file) = (parameter(disposition, "name"), parameter(disposition, "filename"));
    Some(FormPart { name, file, media_type, text })
}

/// A parameter of a header, with or without quotes.
fn parameter<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = text.split(';').filter_map(|pair| pair.trim().split_once('='));
    let found = pairs.find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim_matches('"')).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_and_its_files_are_told_apart() {
        let kind = "multipart/form-data; boundary=\"x1\"";
        let body = "--x1\r\nContent-Disposition: form-data; name=\"file\"; \
                    filename=\"bank.yaml\"\r\n\r\nopenapi: 3.1.0\r\n--x1\r\ncontent-disposition: \
                    form-data; name=\"source\"\r\nContent-Type: application/yaml; \
                    charset=utf-8\r\n\r\nkind: Journey\n--x\n\r\n--x1--\r\n";
        let parts = read(body, boundary(kind).expect("a boundary")).expect("parts");
        assert_eq!(parts.media_type.as_deref(), Some("application/yaml"));
        assert_eq!(parts.text, "kind: Journey\n--x\n");
        let file = SourceFile { name: "bank.yaml".to_owned(), text: "openapi: 3.1.0".to_owned() };
        assert_eq!(parts.files, [file]);
    }

    #[test]
    fn what_is_broken_is_refused() {
        assert_eq!(boundary("application/json"), None);
        assert_eq!(boundary("multipart/form-data; boundary="), None);
        for body in ["", "--x", "--x--", "--x\r\na: b\r\n\r\ntext", "--x\r\ntext\r\n--x--"] {
            assert!(read(body, "x").is_err(), "{body:?}");
        }
    }
}
