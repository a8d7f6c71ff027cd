//! Words that cannot be names, and constructs of JavaScript that are refused by name.

/// Words with a meaning of their own.
const RESERVED_WORDS: &[&str] = &[
    "let",
    "const",
    "if",
    "else",
    "while",
    "do",
    "for",
    "switch",
    "case",
    "default",
    "try",
    "catch",
    "finally",
    "throw",
    "return",
    "break",
    "continue",
    "function",
    "await",
    "typeof",
    "in",
    "new",
    "null",
    "true",
    "false",
    "delete",
    // Refused by name wherever they stand.
    "var",
    "class",
    "this",
    "super",
    "import",
    "export",
    "with",
    "yield",
    "debugger",
    "void",
    "instanceof",
    "enum",
    "extends",
];

/// Statements that begin with a refused word: the word, what it is, what to do instead.
const REFUSED_STATEMENTS: &[(&str, &str, &str)] = &[
    ("var", "`var`", "use `let` or `const`"),
    ("class", "`class`", "use objects and functions"),
    ("import", "`import`", "a flow is one file; call other work with Task.run or Workflow.run"),
    ("export", "`export`", "a workflow is found by its name; remove the word"),
    ("with", "`with`", "name the object"),
    ("debugger", "`debugger`", "use Log.info"),
    ("enum", "`enum`", "use an object"),
];

/// Expressions that begin with a refused word.
const REFUSED_EXPRESSIONS: &[(&str, &str, &str)] = &[
    ("this", "`this`", "pass what the function needs as an argument"),
    ("super", "`super`", "use functions"),
    ("class", "`class`", "use objects and functions"),
    ("import", "`import`", "a flow is one file; call other work with Task.run or Workflow.run"),
    ("yield", "`yield`", "generators do not exist here; return a list"),
    ("void", "`void`", "leave it out"),
];

/// Operators that are refused.
const REFUSED_OPERATORS: &[&str] =
    &["&", "|", "^", "~", "<<", ">>", ">>>", "&=", "|=", "^=", "<<=", ">>=", ">>>="];

pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED_WORDS.contains(&word)
}

/// What a refused statement is, and what to do instead.
pub(super) fn statement(word: &str) -> Option<(&'static str, &'static str)> {
    find(REFUSED_STATEMENTS, word)
}

/// What a refused expression is, and what to do instead.
pub(super) fn expression(word: &str) -> Option<(&'static str, &'static str)> {
    find(REFUSED_EXPRESSIONS, word)
}

pub(super) fn is_bitwise(sign: &str) -> bool {
    REFUSED_OPERATORS.contains(&sign)
}

fn find(
    table: &[(&str, &'static str, &'static str)],
    word: &str,
) -> Option<(&'static str, &'static str)> {
    table.iter().find(|(known, ..)| *known == word).map(|(_, what, help)| (*what, *help))
}
