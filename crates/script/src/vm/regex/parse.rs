//! Patterns, parsed to a tree by the grammar of ECMAScript with its annex for the web.

use super::{Flags, RegexError};

/// The nesting depth of groups.
const MAX_DEPTH: u32 = 60;
/// The largest number in braces.
const MAX_COUNT: u32 = 10_000;

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Empty,
    Char(u32),
    Any,
    Class(Class),
    LineStart,
    LineEnd,
    /// A word boundary, or its absence.
    Boundary(bool),
    Group(Box<Node>, Option<usize>),
    BackReference(usize),
    NamedReference(String),
    Look {
        ahead: bool,
        negative: bool,
        node: Box<Node>,
    },
    Repeat {
        node: Box<Node>,
        least: u32,
        most: Option<u32>,
        greedy: bool,
        groups: (usize, usize),
    },
    Alternatives(Vec<Node>),
    Sequence(Vec<Node>),
}

/// A set of characters: ranges, and properties that are computed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Class {
    pub(super) ranges: Vec<(u32, u32)>,
    pub(super) properties: Vec<(Property, bool)>,
    pub(super) negative: bool,
}

/// A Unicode property that the standard library of Rust knows exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Property {
    Alphabetic,
    Uppercase,
    Lowercase,
    WhiteSpace,
    Number,
    Ascii,
    Any,
}

impl Property {
    pub(super) fn contains(self, c: u32) -> bool {
        if self == Self::Any {
            return true;
        }
        char::from_u32(c).is_some_and(|c| match self {
            Self::Alphabetic => c.is_alphabetic(),
            Self::Uppercase => c.is_uppercase(),
            Self::Lowercase => c.is_lowercase(),
            Self::WhiteSpace => c.is_whitespace(),
            Self::Number => c.is_numeric(),
            Self::Ascii => c.is_ascii(),
            Self::Any => true,
        })
    }

    fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "Alphabetic" | "Alpha" => Self::Alphabetic,
            "Uppercase" | "Upper" => Self::Uppercase,
            "Lowercase" | "Lower" => Self::Lowercase,
            "White_Space" | "space" => Self::WhiteSpace,
            "N" | "Number" | "gc=N" | "gc=Number" | "General_Category=N" => Self::Number,
            "ASCII" => Self::Ascii,
            "Any" => Self::Any,
            _ => return None,
        })
    }
}

pub(super) const DIGITS: &[(u32, u32)] = &[(0x30, 0x39)];
pub(super) const WORD: &[(u32, u32)] = &[(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a)];
const SPACE: &[(u32, u32)] = &[
    (0x09, 0x0d),
    (0x20, 0x20),
    (0xa0, 0xa0),
    (0x1680, 0x1680),
    (0x2000, 0x200a),
    (0x2028, 0x2029),
    (0x202f, 0x202f),
    (0x205f, 0x205f),
    (0x3000, 0x3000),
    (0xfeff, 0xfeff),
];

/// A parsed pattern: the tree, the number of groups, and the names of some.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) node: Node,
    pub(super) groups: usize,
    pub(super) names: Vec<(String, usize)>,
}

/// Parses a pattern.
pub(super) fn parse(source: &str, flags: Flags) -> Result<Pattern, RegexError> {
    let chars: Vec<char> = source.chars().collect();
    let total = count_groups(&chars);
    let has_names = source.contains("(?<") && {
        let after = |at: usize| source.get(at + 3..).and_then(|rest| rest.chars().next());
        source.match_indices("(?<").any(|(at, _)| !matches!(after(at), Some('=' | '!')))
    };
    let names = Vec::new();
    let mut parser = Parser { chars, at: 0, flags, groups: 0, total, names, has_names, depth: 0 };
    let node = parser.alternatives()?;
    if parser.peek().is_some() {
        return Err(RegexError::syntax("a `)` without its `(`"));
    }
    let known = |name: &str| parser.names.iter().any(|(known, _)| known == name);
    check_names(&node, &known)?;
    Ok(Pattern { node, groups: parser.groups, names: parser.names })
}

