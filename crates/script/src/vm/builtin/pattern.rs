//! Regular expressions as objects, and the methods of strings that use them.

use std::sync::Arc;

use super::dispatch::arg;
use crate::library::{Builtin, Method};
use crate::vm::regex::{Input, Match, Regex, RegexState};
use crate::vm::{
    Extra, Inner, ListRef, Machine, Part, Proto, Record, RecordRef, Text, Value, VmResult,
    range_error, syntax_error, type_error, unsupported,
};

/// The most steps of one search.
const MAX_STEPS: usize = 5_000_000;
/// The most compiled patterns that are kept during a turn.
const MAX_COMPILED: usize = 64;
/// Steps that count as one operation.
const STEPS_PER_OPERATION: usize = 4;

/// A text that is searched repeatedly.
struct Search {
    regex: Arc<Regex>,
    text: Text,
    input: Input,
}

impl Machine<'_> {
    /// `new RegExp(source, flags)`
    pub(crate) fn new_regex(&mut self, args: &[Value]) -> VmResult<Value> {
        let (source, flags) = (arg(args, 0), arg(args, 1));
        let known = self.regex_state(&source).map(|it| (it.source.clone(), it.flags.clone()));
        let (source, own) = match known {
            Some((source, flags)) => (source, flags),
            None if matches!(source, Value::Undefined) => (Text::new("(?:)"), Text::new("")),
            None => (self.string_of(&source)?, Text::new("")),
        };
        let flags = if matches!(flags, Value::Undefined) { own } else { self.string_of(&flags)? };
        let source = if source.bytes() == 0 { Text::new("(?:)") } else { source };
        self.make_regex(&source, &flags)
    }

    /// A regular expression from its source and its flags.
    pub(crate) fn make_regex(&mut self, source: &Text, flags: &Text) -> VmResult<Value> {
        self.spend(source.bytes());
        let regex = self.compiled(source, flags)?;
        let flags = Text::new(regex.flags().text());
        let source = Text::new(escaped(source.as_str()));
        let state = RegexState { source, flags, last_index: Value::Int(0) };
        Ok(self.new_inner(Builtin::MakeRegex, Inner::Regex(state)))
    }

    fn compiled(&mut self, source: &Text, flags: &Text) -> VmResult<Arc<Regex>> {
        let key = (source.clone(), flags.clone());
        if let Some(known) = self.regexes.get(&key) {
            return Ok(known.clone());
        }
        match Regex::new(source.as_str(), flags.as_str()) {
            Ok(regex) => {
                if self.regexes.len() >= MAX_COMPILED {
                    self.regexes.clear();
                }
                self.spend(10 + source.bytes());
                let regex = Arc::new(regex);
                self.regexes.insert(key, regex.clone());
                Ok(regex)
            }
            Err(error) if error.is_unsupported => Err(unsupported(error.message)),
            Err(error) => {
                Err(syntax_error(format!("invalid regular expression: {}", error.message)))
            }
        }
    }

    pub(crate) fn regex_state(&self, value: &Value) -> Option<&RegexState> {
        let Value::Record(at) = value else { return None };
        match self.heap.records.get(*at)?.inner() {
            Inner::Regex(state) => Some(state),
            _ => None,
        }
    }

    fn search_with(&mut self, pattern: &Value, text: &Text) -> VmResult<Search> {
        let state = self.regex_state(pattern).map(|it| (it.source.clone(), it.flags.clone()));
        let (source, flags) =
            state.ok_or_else(|| type_error("this is not a regular expression"))?;
        let regex = self.compiled(&source, &flags)?;
        self.spend(text.bytes() / 8);
        let input = Input::new(text.as_str(), regex.flags().unicode);
        Ok(Search { regex, text: text.clone(), input })
    }

    fn find(&mut self, search: &Search, from: usize, only_here: bool) -> VmResult<Option<Match>> {
        let mut steps = 0;
        let found = search.regex.find(&search.input, from, only_here, &mut steps, MAX_STEPS);
        self.spend(steps / STEPS_PER_OPERATION);
        found.map_err(|_| range_error("the regular expression takes too many steps"))
    }

    fn piece_of(&mut self, search: &Search, range: (usize, usize)) -> VmResult<Value> {
        let (from, to) = (search.input.unit(range.0), search.input.unit(range.1));
        let piece = search.text.slice(from, to);
        let piece = piece.ok_or_else(crate::vm::json_in::lone_surrogate_error)?;
        self.check_text(piece.bytes())?;
        Ok(Value::Text(piece))
    }

    fn group_value(&mut self, search: &Search, found: &Match, group: usize) -> VmResult<Value> {
        match found.groups.get(group).copied().flatten() {
            Some(range) => self.piece_of(search, range),
            None => Ok(Value::Undefined),
        }
    }

    /// The named groups of a match as an object; undefined if no group has a name.
    fn named_groups(&mut self, search: &Search, found: &Match) -> VmResult<Value> {
        if search.regex.names().is_empty() {
            return Ok(Value::Undefined);
        }
        let mut record = Record::default();
        record.set_extra(Extra { proto: Proto::Nothing, ..Extra::default() });
        for (name, number) in search.regex.names() {
            let value = self.group_value(search, found, *number)?;
            record.set(Text::new(name.as_str()), value);
        }
        Ok(self.heap.new_record(record))
    }

    /// The result of `exec`: a list of groups with `index`, `input` and `groups`.
    fn match_result(&mut self, search: &Search, found: &Match) -> VmResult<Value> {
        let mut items = Vec::with_capacity(found.groups.len());
        for group in 0..found.groups.len() {
            items.push(self.group_value(search, found, group)?);
        }
        let groups = self.named_groups(search, found)?;
        let index = index_value(search.input.unit(found.range().0));
        let list = self.heap.list(items);
        self.set_list_property(list, "index", index);
        self.set_list_property(list, "input", Value::Text(search.text.clone()));
        self.set_list_property(list, "groups", groups);
        self.check_burst()?;
        Ok(Value::List(list))
    }

    /// Sets a property of a list besides its elements.
    pub(crate) fn set_list_property(&mut self, list: ListRef, name: &str, value: Value) {
        let props = match self.heap.list_props.get(&list) {
            Some(props) => *props,
            None => {
                let props = self.heap.record(Record::default());
                self.heap.list_props.insert(list, props);
                props
            }
        };
        if let Some(record) = self.heap.records.get_mut(props) {
            record.set(name.into(), value);
        }
        self.heap.grow(2);
    }

    fn search_start(&mut self, at: RecordRef) -> VmResult<usize> {
        let value = self.regex_state(&Value::Record(at)).map(|it| it.last_index.clone());
        let index = self.whole_number(&value.unwrap_or_default(), 0)?;
        Ok(usize::try_from(index.max(0)).unwrap_or(usize::MAX))
    }

    fn set_last_index(&mut self, at: RecordRef, unit: usize) {
        if let Some(Inner::Regex(state)) = self.heap.records.get_mut(at).and_then(Record::inner_mut)
        {
            state.last_index = index_value(unit);
        }
    }

    /// The next match by the rules of `exec`, which moves `lastIndex`.
    fn exec(&mut self, at: RecordRef, search: &Search) -> VmResult<Option<Match>> {
        let flags = search.regex.flags();
        let moves = flags.global || flags.sticky;
        let from = if moves { self.search_start(at)? } else { 0 };
        let found = if from > search.text.units() {
            None
        } else {
            self.find(search, search.input.symbol(from), flags.sticky)?
        };
        if moves {
            let end = found.as_ref().map_or(0, |it| search.input.unit(it.range().1));
            self.set_last_index(at, end);
        }
        Ok(found)
    }

    /// `test`, `exec` and `toString`
    pub(super) fn regex_method(
        &mut self,
        at: RecordRef,
        method: Method,
        args: &[Value],
    ) -> VmResult<Option<Value>> {
        let pattern = Value::Record(at);
        if method == Method::ToString {
            let text = self.regex_text(&pattern);
            return self.new_text(text).map(Some);
        }
        if !matches!(method, Method::Test | Method::Exec) {
            return Ok(None);
        }
        let text = self.string_of(&arg(args, 0))?;
        let search = self.search_with(&pattern, &text)?;
        let found = self.exec(at, &search)?;
        Ok(Some(match (method, found) {
            (Method::Test, found) => Value::Bool(found.is_some()),
            (_, Some(found)) => self.match_result(&search, &found)?,
            (_, None) => Value::Null,
        }))
    }

    /// `/source/flags`
    pub(crate) fn regex_text(&self, pattern: &Value) -> String {
        let state = self.regex_state(pattern);
        state
            .map_or_else(String::new, |it| format!("/{}/{}", it.source.as_str(), it.flags.as_str()))
    }

    /// `match`, `matchAll` and `search` of a string.
    pub(super) fn match_method(
        &mut self,
        text: &Text,
        method: Method,
        pattern: &Value,
    ) -> VmResult<Value> {
        let pattern = match self.regex_state(pattern) {
            Some(_) => pattern.clone(),
            None => {
                let flags = Value::text(if method == Method::MatchAll { "g" } else { "" });
                self.new_regex(&[pattern.clone(), flags])?
            }
        };
        let Value::Record(at) = pattern else { return Ok(Value::Null) };
        let search = self.search_with(&pattern, text)?;
        let flags = search.regex.flags();
        if method == Method::Search {
            let found = self.find(&search, 0, flags.sticky)?;
            let unit = found.map(|it| search.input.unit(it.range().0));
            return Ok(unit.map_or(Value::Int(-1), index_value));
        }
        if method == Method::Match && !flags.global {
            let found = self.exec(at, &search)?;
            return match found {
                Some(found) => self.match_result(&search, &found),
                None => Ok(Value::Null),
            };
        }
        if !flags.global {
            return Err(type_error("`matchAll` needs the flag `g`"));
        }
        let from = if method == Method::Match { 0 } else { self.search_start(at)? };
        let all = self.all_matches(&search, from)?;
        let mut items = Vec::with_capacity(all.len());
        for found in &all {
            items.push(match method {
                Method::Match => self.piece_of(&search, found.range())?,
                _ => self.match_result(&search, found)?,
            });
        }
        if method == Method::Match {
            self.set_last_index(at, 0);
            return if items.is_empty() { Ok(Value::Null) } else { self.new_list(items) };
        }
        let list = self.new_list(items)?;
        Ok(self.new_iterator(list, Part::Value))
    }

    /// All matches, one after another; after an empty one the next symbol is skipped.
    fn all_matches(&mut self, search: &Search, from: usize) -> VmResult<Vec<Match>> {
        let flags = search.regex.flags();
        let (mut all, mut next) = (Vec::new(), search.input.symbol(from));
        while next <= search.input.len() {
            let Some(found) = self.find(search, next, flags.sticky)? else { break };
            let (start, end) = found.range();
            next = if end == start { end + 1 } else { end };
            all.push(found);
            self.check_entries(all.len())?;
        }
        Ok(all)
    }

    /// `replace` and `replaceAll` with a regular expression.
    pub(super) fn replace_pattern(
        &mut self,
        text: &Text,
        method: Method,
        pattern: &Value,
        by: &Value,
    ) -> VmResult<Value> {
        let Value::Record(at) = pattern else { return Ok(Value::Text(text.clone())) };
        let search = self.search_with(pattern, text)?;
        let flags = search.regex.flags();
        if method == Method::ReplaceAll && !flags.global {
            return Err(type_error("`replaceAll` needs the flag `g`"));
        }
        let all = if flags.global {
            self.set_last_index(*at, 0);
            self.all_matches(&search, 0)?
        } else {
            self.exec(*at, &search)?.into_iter().collect()
        };
        let template = match by {
            Value::Function(_) | Value::Builtin(_) => None,
            other => Some(self.string_of(other)?),
        };
        let (mut result, mut done) = (String::new(), 0);
        for found in &all {
            let (start, end) = found.range();
            if let Value::Text(before) = self.piece_of(&search, (done, start))? {
                result.push_str(before.as_str());
            }
            match &template {
                None => result.push_str(&self.replaced_by(&search, found, by)?),
                Some(template) => self.expand(&search, found, template.as_str(), &mut result)?,
            }
            done = end;
            if result.len() > self.limits.string_bytes {
                break;
            }
        }
        if let Value::Text(rest) = self.piece_of(&search, (done, search.input.len()))? {
            result.push_str(rest.as_str());
        }
        self.new_text(result)
    }

    fn replaced_by(&mut self, search: &Search, found: &Match, by: &Value) -> VmResult<String> {
        let mut args = Vec::with_capacity(found.groups.len() + 3);
        for group in 0..found.groups.len() {
            args.push(self.group_value(search, found, group)?);
        }
        args.push(index_value(search.input.unit(found.range().0)));
        args.push(Value::Text(search.text.clone()));
        match self.named_groups(search, found)? {
            Value::Undefined => {}
            groups => args.push(groups),
        }
        let value = self.call_now(by, Value::Undefined, &args)?;
        self.text_of(&value)
    }

    /// The replacement text with `$1`, `$<name>` and the like.
    fn expand(
        &mut self,
        search: &Search,
        found: &Match,
        template: &str,
        out: &mut String,
    ) -> VmResult<()> {
        let (start, end) = found.range();
        let mut rest = template;
        while let Some(at) = rest.find('$') {
            out.push_str(rest.get(..at).unwrap_or_default());
            let after = rest.get(at + 1..).unwrap_or_default();
            let (range, length) = match after.as_bytes().first() {
                Some(b'$') => {
                    out.push('$');
                    (None, 1)
                }
                Some(b'&') => (Some((start, end)), 1),
                Some(b'`') => (Some((0, start)), 1),
                Some(b'\'') => (Some((end, search.input.len())), 1),
                Some(b'<') if !search.regex.names().is_empty() && after.contains('>') => {
                    let name = after.get(1..).and_then(|it| it.split('>').next()).unwrap_or("");
                    let group = search.regex.names().iter().find(|(known, _)| known == name);
                    let range = group.and_then(|(_, number)| found.groups.get(*number)).copied();
                    (range.flatten(), name.len() + 2)
                }
                _ => match group_number(after, found.groups.len()) {
                    Some((number, length)) => (found.groups.get(number).copied().flatten(), length),
                    None => {
                        out.push('$');
                        (None, 0)
                    }
                },
            };
            if let Some(range) = range
                && let Value::Text(piece) = self.piece_of(search, range)?
            {
                out.push_str(piece.as_str());
            }
            rest = after.get(length..).unwrap_or_default();
        }
        out.push_str(rest);
        Ok(())
    }

    /// `split` by a regular expression.
    pub(super) fn split_pattern(
        &mut self,
        text: &Text,
        pattern: &Value,
        most: usize,
    ) -> VmResult<Value> {
        let search = self.search_with(pattern, text)?;
        let size = search.input.len();
        let mut parts = Vec::new();
        if most == 0 {
            return self.new_list(parts);
        }
        if size == 0 {
            if self.find(&search, 0, true)?.is_none() {
                parts.push(Value::Text(text.clone()));
            }
            return self.new_list(parts);
        }
        let (mut done, mut next) = (0, 0);
        while next < size {
            let Some(found) = self.find(&search, next, false)? else { break };
            let (start, end) = found.range();
            if start >= size {
                break;
            }
            if end == done {
                next = start + 1;
                continue;
            }
            let part = self.piece_of(&search, (done, start))?;
            parts.push(part);
            for group in 1..found.groups.len() {
                let value = self.group_value(&search, &found, group)?;
                parts.push(value);
            }
            if parts.len() >= most {
                parts.truncate(most);
                return self.new_list(parts);
            }
            self.check_entries(parts.len())?;
            done = end;
            next = end;
        }
        let rest = self.piece_of(&search, (done, size))?;
        parts.push(rest);
        self.new_list(parts)
    }
}

