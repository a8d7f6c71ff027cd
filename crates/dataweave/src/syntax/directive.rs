//! The header: version, input and output, imports, variables, functions, types, namespaces.

use meantime_value::Text;

use super::cursor::is_reserved;
use super::parser::{ParseAborted, Parser, Result};
use super::{Directive, Import, Imported, LambdaExpr, Name};

const KEYWORDS: &[&str] =
    &["var", "fun", "type", "ns", "import", "output", "input", "annotation", "private", "async"];

impl Parser<'_> {
    /// Everything before `---`, if there is a header.
    pub(super) fn header(&mut self) -> Vec<Directive> {
        self.cursor.space();
        self.has_header = self.starts_header();
        if !self.has_header {
            // A script without a header may still begin with the separator.
            self.cursor.sign("---");
            return Vec::new();
        }
        self.version();
        let directives = self.directives();
        if !self.cursor.sign("---") && !self.has_errors() {
            let problem = self.unexpected("a declaration or `---`");
            let help = "a header ends with a line `---`, after which the body follows";
            self.problems.push(problem.with_help(help));
        }
        directives
    }

    fn starts_header(&self) -> bool {
        if self.cursor.starts_with("%dw") || self.cursor.starts_with("@") {
            return true;
        }
        match self.cursor.word() {
            "output" => self.is_output_directive(),
            word => KEYWORDS.contains(&word) && word != "private" && word != "async",
        }
    }

    /// `output application/json`, not `output.total`.
    fn is_output_directive(&self) -> bool {
        let after = self.cursor.rest()["output".len()..].trim_start();
        let word = after.split(|c: char| c.is_whitespace()).next().unwrap_or_default();
        word.contains('/') && word.starts_with(char::is_alphabetic)
    }

    fn version(&mut self) {
        if self.cursor.starts_with("%dw") {
            self.cursor.at += "%dw".len();
            self.cursor.space();
            let start = self.cursor.at;
            let version = self.rest_of_line();
            if !version.trim().starts_with("2.") {
                let span = self.cursor.span(start);
                self.error(span, "only DataWeave 2 is supported: `%dw 2.0`");
            }
        }
    }

    fn rest_of_line(&mut self) -> String {
        let rest = self.cursor.rest();
        let end = rest.find('\n').unwrap_or(rest.len());
        let comment = rest[..end].find("//").unwrap_or(end);
        self.cursor.at += end;
        rest[..comment].trim().to_owned()
    }

    /// All declarations. An invalid one does not prevent reading the next.
    pub(super) fn directives(&mut self) -> Vec<Directive> {
        let mut directives = Vec::new();
        loop {
            if self.annotations().is_err() {
                return directives;
            }
            let word = self.cursor.next_word();
            if !KEYWORDS.contains(&word) || (word == "output" && !self.has_header) {
                return directives;
            }
            match self.directive(word) {
                Ok(directive) => directives.extend(directive),
                Err(ParseAborted) if self.may_recover() => self.skip_to_directive(),
                Err(ParseAborted) => return directives,
            }
        }
    }

    fn directive(&mut self, word: &str) -> Result<Option<Directive>> {
        self.cursor.keyword(word);
        match word {
            "var" => self.var().map(Some),
            "fun" => self.fun().map(Some),
            "type" => self.type_alias().map(Some),
            "ns" => self.namespace().map(Some),
            "import" => self.import().map(|import| Some(Directive::Import(import))),
            "output" => self.output().map(Some),
            "input" => {
                self.identifier("an input")?;
                self.mime_type();
                Ok(None)
            }
            "annotation" => {
                self.identifier("an annotation")?;
                self.params()?;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn skip_to_directive(&mut self) {
        while let Some(c) = self.cursor.peek() {
            self.cursor.at += c.len_utf8();
            if c != '\n' {
                continue;
            }
            self.cursor.space();
            if self.cursor.starts_with("---") || KEYWORDS.contains(&self.cursor.word()) {
                return;
            }
        }
    }

    /// `@Name(arguments)`: read and ignored.
    pub(super) fn annotations(&mut self) -> Result<()> {
        while self.cursor.sign("@") {
            self.identifier("an annotation")?;
            if self.cursor.sign("(") {
                self.members(')')?;
                self.expect(")", "after the annotation")?;
            }
        }
        Ok(())
    }

    fn var(&mut self) -> Result<Directive> {
        let name = self.identifier("a variable")?;
        if self.cursor.sign(":") {
            self.type_expression()?;
        }
        self.expect("=", "after the name of the variable")?;
        let value = self.pair_or_expression()?;
        Ok(Directive::Var { name, value })
    }

    fn fun(&mut self) -> Result<Directive> {
        let name = self.identifier("a function")?;
        let type_params = self.type_params()?;
        let params = self.params()?;
        if self.cursor.sign(":") {
            self.type_expression()?;
        }
        self.expect("=", "before the body of the function")?;
        let body = self.pair_or_expression()?;
        Ok(Directive::Fun { name, type_params, lambda: LambdaExpr { params, body } })
    }

    /// `<T, R <: Limit>`.
    fn type_params(&mut self) -> Result<Vec<Text>> {
        let mut names = Vec::new();
        if !self.cursor.sign("<") {
            return Ok(names);
        }
        loop {
            names.push(self.identifier("a type parameter")?.text);
            if self.cursor.sign("<:") {
                self.type_expression()?;
            }
            if !self.cursor.sign(",") {
                break;
            }
        }
        self.expect(">", "after the type parameters")?;
        Ok(names)
    }

    fn type_alias(&mut self) -> Result<Directive> {
        let name = self.identifier("a type")?;
        let params = self.type_params()?;
        self.expect("=", "after the name of the type")?;
        let target = self.type_expression()?;
        Ok(Directive::Type { name, params, target })
    }

    fn namespace(&mut self) -> Result<Directive> {
        let name = self.identifier("a namespace")?;
        let rest = self.cursor.rest();
        let uri = rest.lines().next().unwrap_or_default().split_whitespace().next();
        let Some(uri) = uri else {
            return self.fail("the name that the namespace stands for");
        };
        let start = rest.len() - rest.trim_start().len();
        self.cursor.at += start + uri.len();
        Ok(Directive::Namespace { name, uri: uri.into() })
    }

    fn output(&mut self) -> Result<Directive> {
        self.cursor.space();
        let start = self.cursor.at;
        let mime = self.mime_type();
        if mime.is_empty() {
            return self.fail("a media type such as `application/json`");
        }
        if self.cursor.keyword("with") {
            self.mime_type();
        }
        Ok(Directive::Output { mime: mime.into(), span: self.cursor.span(start) })
    }

    /// A media type and its properties: `application/json indent=false, encoding="UTF-8"`.
    fn mime_type(&mut self) -> String {
        self.cursor.space();
        let rest = self.cursor.rest();
        let is_part = |c: char| c.is_alphanumeric() || "/+-.*_".contains(c);
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        self.cursor.at += end;
        self.attempt(|parser| {
            loop {
                let back = parser.cursor.at;
                let name = parser.cursor.next_word();
                if name.is_empty() || is_reserved(name) {
                    return Ok(());
                }
                parser.cursor.keyword(name);
                if !parser.cursor.sign("=") {
                    parser.cursor.at = back;
                    return Ok(());
                }
                parser.sum_of_literals()?;
                parser.cursor.sign(",");
            }
        });
        rest[..end].to_owned()
    }

    fn import(&mut self) -> Result<Import> {
        self.cursor.space();
        let start = self.cursor.at;
        if self.cursor.sign("*") {
            return self.import_from(start, Imported::Everything);
        }
        let first = self.module_path()?;
        if let [only] = first.as_slice()
            && (self.cursor.is_next(",") || matches!(self.cursor.next_word(), "from" | "as"))
        {
            let name = Name { text: only.clone(), span: self.cursor.span(start) };
            return self.import_names(start, name);
        }
        let last = first.last().cloned().unwrap_or_default();
        let alias =
            if self.cursor.keyword("as") { self.identifier("a module")?.text } else { last };
        let span = self.cursor.span(start);
        Ok(Import { module: first, span, what: Imported::Module(alias) })
    }

    fn import_names(&mut self, start: usize, first: Name) -> Result<Import> {
        let mut names = Vec::new();
        let mut name = first;
        loop {
            let mut alias = name.text.clone();
            if self.cursor.keyword("as") {
                alias = self.identifier("an import")?.text;
            }
            names.push((name, alias));
            if !self.cursor.sign(",") {
                break;
            }
            name = self.identifier("an import")?;
        }
        self.import_from(start, Imported::Names(names))
    }

    fn import_from(&mut self, start: usize, what: Imported) -> Result<Import> {
        if !self.cursor.keyword("from") {
            return self.fail("`from` and a module");
        }
        let module = self.module_path()?;
        Ok(Import { module, span: self.cursor.span(start), what })
    }

    fn module_path(&mut self) -> Result<Vec<Text>> {
        let mut path = vec![self.identifier("a module")?.text];
        while self.cursor.starts_with("::") {
            self.cursor.at += 2;
            path.push(self.identifier("a module")?.text);
        }
        Ok(path)
    }
}