fn check_names(node: &Node, known: &dyn Fn(&str) -> bool) -> Result<(), RegexError> {
    match node {
        Node::NamedReference(name) if !known(name) => {
            Err(RegexError::syntax(format!("no group is named `{name}`")))
        }
        Node::Group(node, _) | Node::Look { node, .. } | Node::Repeat { node, .. } => {
            check_names(node, known)
        }
        Node::Alternatives(all) | Node::Sequence(all) => {
            all.iter().try_for_each(|node| check_names(node, known))
        }
        _ => Ok(()),
    }
}

/// The number of groups that capture, which decides what `\1` means.
fn count_groups(chars: &[char]) -> usize {
    let (mut count, mut in_class, mut at) = (0, false, 0);
    while let Some(c) = chars.get(at) {
        match c {
            '\\' => at += 1,
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => {
                let next = |ahead: usize| chars.get(at + ahead).copied();
                let is_named = next(2) == Some('<') && !matches!(next(3), Some('=' | '!'));
                count += usize::from(next(1) != Some('?') || is_named);
            }
            _ => {}
        }
        at += 1;
    }
    count
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    flags: Flags,
    groups: usize,
    total: usize,
    names: Vec<(String, usize)>,
    has_names: bool,
    depth: u32,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.ahead(0)
    }

    fn ahead(&self, count: usize) -> Option<char> {
        self.chars.get(self.at + count).copied()
    }

    fn take(&mut self, c: char) -> bool {
        let here = self.peek() == Some(c);
        self.at += usize::from(here);
        here
    }

    fn take_text(&mut self, text: &str) -> bool {
        let here = text.chars().enumerate().all(|(at, c)| self.ahead(at) == Some(c));
        self.at += if here { text.chars().count() } else { 0 };
        here
    }

    fn alternatives(&mut self) -> Result<Node, RegexError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(RegexError::unsupported(format!(
                "a pattern deeper than {MAX_DEPTH} groups"
            )));
        }
        let mut all = vec![self.sequence()?];
        while self.take('|') {
            all.push(self.sequence()?);
        }
        self.depth -= 1;
        Ok(if all.len() == 1 { all.remove(0) } else { Node::Alternatives(all) })
    }

    fn sequence(&mut self) -> Result<Node, RegexError> {
        let mut all = Vec::new();
        while let Some(c) = self.peek().filter(|c| !matches!(c, '|' | ')')) {
            let before = self.groups;
            let node = self.term(c)?;
            all.push(self.quantified(node, before)?);
        }
        Ok(match all.len() {
            0 => Node::Empty,
            1 => all.remove(0),
            _ => Node::Sequence(all),
        })
    }

    fn term(&mut self, c: char) -> Result<Node, RegexError> {
        self.at += 1;
        Ok(match c {
            '^' => Node::LineStart,
            '$' => Node::LineEnd,
            '.' => Node::Any,
            '(' => self.group()?,
            '[' => Node::Class(self.class()?),
            '\\' => self.escape()?,
            '*' | '+' | '?' => {
                return Err(RegexError::syntax(format!("nothing to repeat before `{c}`")));
            }
            '{' if self.flags.unicode || self.looks_like_count() => {
                return Err(RegexError::syntax("nothing to repeat before `{`"));
            }
            '}' | ']' if self.flags.unicode => {
                return Err(RegexError::syntax(format!("a single `{c}`")));
            }
            other => self.character(other),
        })
    }

    /// A character; beyond the first plane without `u`, both of its units.
    fn character(&self, c: char) -> Node {
        if self.flags.unicode || c.len_utf16() == 1 {
            return Node::Char(u32::from(c));
        }
        let mut units = [0; 2];
        let units = c.encode_utf16(&mut units);
        Node::Group(
            Box::new(Node::Sequence(units.iter().map(|it| Node::Char(u32::from(*it))).collect())),
            None,
        )
    }

    fn looks_like_count(&self) -> bool {
        let rest = self.chars.get(self.at..).unwrap_or_default();
        let Some(end) = rest.iter().position(|c| *c == '}') else { return false };
        let inside: String = rest.iter().take(end).collect();
        let (first, second) = inside.split_once(',').unwrap_or((&inside, ""));
        let is_number = |text: &str| text.chars().all(|c| c.is_ascii_digit());
        !first.is_empty() && is_number(first) && is_number(second)
    }

    fn quantified(&mut self, node: Node, before: usize) -> Result<Node, RegexError> {
        let (least, most) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                self.at += 1;
                if !self.looks_like_count() {
                    self.at -= 1;
                    return if self.flags.unicode {
                        Err(RegexError::syntax("a count in braces is incomplete"))
                    } else {
                        Ok(node)
                    };
                }
                let least = self.number()?;
                let most = match (self.take(','), self.peek()) {
                    (false, _) => Some(least),
                    (true, Some('}')) => None,
                    (true, _) => Some(self.number()?),
                };
                if most.is_some_and(|most| most < least) {
                    return Err(RegexError::syntax("the numbers in braces are out of order"));
                }
                (least, most)
            }
            _ => return Ok(node),
        };
        self.at += 1;
        let greedy = !self.take('?');
        let is_assertion = match &node {
            Node::LineStart | Node::LineEnd | Node::Boundary(_) => true,
            Node::Look { ahead, .. } => !ahead || self.flags.unicode,
            _ => false,
        };
        if is_assertion {
            return Err(RegexError::syntax("an assertion cannot be repeated"));
        }
        let groups = (before + 1, self.groups);
        Ok(Node::Repeat { node: Box::new(node), least, most, greedy, groups })
    }

    fn number(&mut self) -> Result<u32, RegexError> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        let digits: String = self.chars.get(start..self.at).unwrap_or_default().iter().collect();
        match digits.parse::<u32>() {
            Ok(number) if number <= MAX_COUNT => Ok(number),
            _ => Err(RegexError::unsupported(format!("a count above {MAX_COUNT}"))),
        }
    }

    fn group(&mut self) -> Result<Node, RegexError> {
        let node = if self.take_text("?:") {
            Node::Group(Box::new(self.alternatives()?), None)
        } else if let Some((ahead, negative)) = self.look() {
            let node = Box::new(self.alternatives()?);
            Node::Look { ahead, negative, node }
        } else if self.take_text("?<") {
            let name = self.group_name()?;
            if self.names.iter().any(|(known, _)| *known == name) {
                return Err(RegexError::syntax(format!("two groups are named `{name}`")));
            }
            self.groups += 1;
            let number = self.groups;
            self.names.push((name, number));
            Node::Group(Box::new(self.alternatives()?), Some(number))
        } else if self.peek() == Some('?') {
            return Err(RegexError::syntax("an unknown kind of group"));
        } else {
            self.groups += 1;
            let number = self.groups;
            Node::Group(Box::new(self.alternatives()?), Some(number))
        };
        if self.take(')') { Ok(node) } else { Err(RegexError::syntax("a `(` without its `)`")) }
    }

    fn look(&mut self) -> Option<(bool, bool)> {
        let kinds = [
            ("?=", (true, false)),
            ("?!", (true, true)),
            ("?<=", (false, false)),
            ("?<!", (false, true)),
        ];
        kinds.into_iter().find(|(text, _)| self.take_text(text)).map(|(_, kind)| kind)
    }

    fn group_name(&mut self) -> Result<String, RegexError> {
        let start = self.at;
        while self.peek().is_some_and(|c| c != '>') {
            self.at += 1;
        }
        let name: String = self.chars.get(start..self.at).unwrap_or_default().iter().collect();
        let is_start = |c: char| c.is_alphabetic() || c == '_' || c == '$';
        let fits = name.chars().next().is_some_and(is_start)
            && name.chars().all(|c| is_start(c) || c.is_numeric());
        if self.take('>') && fits {
            Ok(name)
        } else {
            Err(RegexError::syntax("the name of a group is invalid"))
        }
    }

    fn escape(&mut self) -> Result<Node, RegexError> {
        let Some(c) = self.peek() else {
            return Err(RegexError::syntax("a `\\` at the end"));
        };
        match c {
            'b' | 'B' => {
                self.at += 1;
                return Ok(Node::Boundary(c == 'b'));
            }
            'k' if self.flags.unicode || self.has_names => {
                self.at += 1;
                if !self.take('<') {
                    return Err(RegexError::syntax("`\\k` needs the name of a group"));
                }
                return Ok(Node::NamedReference(self.group_name()?));
            }
            '1'..='9' => {
                let start = self.at;
                let number = self.number()? as usize;
                if number <= self.total {
                    return Ok(Node::BackReference(number));
                }
                self.at = start;
                return if self.flags.unicode {
                    Err(RegexError::syntax(format!("there is no group {number}")))
                } else {
                    Err(RegexError::unsupported("an octal escape"))
                };
            }
            _ => {}
        }
        let mut class = Class::default();
        if self.class_escape(&mut class)? {
            return Ok(Node::Class(class));
        }
        let c = self.character_escape(false)?;
        Ok(if c > 0xffff && !self.flags.unicode {
            char::from_u32(c).map_or(Node::Char(c), |c| self.character(c))
        } else {
            Node::Char(c)
        })
    }

    /// `\d`, `\w`, `\s`, `\p{…}` and their opposites, added to a class.
    fn class_escape(&mut self, class: &mut Class) -> Result<bool, RegexError> {
        let (ranges, negative) = match self.peek() {
            Some('d') => (DIGITS, false),
            Some('D') => (DIGITS, true),
            Some('w') => (WORD, false),
            Some('W') => (WORD, true),
            Some('s') => (SPACE, false),
            Some('S') => (SPACE, true),
            Some(c @ ('p' | 'P')) if self.flags.unicode => {
                self.at += 1;
                self.property(c == 'P', class)?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        self.at += 1;
        if negative {
            class.ranges.extend(complement(ranges));
        } else {
            class.ranges.extend(ranges);
        }
        Ok(true)
    }

    fn property(&mut self, negative: bool, class: &mut Class) -> Result<(), RegexError> {
        if !self.take('{') {
            return Err(RegexError::syntax("`\\p` needs a property in braces"));
        }
        let start = self.at;
        while self.peek().is_some_and(|c| c != '}') {
            self.at += 1;
        }
        let name: String = self.chars.get(start..self.at).unwrap_or_default().iter().collect();
        if !self.take('}') {
            return Err(RegexError::syntax("`\\p` needs a property in braces"));
        }
        match Property::by_name(&name) {
            Some(property) => {
                class.properties.push((property, negative));
                Ok(())
            }
            None => Err(RegexError::unsupported(format!("the property `{name}`"))),
        }
    }

    fn character_escape(&mut self, in_class: bool) -> Result<u32, RegexError> {
        let Some(c) = self.peek() else {
            return Err(RegexError::syntax("a `\\` at the end"));
        };
        self.at += 1;
        Ok(match c {
            't' => 0x09,
            'n' => 0x0a,
            'v' => 0x0b,
            'f' => 0x0c,
            'r' => 0x0d,
            'b' if in_class => 0x08,
            '0' if !self.peek().is_some_and(|c| c.is_ascii_digit()) => 0,
            '0'..='7' => return Err(RegexError::unsupported("an octal escape")),
            'c' => match self.peek().filter(char::is_ascii_alphabetic) {
                Some(letter) => {
                    self.at += 1;
                    u32::from(letter) % 32
                }
                None if self.flags.unicode => return Err(RegexError::syntax("an invalid `\\c`")),
                None => {
                    self.at -= 1;
                    u32::from('\\')
                }
            },
            'x' => match self.hex(2) {
                Some(value) => value,
                None if self.flags.unicode => return Err(RegexError::syntax("an invalid `\\x`")),
                None => u32::from('x'),
            },
            'u' => self.unicode_escape()?,
            '-' if in_class => u32::from('-'),
            c if self.flags.unicode && !"^$\\.*+?()[]{}|/".contains(c) => {
                return Err(RegexError::syntax(format!("an invalid escape `\\{c}`")));
            }
            c => u32::from(c),
        })
    }

    fn unicode_escape(&mut self) -> Result<u32, RegexError> {
        let invalid = || RegexError::syntax("an invalid `\\u`");
        if self.flags.unicode && self.take('{') {
            let start = self.at;
            while self.peek().is_some_and(|c| c.is_ascii_hexdigit()) {
                self.at += 1;
            }
            let digits: String =
                self.chars.get(start..self.at).unwrap_or_default().iter().collect();
            let value = u32::from_str_radix(&digits, 16).ok().filter(|it| *it <= 0x0010_ffff);
            return if self.take('}') { value.ok_or_else(invalid) } else { Err(invalid()) };
        }
        let Some(high) = self.hex(4) else {
            return if self.flags.unicode { Err(invalid()) } else { Ok(u32::from('u')) };
        };
        if self.flags.unicode && (0xd800..0xdc00).contains(&high) {
            let before = self.at;
            if self.take_text("\\u")
                && let Some(low @ 0xdc00..=0xdfff) = self.hex(4)
            {
                return Ok(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00));
            }
            self.at = before;
        }
        Ok(high)
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let text: String = self.chars.get(self.at..self.at + digits)?.iter().collect();
        if !text.chars().all(|c| c.is_ascii_hexdigit()) {
            return None;
        }
        self.at += digits;
        u32::from_str_radix(&text, 16).ok()
    }

    fn class(&mut self) -> Result<Class, RegexError> {
        let mut class = Class { negative: self.take('^'), ..Class::default() };
        loop {
            let Some(c) = self.peek() else {
                return Err(RegexError::syntax("a `[` without its `]`"));
            };
            if self.take(']') {
                return Ok(class);
            }
            let first = self.class_atom(c, &mut class)?;
            if self.peek() == Some('-') && self.ahead(1).is_some_and(|c| c != ']') {
                self.at += 1;
                let next = self.peek().unwrap_or_default();
                let second = self.class_atom(next, &mut class)?;
                match (first, second) {
                    (Some(from), Some(to)) if from <= to => class.ranges.push((from, to)),
                    (Some(_), Some(_)) => {
                        return Err(RegexError::syntax("a range is out of order"));
                    }
                    _ if self.flags.unicode => {
                        return Err(RegexError::syntax("a class cannot be part of a range"));
                    }
                    (one, other) => {
                        let single = [one, Some(u32::from('-')), other];
                        class.ranges.extend(single.into_iter().flatten().map(|it| (it, it)));
                    }
                }
            } else if let Some(c) = first {
                class.ranges.push((c, c));
            }
        }
    }

    /// One character of a class; none for an escape that stands for many.
    fn class_atom(&mut self, c: char, class: &mut Class) -> Result<Option<u32>, RegexError> {
        self.at += 1;
        if c != '\\' {
            if c.len_utf16() > 1 && !self.flags.unicode {
                return Err(RegexError::unsupported(
                    "a character of two units in a class without the flag `u`",
                ));
            }
            return Ok(Some(u32::from(c)));
        }
        if self.class_escape(class)? {
            return Ok(None);
        }
        if self.peek().is_some_and(|c| ('1'..='9').contains(&c)) {
            return Err(RegexError::unsupported("an octal escape"));
        }
        self.character_escape(true).map(Some)
    }
}

fn complement(ranges: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut all = Vec::new();
    let mut next = 0;
    for (from, to) in ranges {
        if *from > next {
            all.push((next, from - 1));
        }
        next = to + 1;
    }
    all.push((next, 0x0010_ffff));
    all
}
