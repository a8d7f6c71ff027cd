//! Rust text split into code, string literals and comments.
//!
//! Just enough of a lexer to tell words in comments and strings from code. It is not a parser:
//! checks look for tokens and match brackets.

/// Replaces every byte inside a string or character literal.
const LITERAL_BYTE: u8 = 1;

/// A lexed Rust file.
pub(super) struct Source {
    /// The text with the same length in bytes, comments replaced by blanks and literals hidden.
    pub(super) code: String,
    pub(super) literals: Vec<Span>,
    pub(super) comments: Vec<Span>,
    tests: TestCode,
}

/// A literal without its quotes, or a comment with its slashes.
pub(super) struct Span {
    pub(super) offset: usize,
    pub(super) text: String,
}

/// Which part of the file is test code.
enum TestCode {
    All,
    Ranges(Vec<(usize, usize)>),
}

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let mut lexer = Lexer { text: text.as_bytes(), at: 0, code: Vec::new(), out: Vec::new() };
        lexer.run();
        let code = String::from_utf8_lossy(&lexer.code).into_owned();
        let (mut literals, mut comments) = (Vec::new(), Vec::new());
        for (is_comment, start, end) in lexer.out {
            let text = text.get(start..end).unwrap_or_default().to_owned();
            let list = if is_comment { &mut comments } else { &mut literals };
            list.push(Span { offset: start, text });
        }
        let tests = if is_test_path(path) || code.contains("#![cfg(test)]") {
            TestCode::All
        } else {
            TestCode::Ranges(test_ranges(&code))
        };
        Self { code, literals, comments, tests }
    }

    /// The line of a byte offset, counted from one.
    pub(super) fn line(&self, offset: usize) -> usize {
        let before = self.code.as_bytes().iter().take(offset);
        1 + before.filter(|byte| **byte == b'\n').count()
    }

    pub(super) fn is_test(&self, offset: usize) -> bool {
        match &self.tests {
            TestCode::All => true,
            TestCode::Ranges(ranges) => {
                ranges.iter().any(|(from, to)| (*from..*to).contains(&offset))
            }
        }
    }

    /// The positions of `token` in the code, where it is not part of a longer word.
    pub(super) fn find(&self, token: &str) -> Vec<usize> {
        find_word(&self.code, token)
    }
}

/// The positions of `word` in `text`, where it is not part of a longer word.
pub(super) fn find_word(text: &str, word: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let starts_as_word = word.bytes().next().is_some_and(is_word);
    let ends_as_word = word.bytes().last().is_some_and(is_word);
    text.match_indices(word)
        .map(|(at, _)| at)
        .filter(|at| {
            let before = at.checked_sub(1).and_then(|i| bytes.get(i)).copied();
            let after = bytes.get(at + word.len()).copied();
            let goes_back = starts_as_word && before.is_some_and(is_word);
            let goes_on = ends_as_word && after.is_some_and(is_word);
            !goes_back && !goes_on
        })
        .collect()
}

/// The offset just after the bracket that closes the one at `open`.
pub(super) fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return at + 1;
        }
    }
    code.len()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_test_path(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "benches" | "fuzz" | "tests.rs"))
}

