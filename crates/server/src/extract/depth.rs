//! Nesting depth of JSON text, without parsing it.

/// The maximum nesting of arrays and objects. For invalid JSON the result is meaningless, but the
/// parser rejects that text anyway.
pub(crate) fn json_depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::json_depth;

    #[test]
    fn brackets_count_unless_they_are_text() {
        assert_eq!(json_depth(b"1"), 0);
        assert_eq!(json_depth(b"{\"a\":[{}],\"b\":{}}"), 3);
        assert_eq!(json_depth(br#"["[[[[", "\"[[", "\\"]"#), 1);
    }
}
