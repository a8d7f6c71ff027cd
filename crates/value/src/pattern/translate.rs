//! Translates Java's dialect to that of the engine.

/// Rewrites what Java interprets differently: `\d`, `\w` and `\s` are ASCII, `\h`, `\Z` and the
/// POSIX names of classes exist, and `[` needs no escape inside a class.
pub(super) fn translate(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 16);
    let mut depth = 0_usize;
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let Some(escaped) = chars.next() else {
                    out.push('\\');
                    break;
                };
                if escaped == 'Q' {
                    quote(&mut chars, &mut out);
                } else if escaped == 'p' || escaped == 'P' {
                    property(&mut chars, escaped, &mut out);
                } else {
                    escape(escaped, depth > 0, &mut out);
                }
            }
            '[' => {
                depth += 1;
                out.push('[');
                if chars.peek() == Some(&'^') {
                    chars.next();
                    out.push('^');
                }
                if chars.peek() == Some(&']') {
                    chars.next();
                    out.push_str("\\]");
                }
            }
            ']' if depth > 0 => {
                depth -= 1;
                out.push(']');
            }
            other => out.push(other),
        }
    }
    out
}

fn escape(escaped: char, in_class: bool, out: &mut String) {
    let class = match escaped {
        'd' => "0-9",
        'w' => "a-zA-Z_0-9",
        's' => " \\t\\n\\x0B\\f\\r",
        'h' => " \\t\\u{A0}",
        _ => "",
    };
    match (escaped, in_class) {
        ('d' | 'w' | 's' | 'h', true) => out.push_str(class),
        ('d' | 'w' | 's' | 'h', false) => out.extend(["[", class, "]"]),
        ('D', _) => out.push_str("[^0-9]"),
        ('W', _) => out.push_str("[^a-zA-Z_0-9]"),
        ('S', _) => out.push_str("[^ \\t\\n\\x0B\\f\\r]"),
        ('Z', false) => out.push_str("(?=\\n?\\z)"),
        ('R', false) => out.push_str("(?:\\r\\n|[\\n\\x0B\\f\\r\\u{85}\\u{2028}\\u{2029}])"),
        (
            '/' | '"' | '\'' | '`' | '@' | '%' | ',' | ';' | ':' | '=' | '!' | '_' | ' ' | '<'
            | '>',
            _,
        ) => {
            if escaped == '<' || escaped == '>' || escaped == ' ' {
                out.push('\\');
            }
            out.push(escaped);
        }
        _ => {
            out.push('\\');
            out.push(escaped);
        }
    }
}

/// `\Q…\E` takes everything between literally.
fn quote(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    while let Some(c) = chars.next() {
        if c == '\\' && chars.peek() == Some(&'E') {
            chars.next();
            return;
        }
        out.push_str(&fancy_regex::escape(&c.to_string()));
    }
}

fn property(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, escaped: char, out: &mut String) {
    if chars.peek() != Some(&'{') {
        out.push('\\');
        out.push(escaped);
        return;
    }
    chars.next();
    let name: String = chars.by_ref().take_while(|c| *c != '}').collect();
    let posix = match name.as_str() {
        "Lower" => "[:lower:]",
        "Upper" => "[:upper:]",
        "ASCII" => "[:ascii:]",
        "Alpha" => "[:alpha:]",
        "Digit" => "[:digit:]",
        "Alnum" => "[:alnum:]",
        "Punct" => "[:punct:]",
        "Graph" => "[:graph:]",
        "Print" => "[:print:]",
        "Blank" => "[:blank:]",
        "Cntrl" => "[:cntrl:]",
        "XDigit" => "[:xdigit:]",
        "Space" => "[:space:]",
        _ => {
            let name = name.strip_prefix("Is").unwrap_or(&name);
            out.extend(["\\", escaped.encode_utf8(&mut [0; 4]), "{", name, "}"]);
            return;
        }
    };
    let negated = if escaped == 'P' { "^" } else { "" };
    out.extend(["[", negated, posix, "]"]);
}
