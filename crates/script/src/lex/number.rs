//! Number literals.

use super::scanner::{Scanner, is_name_start};
use super::token::{Kind, Number};
use crate::problem::Code;
use crate::vm::is_exact;

/// Up to here every integer is exact as a double.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

impl Scanner<'_> {
    pub(super) fn number(&mut self) {
        let start = self.at;
        let radix = match self.byte(1).filter(|_| self.byte(0) == Some(b'0')) {
            Some(b'x' | b'X') => 16,
            Some(b'o' | b'O') => 8,
            Some(b'b' | b'B') => 2,
            _ => 10,
        };
        if radix == 10 {
            self.decimal();
        } else {
            self.at += 2;
            self.digits(|byte| byte.is_ascii_hexdigit());
        }
        let end = self.at;
        // Letters that follow belong to the invalid literal, not to the next token.
        while let Some(c) = self.peek().filter(|c| is_name_start(*c) || c.is_ascii_digit()) {
            self.at += c.len_utf8();
        }
        let text = self.text.get(start..end).unwrap_or_default();
        let suffix = self.text.get(end..self.at).unwrap_or_default().to_owned();
        let number = read(text, radix);
        let span = self.span_from(start);
        let mut wrong = |code: Code, message: &str, help: &str| {
            self.problems.add_with_help(code, span, message, help);
        };
        let value = match number {
            _ if suffix == "n" => {
                let help = "numbers are doubles; keep longer ones as strings";
                wrong(Code::Refused, "a BigInt is not in the language", help);
                None
            }
            _ if !suffix.is_empty() => {
                wrong(Code::Literal, "letters follow the number", "separate them by a blank");
                None
            }
            Err(NumberProblem::Form) => {
                wrong(Code::Literal, "this is not a number", "write for example 12, 0.5 or 1e3");
                None
            }
            Err(NumberProblem::Range) => {
                let help = "numbers are doubles; keep longer ones as strings";
                wrong(Code::Literal, "no double is exactly this number", help);
                None
            }
            Ok(number) => Some(number),
        };
        self.push(start, Kind::Number(value.unwrap_or(Number::Int(0))));
    }

    fn decimal(&mut self) {
        let is_digit = |byte: u8| byte.is_ascii_digit();
        self.digits(is_digit);
        if self.byte(0) == Some(b'.') {
            self.at += 1;
            self.digits(is_digit);
        }
        if matches!(self.byte(0), Some(b'e' | b'E')) {
            let signed = matches!(self.byte(1), Some(b'+' | b'-'));
            if self.byte(1 + usize::from(signed)).is_some_and(is_digit) {
                self.at += 1 + usize::from(signed);
                self.digits(is_digit);
            }
        }
    }

    fn digits(&mut self, is_digit: impl Fn(u8) -> bool) {
        while self.byte(0).is_some_and(|byte| is_digit(byte) || byte == b'_') {
            self.at += 1;
        }
    }
}

enum NumberProblem {
    Form,
    Range,
}

fn read(text: &str, radix: u32) -> Result<Number, NumberProblem> {
    if text.contains("__") || text.ends_with('_') || text.contains("._") || text.contains("_.") {
        return Err(NumberProblem::Form);
    }
    let digits = text.replace('_', "");
    if radix != 10 {
        let digits = digits.get(2..).unwrap_or_default();
        if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
            return Err(NumberProblem::Form);
        }
        let value = i64::from_str_radix(digits, radix).ok().filter(|it| *it <= MAX_SAFE_INTEGER);
        return value.map(Number::Int).ok_or(NumberProblem::Range);
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        if digits.len() > 1 && digits.starts_with('0') {
            return Err(NumberProblem::Form);
        }
        return match digits.parse::<i64>() {
            Ok(value) if value <= MAX_SAFE_INTEGER => Ok(Number::Int(value)),
            // An integer that is not exact as a double is rejected instead of silently changed.
            _ if !is_exact(&digits) => Err(NumberProblem::Range),
            _ => digits.parse().map(Number::Float).map_err(|_| NumberProblem::Form),
        };
    }
    match digits.parse::<f64>() {
        Ok(value) => Ok(Number::Float(value)),
        Err(_) => Err(NumberProblem::Form),
    }
}