/// From every `#[cfg(test)]` to the end of the item that it belongs to.
fn test_ranges(code: &str) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    for (start, attribute) in code.match_indices("#[cfg(test)]") {
        let rest = start + attribute.len();
        let body = code.get(rest..).unwrap_or_default();
        let end = match body.find(['{', ';']) {
            Some(at) if body.as_bytes().get(at) == Some(&b'{') => closing(code, rest + at),
            Some(at) => rest + at + 1,
            None => code.len(),
        };
        ranges.push((start, end));
    }
    ranges
}

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    code: Vec<u8>,
    /// Whether it is a comment, and its first byte and its end.
    out: Vec<(bool, usize, usize)>,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while let Some(byte) = self.peek(0) {
            match (byte, self.peek(1)) {
                (b'/', Some(b'/')) => self.line_comment(),
                (b'/', Some(b'*')) => self.block_comment(),
                (b'"', _) => self.string(),
                (b'r', Some(b'"' | b'#')) if self.raw_hashes().is_some() => self.raw_string(),
                (b'\'', _) => self.quote(),
                _ => self.keep(1),
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn keep(&mut self, count: usize) {
        let end = (self.at + count).min(self.text.len());
        self.code.extend(self.text.iter().take(end).skip(self.at));
        self.at = end;
    }

    /// Replaces everything up to `end` by `mask`, but keeps the line breaks.
    fn hide(&mut self, end: usize, mask: u8) {
        let end = end.min(self.text.len());
        let hidden = self.text.iter().take(end).skip(self.at);
        self.code.extend(hidden.map(|byte| if *byte == b'\n' { b'\n' } else { mask }));
        self.out.push((mask != LITERAL_BYTE, self.at, end));
        self.at = end;
    }

    fn line_comment(&mut self) {
        let rest = self.text.iter().skip(self.at);
        self.hide(self.at + rest.take_while(|byte| **byte != b'\n').count(), b' ');
    }

    fn block_comment(&mut self) {
        let (mut ahead, mut depth) = (0, 0_usize);
        loop {
            match (self.peek(ahead), self.peek(ahead + 1)) {
                (Some(b'/'), Some(b'*')) => (ahead, depth) = (ahead + 2, depth + 1),
                (Some(b'*'), Some(b'/')) => (ahead, depth) = (ahead + 2, depth - 1),
                (Some(_), _) => ahead += 1,
                (None, _) => break,
            }
            if depth == 0 {
                break;
            }
        }
        self.hide(self.at + ahead, b' ');
    }

    fn string(&mut self) {
        self.keep(1);
        let mut ahead = 0;
        while let Some(byte) = self.peek(ahead) {
            match byte {
                b'"' => break,
                b'\\' => ahead += 2,
                _ => ahead += 1,
            }
        }
        self.hide(self.at + ahead, LITERAL_BYTE);
        self.keep(1);
    }

    /// The number of `#` if a raw string starts here; `r#name` and `bar"…"` are not raw strings.
    fn raw_hashes(&self) -> Option<usize> {
        let before =
            |back: usize| self.at.checked_sub(back).and_then(|i| self.text.get(i).copied());
        let prefixed = matches!(before(1), Some(b'b' | b'c'));
        if before(if prefixed { 2 } else { 1 }).is_some_and(is_word) {
            return None;
        }
        let hashes = self.text.iter().skip(self.at + 1).take_while(|byte| **byte == b'#').count();
        (self.peek(1 + hashes) == Some(b'"')).then_some(hashes)
    }

    fn raw_string(&mut self) {
        let hashes = self.raw_hashes().unwrap_or(0);
        self.keep(2 + hashes);
        let mut end = vec![b'"'];
        end.resize(1 + hashes, b'#');
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = rest.windows(end.len()).position(|window| window == end);
        self.hide(self.at + length.unwrap_or(rest.len()), LITERAL_BYTE);
        self.keep(end.len());
    }

    /// A character literal or a lifetime.
    fn quote(&mut self) {
        let check_width = match self.peek(1) {
            Some(b'\\') => {
                let rest = self.text.iter().skip(self.at + 3);
                2 + rest.take_while(|byte| **byte != b'\'').count()
            }
            Some(byte) if byte.is_ascii() => 1,
            Some(byte) => byte.leading_ones() as usize,
            None => 0,
        };
        self.keep(1);
        if self.peek(check_width) == Some(b'\'') {
            let end = self.at + check_width;
            self.hide(end, LITERAL_BYTE);
            self.keep(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        Source::new("src/a.rs", text).code.replace('\u{1}', "·")
    }

    #[test]
    fn comments_and_literals_are_hidden_and_nothing_else() {
        assert_eq!(shown("a // b\nc"), "a     \nc");
        assert_eq!(shown("a /* b /* c */ */ d"), "a                 d");
        assert_eq!(shown(r#"x("a\"b // c", y)"#), r#"x("·········", y)"#);
        assert_eq!(shown("r#\"a\"b\"# z"), "r#\"···\"# z");
        assert_eq!(shown("br\"a\\\" z"), "br\"··\" z");
        assert_eq!(shown("r#type bar\"x\""), "r#type bar\"·\"");
        assert_eq!(shown(r"'\'' 'x' '/' &'a str '\u{1}'"), "'··' '·' '·' &'a str '·····'");
        assert_eq!(shown("'é' x"), "'··' x");
    }

    #[test]
    fn literals_and_comments_keep_their_text_and_line() {
        let source = Source::new("src/a.rs", "// one\nlet a = \"two\";");
        assert_eq!(source.comments[0].text, "// one");
        assert_eq!(source.literals[0].text, "two");
        assert_eq!(source.line(source.literals[0].offset), 2);
    }

    #[test]
    fn test_code_is_known_by_attribute_and_by_path() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { {} } }\nfn c() {}";
        let source = Source::new("src/a.rs", text);
        let is_test = |name: &str| source.is_test(source.find(name)[0]);
        assert!(!is_test("a") && is_test("b") && !is_test("c"));
        assert!(Source::new("crates/x/tests/a.rs", "fn a() {}").is_test(3));
        assert!(Source::new("crates/x/src/time/tests.rs", "fn a() {}").is_test(3));
    }

    #[test]
    fn words_are_found_whole() {
        assert_eq!(find_word("rand::x grand::x", "rand::"), [0]);
        assert_eq!(find_word("now nowhere", "now"), [0]);
    }
}
