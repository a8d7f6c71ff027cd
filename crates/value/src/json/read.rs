//! A JSON reader that keeps everything that the value model can represent: exact numbers, order,
//! repeated keys.

use meantime_core::Json;
use meantime_core::json::{InvalidJson, Policy, RawText, Reader, Token};

use crate::text::Text;
use crate::{Key, Number, Object, Value};

type Result<T = Value, E = InvalidJson> = std::result::Result<T, E>;

/// Reads a text that may be anything.
pub fn read(text: &str) -> Result {
    read_all(Reader::new(text, Policy::Unchanged))
}

/// Reads a document.
pub fn read_document(json: &Json) -> Result {
    read_all(Reader::of_document(json))
}

fn read_all(mut reader: Reader<'_>) -> Result {
    let first = reader.next_token()?;
    let value = read_value(&mut reader, first)?;
    reader.next_token()?;
    Ok(value)
}

/// The reader bounds how deep this goes.
fn read_value(reader: &mut Reader<'_>, first: Token<'_>) -> Result {
    Ok(match first {
        Token::Bool(value) => Value::Bool(value),
        Token::Number(digits) => match digits.parse::<Number>() {
            Ok(number) => Value::Number(number),
            // Both have the same limits, so this does not happen.
            Err(error) => return Err(reader.refuse(&error.to_string())),
        },
        Token::Text(text) => Value::from(said(text)),
        Token::List => {
            let mut items = Vec::new();
            loop {
                match reader.next_token()? {
                    Token::EndOfList => break Value::array(items),
                    token => items.push(read_value(reader, token)?),
                }
            }
        }
        Token::Object => {
            let mut object = Object::default();
            while let Token::Key(name) = reader.next_token()? {
                let token = reader.next_token()?;
                object.push(Key::new(said(name)), read_value(reader, token)?);
            }
            Value::object(object)
        }
        Token::Null | Token::Key(_) | Token::EndOfList | Token::EndOfObject | Token::End => {
            Value::Null
        }
    })
}

fn said(text: RawText<'_>) -> Text {
    Text::from(text.decode())
}