/// `$1` to `$99`: the group and the number of digits, if there is such a group.
fn group_number(after: &str, groups: usize) -> Option<(usize, usize)> {
    let digit = |at: usize| {
        let byte = after.as_bytes().get(at).filter(|byte| byte.is_ascii_digit())?;
        Some(usize::from(byte - b'0'))
    };
    let first = digit(0)?;
    let two = digit(1).map(|second| first * 10 + second).filter(|it| (1..groups).contains(it));
    match two {
        Some(number) => Some((number, 2)),
        None => (1..groups).contains(&first).then_some((first, 1)),
    }
}

fn index_value(unit: usize) -> Value {
    Value::Int(i64::try_from(unit).unwrap_or(i64::MAX))
}

/// The source with slashes and line ends escaped, so that it can be written as a literal.
fn escaped(source: &str) -> String {
    let (mut out, mut in_class, mut escape) = (String::with_capacity(source.len()), false, false);
    for c in source.chars() {
        match c {
            '/' if !escape && !in_class => out.push_str("\\/"),
            '\n' => out.push_str(if escape { "n" } else { "\\n" }),
            '\r' => out.push_str(if escape { "r" } else { "\\r" }),
            other => out.push(other),
        }
        in_class = match c {
            '[' if !escape => true,
            ']' if !escape => false,
            _ => in_class,
        };
        escape = c == '\\' && !escape;
    }
    out
}
