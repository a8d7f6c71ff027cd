//! Reading JSON into the heap, by the reader of the core.

use meantime_core::Json;
use meantime_core::json::{InvalidJson, InvalidKind, Policy, Reader, Token};

use super::machine::Machine;
use super::number::{document_number, nearest_number};
use super::raise::{Raise, VmResult, limit, syntax_error, unsupported, unsupported_json};
use super::record::Record;
use super::text::Text;
use super::value::Value;

impl Machine<'_> {
    /// Reads a document. It was checked where it came in; only its depth can have grown since.
    pub(crate) fn read_json(&mut self, json: &Json) -> VmResult<Value> {
        self.read_tokens(Reader::of_document(json), document_number).map_err(
            |problem| match problem {
                Problem::Raise(raise) => raise,
                Problem::Text(error) => limit(error.code(), error.to_string()),
            },
        )
    }

    /// `JSON.parse`, as in ECMAScript: the text may be anything.
    pub(super) fn json_parse(&mut self, text: &str) -> VmResult<Value> {
        self.read_tokens(Reader::new(text, Policy::EcmaScript), nearest_number).map_err(|problem| {
            match problem {
                Problem::Raise(raise) => raise,
                Problem::Text(error) if error.kind() == InvalidKind::Unsupported => {
                    unsupported_json(error.to_string())
                }
                Problem::Text(error) => syntax_error(error.to_string()),
            }
        })
    }

    fn read_tokens(
        &mut self,
        mut reader: Reader<'_>,
        number: NumberReader,
    ) -> Result<Value, Problem> {
        self.spend_bytes(reader.text().len());
        let first = reader.next_token()?;
        let value = self.read_value(&mut reader, number, first)?;
        reader.next_token()?;
        Ok(value)
    }

    /// The reader bounds how deep this goes.
    fn read_value(
        &mut self,
        reader: &mut Reader<'_>,
        number: NumberReader,
        first: Token<'_>,
    ) -> Result<Value, Problem> {
        Ok(match first {
            Token::Bool(value) => value.into(),
            Token::Number(digits) => number(digits),
            Token::Text(text) => {
                let text = text.decode();
                self.check_text(text.len())?;
                Value::Text(Text::new(text))
            }
            Token::List => {
                let mut items = Vec::new();
                loop {
                    match reader.next_token()? {
                        Token::EndOfList => break self.new_list(items)?,
                        token => items.push(self.read_value(reader, number, token)?),
                    }
                }
            }
            Token::Object => {
                let mut record = Record::default();
                while let Token::Key(name) = reader.next_token()? {
                    let name = Text::new(name.decode());
                    self.heap.grow_text(name.bytes());
                    let token = reader.next_token()?;
                    let value = self.read_value(reader, number, token)?;
                    // The last of equal names wins, at the place of the first.
                    record.set(name, value);
                }
                self.check_entries(record.len())?;
                self.check_burst()?;
                self.heap.new_record(record)
            }
            Token::Null | Token::Key(_) | Token::EndOfList | Token::EndOfObject | Token::End => {
                Value::Null
            }
        })
    }
}

/// Strings contain characters; half of a surrogate pair is not one.
pub(super) fn lone_surrogate_error() -> Raise {
    unsupported("half of a surrogate pair is no character, and cannot be part of a string here")
}

/// What a number is for a script.
type NumberReader = fn(&str) -> Value;

enum Problem {
    Text(InvalidJson),
    Raise(Raise),
}

impl From<InvalidJson> for Problem {
    fn from(error: InvalidJson) -> Self {
        Self::Text(error)
    }
}

impl From<Raise> for Problem {
    fn from(raise: Raise) -> Self {
        Self::Raise(raise)
    }
}
