//! Statements and modifiers of TypeScript: those that can be erased are dropped, the others are
//! refused by name.

use super::parser::{ParseAborted, Parsed, Parser};
use super::refused;
use crate::ast::StmtKind;
use crate::lex::Kind;

/// The modifiers of a member of a class.
#[derive(Debug, Default)]
pub(super) struct MemberModifiers {
    pub(super) is_static: bool,
    /// `declare` or `abstract`: the member exists only as a type.
    pub(super) is_erased: bool,
}

const ACCESS_MODIFIERS: [&str; 5] = ["public", "private", "protected", "readonly", "override"];

const HELP_NO_FILE_SPACES: &str = "use functions and constants of the file";

impl Parser<'_> {
    /// A statement that only TypeScript has.
    pub(super) fn typescript_statement(&mut self, word: &str) -> Parsed<Option<StmtKind>> {
        let after = self.ahead(1).clone();
        let name_follows = match &after.kind {
            Kind::Word(name) => !after.after_newline && !refused::is_reserved(name),
            _ => false,
        };
        let has = |it: &Self, sign: &str| it.is_sign_ahead(2, sign);
        match word {
            "type" if name_follows && (has(self, "=") || has(self, "<")) => {
                self.typescript_only("a type alias")?;
                self.type_alias()?;
            }
            "interface" if name_follows => {
                self.typescript_only("an interface")?;
                self.interface()?;
            }
            "declare" if self.types && !after.after_newline && self.declares() => {
                self.next();
                self.ambient()?;
            }
            "abstract" if self.types && self.is_class_ahead() => {
                self.next();
                let class = self.class(true)?;
                return Ok(Some(StmtKind::Class(Box::new(class))));
            }
            "const" if self.types && matches!(&after.kind, Kind::Word(it) if **it == *"enum") => {
                let span = self.next().span;
                self.refuse(span, "`const enum`", "use an object: `{ … } as const`");
                return Err(ParseAborted);
            }
            "namespace" | "module"
                if self.types
                    && !after.after_newline
                    && (name_follows || matches!(after.kind, Kind::Text(_))) =>
            {
                let span = self.next().span;
                self.refuse(span, &format!("`{word}`"), HELP_NO_FILE_SPACES);
                return Err(ParseAborted);
            }
            "import" if self.types && self.at_type_import() => self.type_import()?,
            _ => return Ok(None),
        }
        Ok(Some(StmtKind::Empty))
    }

    fn is_class_ahead(&self) -> bool {
        let after = self.ahead(1);
        matches!(&after.kind, Kind::Word(it) if **it == *"class") && !after.after_newline
    }

    /// Whether `declare` is a word of TypeScript here.
    fn declares(&self) -> bool {
        const DECLARED: [&str; 13] = [
            "function",
            "class",
            "const",
            "let",
            "var",
            "abstract",
            "interface",
            "type",
            "enum",
            "namespace",
            "module",
            "global",
            "async",
        ];
        matches!(&self.ahead(1).kind, Kind::Word(word) if DECLARED.contains(&&**word))
    }

    fn type_alias(&mut self) -> Parsed<()> {
        self.next();
        self.name("the name of a type")?;
        self.type_params()?;
        self.expect("=")?;
        self.ty()?;
        self.end_of_statement()
    }

    fn interface(&mut self) -> Parsed<()> {
        self.next();
        self.name("the name of an interface")?;
        self.type_params()?;
        if self.take_word("extends") {
            self.type_list()?;
        }
        self.object_type()
    }

    fn type_list(&mut self) -> Parsed<()> {
        loop {
            self.ty()?;
            if !self.take_sign(",") {
                return Ok(());
            }
        }
    }

    /// What follows `declare`: it says what exists elsewhere, and is dropped.
    fn ambient(&mut self) -> Parsed<()> {
        let Kind::Word(word) = self.token().kind.clone() else { return Ok(()) };
        match &*word {
            "type" => self.type_alias(),
            "interface" => self.interface(),
            "class" => self.class(true).map(|_| ()),
            "abstract" => {
                self.next();
                self.class(true).map(|_| ())
            }
            "function" => {
                let start = self.next().span;
                let name = self.name("the name of the function")?;
                if self.function_or_signature(start, Some(name))?.is_some() {
                    self.refuse(start, "the body of a declared function", "remove `declare`");
                    return Err(ParseAborted);
                }
                Ok(())
            }
            "let" | "var" | "const" if !matches!(&self.ahead(1).kind, Kind::Word(it) if **it == *"enum") =>
            {
                self.next();
                loop {
                    self.pattern()?;
                    self.annotation()?;
                    if self.at_sign("=") {
                        let span = self.token().span;
                        self.refuse(span, "the value of a declared name", "remove `declare`");
                        return Err(ParseAborted);
                    }
                    if !self.take_sign(",") {
                        return self.end_of_statement();
                    }
                }
            }
            "enum" | "const" | "namespace" | "module" | "global" => self.skip_to_braces(),
            _ => {
                self.unexpected("a declaration");
                Err(ParseAborted)
            }
        }
    }

    /// The name of a declared enum or namespace, and its braces.
    fn skip_to_braces(&mut self) -> Parsed<()> {
        while matches!(self.token().kind, Kind::Word(_) | Kind::Text(_) | Kind::Sign(".")) {
            self.next();
            if self.at_sign(";") || (self.token().after_newline && !self.at_sign("{")) {
                return self.end_of_statement();
            }
        }
        let open = self.expect("{")?;
        let mut depth = 1u32;
        while depth > 0 {
            match self.token().kind {
                Kind::Sign("{") => depth += 1,
                Kind::Sign("}") => depth -= 1,
                Kind::End => {
                    let message = "this block has no closing `}`";
                    self.problems.add(crate::problem::Code::Unterminated, open, message);
                    return Err(ParseAborted);
                }
                _ => {}
            }
            self.next();
        }
        Ok(())
    }

    /// `import type …`, but not the import of something that is called `type`.
    fn at_type_import(&self) -> bool {
        let is_type = matches!(&self.ahead(1).kind, Kind::Word(it) if **it == *"type");
        is_type
            && match &self.ahead(2).kind {
                Kind::Word(word) => **word != *"from" || self.is_from(3),
                Kind::Sign(sign) => matches!(*sign, "{" | "*"),
                _ => false,
            }
    }

    fn is_from(&self, ahead: usize) -> bool {
        matches!(&self.ahead(ahead).kind, Kind::Word(it) if **it == *"from")
    }

    fn type_import(&mut self) -> Parsed<()> {
        self.next();
        self.next();
        if self.take_sign("*") {
            self.next();
            self.name("a name")?;
        } else if !self.at_sign("{") {
            self.name("the name of a type")?;
        }
        if self.at_sign("{") {
            self.type_names()?;
        }
        self.module_name()
    }

    /// `{ A, B as C }`
    fn type_names(&mut self) -> Parsed<()> {
        self.expect("{")?;
        while !self.at_sign("}") {
            self.any_word("the name of a type")?;
            if self.take_word("as") {
                self.any_word("the name of a type")?;
            }
            if !self.take_sign(",") {
                break;
            }
        }
        self.expect("}").map(|_| ())
    }

    fn module_name(&mut self) -> Parsed<()> {
        if !self.take_word("from") {
            self.unexpected("`from`");
            return Err(ParseAborted);
        }
        if !matches!(self.token().kind, Kind::Text(_)) {
            self.unexpected("the name of a file in quotes");
            return Err(ParseAborted);
        }
        self.next();
        self.end_of_statement()
    }

    /// After `export`: something that exists only as a type. False if it is something else.
    pub(super) fn type_export(&mut self) -> Parsed<bool> {
        if !self.types || !self.at_word("type") {
            return Ok(false);
        }
        match self.ahead(1).kind {
            Kind::Sign("{") => {
                self.next();
                self.type_names()?;
                if self.at_word("from") { self.module_name()? } else { self.end_of_statement()? }
            }
            Kind::Sign("*") => {
                self.next();
                self.next();
                if self.take_word("as") {
                    self.any_word("a name")?;
                }
                self.module_name()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `x as T` and `x satisfies T`, whose value is that of `x`.
    pub(super) fn cast(&mut self, least: u8) -> Parsed<bool> {
        const CAST_POWER: u8 = 10;
        let is_cast = self.types
            && (self.at_word("as") || self.at_word("satisfies"))
            && !self.token().after_newline
            && CAST_POWER >= least;
        if !is_cast {
            return Ok(false);
        }
        self.next();
        if !self.take_word("const") {
            self.ty()?;
        }
        self.cast_end = Some(self.previous_end());
        Ok(true)
    }

    /// Whether a function with types may begin here.
    pub(super) fn may_be_arrow(&mut self, in_then: bool) -> bool {
        !in_then || !self.at_sign("(") || self.arrow_before_colon()
    }

    /// The words before a member of a class.
    pub(super) fn member_modifiers(&mut self) -> Parsed<MemberModifiers> {
        let mut found = MemberModifiers::default();
        if self.at_sign("@") {
            let span = self.token().span;
            self.refuse(span, "a decorator", "remove it");
            return Err(ParseAborted);
        }
        while let Kind::Word(word) = self.token().kind.clone() {
            let on_line = !self.ahead(1).after_newline;
            let is_modifier = match &*word {
                "static" => self.modifies_key(),
                "declare" | "abstract" | "accessor" => self.types && self.modifies_key() && on_line,
                word => {
                    let is_access = ACCESS_MODIFIERS.contains(&word);
                    is_access && self.types && self.modifies_key() && on_line
                }
            };
            if !is_modifier {
                break;
            }
            let span = self.next().span;
            match &*word {
                "static" => found.is_static = true,
                "declare" | "abstract" => found.is_erased = true,
                "accessor" => {
                    self.refuse(span, "`accessor`", "write a getter and a setter");
                    return Err(ParseAborted);
                }
                _ => {}
            }
            // A second `static` is a name.
            if found.is_static && self.at_word("static") {
                break;
            }
        }
        Ok(found)
    }

    /// Type arguments of the class that is extended, and `implements`.
    pub(super) fn heritage_types(&mut self) -> Parsed<()> {
        if !self.types {
            return Ok(());
        }
        if self.at_sign("<") {
            self.type_args()?;
        }
        if self.take_word("implements") { self.type_list() } else { Ok(()) }
    }

    /// `this: T` as the first parameter.
    pub(super) fn this_param(&mut self) -> Parsed<()> {
        let is_this = self.types
            && self.at_word("this")
            && [":", ",", ")"].iter().any(|sign| self.is_sign_ahead(1, sign));
        if is_this {
            self.next();
            self.annotation()?;
            self.take_sign(",");
        }
        Ok(())
    }

    /// A parameter that is also a field cannot be erased.
    pub(super) fn refuse_param_modifier(&mut self) -> Parsed<()> {
        let span = self.token().span;
        if self.at_sign("@") {
            self.refuse(span, "a decorator", "remove it");
            return Err(ParseAborted);
        }
        let Kind::Word(word) = self.token().kind.clone() else { return Ok(()) };
        let names_follow = matches!(self.ahead(1).kind, Kind::Word(_) | Kind::Sign("[" | "{"));
        if self.types && ACCESS_MODIFIERS.contains(&&*word) && names_follow {
            let what = format!("a parameter property (`{word}`)");
            self.refuse(span, &what, "declare a field and assign it in the constructor");
            return Err(ParseAborted);
        }
        Ok(())
    }
}
