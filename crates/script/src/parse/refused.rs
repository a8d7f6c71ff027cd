//! Reserved words, and JavaScript constructs that are rejected by name.

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

/// Statements that begin with a rejected word: the word, its name, the alternative.
const REFUSED_STATEMENTS: &[(&str, &str, &str)] = &[
    ("import", "`import`", "a flow is one file; call other work with Task.run or Workflow.run"),
    ("export", "`export` inside of a block", "move it to the top level of the file"),
    ("with", "`with`", "name the object"),
    ("debugger", "`debugger`", "use Log.info"),
    ("enum", "`enum`", "use an object"),
];

/// Expressions that begin with a rejected word.
const REFUSED_EXPRESSIONS: &[(&str, &str, &str)] = &[
    ("import", "`import`", "a flow is one file; call other work with Task.run or Workflow.run"),
    ("yield", "`yield`", "generators do not exist here; return a list"),
];

pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED_WORDS.contains(&word)
}

/// The name of a rejected statement and its alternative.
pub(super) fn statement(word: &str) -> Option<(&'static str, &'static str)> {
    find(REFUSED_STATEMENTS, word)
}

/// The name of a rejected expression and its alternative.
pub(super) fn expression(word: &str) -> Option<(&'static str, &'static str)> {
    find(REFUSED_EXPRESSIONS, word)
}

fn find(
    table: &[(&str, &'static str, &'static str)],
    word: &str,
) -> Option<(&'static str, &'static str)> {
    table.iter().find(|(known, ..)| *known == word).map(|(_, what, help)| (*what, *help))
}
