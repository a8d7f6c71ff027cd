//! Bytes and text: character sets, base 64, base 16.

use meantime_value::{Text, Value, base64};

use super::super::eval::{Fault, Result};
use super::schema::Schema;

pub(super) fn to_binary(value: &Value, schema: &Schema<'_>) -> Result {
    let bytes = match value {
        Value::Binary(bytes) => return Ok(Value::Binary(bytes.clone())),
        Value::Text(text) => match schema.text("base").as_deref() {
            Some("64") => decode_base64(text).ok_or_else(|| not_encoded("base 64"))?,
            Some("16") => decode_base16(text).ok_or_else(|| not_encoded("base 16"))?,
            Some(other) => return Err(Fault::invalid(format!("there is no base `{other}`"))),
            None => encode(text, schema.text("encoding").as_deref().unwrap_or("UTF-8"))?,
        },
        // The lowest byte of the integer part.
        Value::Number(number) => {
            let bytes = number.to_big_int().to_signed_bytes_be();
            bytes.last().map(|last| vec![*last]).unwrap_or_default()
        }
        Value::Key(key) => key.name().as_bytes().to_vec(),
        _ => return Err(Fault::coercion(value, "Binary")),
    };
    Ok(Value::Binary(bytes.into()))
}

fn not_encoded(base: &str) -> Fault {
    Fault::invalid(format!("the text is not {base}"))
}

/// Bytes as text; the metadata of the value may name the character set.
pub(super) fn to_text(value: &Value, bytes: &[u8], schema: &Schema<'_>) -> Result<Text> {
    match schema.text("base").as_deref() {
        Some("64") => return Ok(base64::encode(bytes).into()),
        Some("16") => return Ok(encode_base16(bytes).into()),
        Some(other) => return Err(Fault::invalid(format!("there is no base `{other}`"))),
        None => {}
    }
    let noted = value.metadata().map(Schema::new).and_then(|metadata| metadata.text("encoding"));
    let encoding = schema.text("encoding").or(noted);
    Ok(decode(bytes, encoding.as_deref().unwrap_or("UTF-8"))?.into())
}

/// The bytes of a text in a character set.
pub(crate) fn encode(text: &str, charset: &str) -> Result<Vec<u8>> {
    Ok(match charset.to_ascii_uppercase().as_str() {
        "UTF-8" | "UTF8" => text.as_bytes().to_vec(),
        "US-ASCII" | "ASCII" => single_bytes(text, 0x7f),
        "ISO-8859-1" | "LATIN1" => single_bytes(text, 0xff),
        "UTF-16" => {
            let mark = [0xfe, 0xff].into_iter();
            mark.chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect()
        }
        "UTF-16BE" => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        "UTF-16LE" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "UTF-32" | "UTF-32BE" => text.chars().flat_map(|c| (c as u32).to_be_bytes()).collect(),
        "UTF-32LE" => text.chars().flat_map(|c| (c as u32).to_le_bytes()).collect(),
        _ => return Err(unknown(charset)),
    })
}

fn single_bytes(text: &str, last: u32) -> Vec<u8> {
    let byte = |c: char| u8::try_from(c as u32).ok().filter(|_| c as u32 <= last).unwrap_or(b'?');
    text.chars().map(byte).collect()
}

/// The text of bytes in a character set; invalid sequences are replaced.
pub(crate) fn decode(bytes: &[u8], charset: &str) -> Result<String> {
    let pairs = |from: fn([u8; 2]) -> u16, bytes: &[u8]| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| from([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    let quads = |from: fn([u8; 4]) -> u32| {
        let code = |quad: &[u8]| from([quad[0], quad[1], quad[2], quad[3]]);
        let character = |code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        bytes.chunks_exact(4).map(code).map(character).collect()
    };
    Ok(match charset.to_ascii_uppercase().as_str() {
        "UTF-8" | "UTF8" => String::from_utf8_lossy(bytes).into_owned(),
        "US-ASCII" | "ASCII" | "ISO-8859-1" | "LATIN1" => {
            bytes.iter().copied().map(char::from).collect()
        }
        "UTF-16" => match bytes {
            [0xff, 0xfe, rest @ ..] => pairs(u16::from_le_bytes, rest),
            [0xfe, 0xff, rest @ ..] | rest => pairs(u16::from_be_bytes, rest),
        },
        "UTF-16BE" => pairs(u16::from_be_bytes, bytes),
        "UTF-16LE" => pairs(u16::from_le_bytes, bytes),
        "UTF-32" | "UTF-32BE" => quads(u32::from_be_bytes),
        "UTF-32LE" => quads(u32::from_le_bytes),
        _ => return Err(unknown(charset)),
    })
}

fn unknown(charset: &str) -> Fault {
    Fault::invalid(format!("the character set `{charset}` is not known"))
}

fn encode_base16(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    let digits = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]);
    digits.map(|digit| digit.to_ascii_uppercase()).collect()
}

fn decode_base16(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    let pairs = (0..text.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let characters = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count();
    let is_padded = text.trim_end().ends_with('=');
    if characters % 4 == 1 || (is_padded && characters % 4 != 0) {
        return None;
    }
    let (mut bits, mut count) = (0_u32, 0);
    let mut bytes = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    while let Some(byte) = bytes.next() {
        if byte == b'=' {
            // Only padding may follow. Bits that do not fill a byte are ignored.
            return bytes.all(|byte| byte == b'=').then_some(out);
        }
        let index = base64::DIGITS.iter().position(|known| *known == byte)?;
        bits = bits << 6 | u32::try_from(index).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_round_trip() {
        for (text, encoded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64::encode(text.as_bytes()), encoded);
            assert_eq!(decode_base64(encoded).unwrap(), text.as_bytes());
        }
        assert_eq!(encode_base16(b"Mule"), "4D756C65");
        assert_eq!(decode_base16("4d756C65").unwrap(), b"Mule");
        assert_eq!(decode_base16("abc"), None);
        assert_eq!(decode_base64("a*"), None);
    }

    #[test]
    fn character_sets_round_trip() {
        for charset in ["UTF-8", "UTF-16", "UTF-16LE", "UTF-32"] {
            assert_eq!(decode(&encode("aé😀", charset).unwrap(), charset).unwrap(), "aé😀");
        }
        assert!(encode("a", "x").is_err());
    }
}
