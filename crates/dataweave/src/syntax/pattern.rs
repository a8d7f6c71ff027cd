//! `match { case … }` and `update { case … }`.

use super::cursor::is_reserved;
use super::parser::{Parser, Result};
use super::{Case, Expr, ExprKind, Name, Pattern, UpdateCase};

impl Parser<'_> {
    pub(super) fn match_cases(&mut self, value: Expr) -> Result<ExprKind> {
        self.cursor.keyword("match");
        self.expect("{", "after `match`")?;
        let mut cases = Vec::new();
        loop {
            if self.cursor.keyword("case") {
                let (pattern, guard) = self.pattern()?;
                self.expect("->", "after the pattern")?;
                let body = self.pair_or_expression()?;
                cases.push(Case { pattern, guard, body });
            } else if self.cursor.keyword("else") {
                let name = if self.cursor.is_next("->") {
                    None
                } else {
                    Some(self.identifier("the remaining value")?)
                };
                self.expect("->", "after `else`")?;
                let body = self.pair_or_expression()?;
                cases.push(Case { pattern: Pattern::Any(name), guard: None, body });
            } else {
                break;
            }
        }
        self.expect("}", "or another `case`")?;
        Ok(ExprKind::Match { value, cases })
    }

    fn pattern(&mut self) -> Result<(Pattern, Option<Expr>)> {
        self.cursor.space();
        let start = self.cursor.at;
        let pattern = self.bare_pattern()?;
        let guard = if self.cursor.keyword("if") { Some(self.expression()?) } else { None };
        let is_name = matches!(pattern, Pattern::Any(Some(_)));
        if is_name != guard.is_some() {
            let message = "a condition belongs to a case that is a name, and such a case needs one";
            let span = self.cursor.span(start);
            self.warn_extension(span, message, "`case name if (condition) -> …`");
        }
        Ok((pattern, guard))
    }

    fn bare_pattern(&mut self) -> Result<Pattern> {
        self.cursor.space();
        match self.cursor.peek() {
            Some('[') => return self.array_pattern(),
            Some('{') => return self.object_pattern(),
            _ => {}
        }
        if self.cursor.keyword("is") {
            return Ok(Pattern::Is(None, self.type_expression()?));
        }
        let word = self.cursor.word();
        if word == "matches" {
            self.cursor.keyword("matches");
            return Ok(Pattern::Matches(None, self.expression()?));
        }
        if word == "if" {
            return Ok(Pattern::Any(None));
        }
        if word.is_empty() || is_reserved(word) {
            return Ok(Pattern::Literal(None, self.literal_pattern()?));
        }
        let name = self.identifier("the matched value")?;
        if self.cursor.keyword("is") {
            return Ok(Pattern::Is(Some(name), self.type_expression()?));
        }
        if self.cursor.keyword("matches") {
            return Ok(Pattern::Matches(Some(name), self.expression()?));
        }
        if !self.cursor.is_next("::") && self.cursor.sign(":") {
            return Ok(Pattern::Literal(Some(name), self.literal_pattern()?));
        }
        Ok(Pattern::Any(Some(name)))
    }

    fn literal_pattern(&mut self) -> Result {
        self.sum_of_literals()
    }

    fn array_pattern(&mut self) -> Result<Pattern> {
        self.expect("[", "")?;
        if self.cursor.sign("]") {
            return Ok(Pattern::EmptyArray);
        }
        let head = self.identifier("the first element")?;
        self.expect("~", "between the first element and the others")?;
        let tail = self.identifier("the other elements")?;
        self.expect("]", "after the pattern")?;
        Ok(Pattern::Array(head, tail))
    }

    fn object_pattern(&mut self) -> Result<Pattern> {
        self.expect("{", "")?;
        if self.cursor.sign("}") {
            return Ok(Pattern::EmptyObject);
        }
        let key = self.identifier("the first key")?;
        self.expect(":", "after the key")?;
        let value = self.identifier("the first value")?;
        self.expect("~", "between the first pair and the others")?;
        let tail = self.identifier("the other pairs")?;
        self.expect("}", "after the pattern")?;
        Ok(Pattern::Object(key, value, tail))
    }

    pub(super) fn update_cases(&mut self, value: Expr) -> Result<ExprKind> {
        self.cursor.keyword("update");
        self.expect("{", "after `update`")?;
        let mut cases = Vec::new();
        while self.cursor.keyword("case") {
            cases.push(self.update_case()?);
        }
        self.expect("}", "or another `case`")?;
        Ok(ExprKind::Update { value, cases })
    }

    fn update_case(&mut self) -> Result<UpdateCase> {
        let name = self.update_name()?;
        let mut path = Vec::new();
        while let Some(selector) = self.selector(false)? {
            path.push(selector);
        }
        if path.is_empty() {
            return self.fail("a path such as `.name` or `[0]`");
        }
        let force = self.cursor.sign("!");
        let guard = if self.cursor.keyword("if") {
            self.expect("(", "after `if`")?;
            let guard = self.expression()?;
            self.expect(")", "after the condition")?;
            Some(guard)
        } else {
            None
        };
        self.expect("->", "after the path")?;
        let body = self.pair_or_expression()?;
        Ok(UpdateCase { name, path, force, guard, body })
    }

    fn update_name(&mut self) -> Result<Option<Name>> {
        if self.cursor.next_word().is_empty() {
            return Ok(None);
        }
        let name = self.identifier("the old value")?;
        if self.cursor.keyword("at") { Ok(Some(name)) } else { self.fail("`at` and a path") }
    }
}
