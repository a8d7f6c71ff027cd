//! Objects with more than plain data: inheritance, accessors, functions with properties.

use super::convert::index_of_name;
use super::heap::FunctionExtra;
use super::machine::Machine;
use super::raise::{VmResult, type_error, unsupported};
use super::record::{Inner, Integrity, Proto, Record};
use super::text::Text;
use super::value::{FunctionRef, RecordRef, Value};
use crate::library::{Builtin, Kind, Method};

impl Machine<'_> {
    /// A property of an object or of what it inherits from; accessors are not called. With none,
    /// the end of the chain.
    pub(crate) fn lookup(&self, record: RecordRef, name: &Text) -> Result<Value, Proto> {
        let mut at = record;
        loop {
            let Some(record) = self.heap.records.get(at) else { return Err(Proto::Nothing) };
            if let Some(value) = record.get(name) {
                return Ok(value.clone());
            }
            match record.proto() {
                Proto::Record(parent) => at = parent,
                end => return Err(end),
            }
        }
    }

    /// The library class of an object, directly or inherited.
    pub(crate) fn class_of(&self, record: RecordRef) -> Proto {
        let mut at = record;
        loop {
            match self.heap.records.get(at).map(Record::proto) {
                Some(Proto::Record(parent)) => at = parent,
                Some(end) => return end,
                None => return Proto::Nothing,
            }
        }
    }

    /// Reads a property in all cases that are not plain data.
    pub(crate) fn get_slowly(&mut self, object: &Value, name: &Text) -> VmResult<Value> {
        match object {
            Value::Record(at) => match self.lookup(*at, name) {
                Ok(Value::Accessor(_)) | Err(_) if Record::is_private(name.as_str()) => {
                    self.private_or_error(*at, name, object)
                }
                Ok(value) => self.resolve(value, object),
                Err(end) => self.inherited(*at, end, name),
            },
            Value::Function(at) => self.function_property(*at, name, object),
            Value::List(at) if self.heap.list_props.contains_key(at) => {
                let props = self.heap.list_props.get(at).copied();
                let own = props.and_then(|props| self.heap.records.get(props)?.get(name).cloned());
                match own {
                    Some(value) => Ok(value),
                    None => self.get_named(object, name),
                }
            }
            _ => self.get_named(object, name),
        }
    }

    fn private_or_error(&mut self, at: RecordRef, name: &Text, this: &Value) -> VmResult<Value> {
        match self.lookup(at, name) {
            Ok(value) => self.resolve(value, this),
            Err(_) => Err(type_error(format!("the object has no {}", shown_private(name)))),
        }
    }

    /// The value of a property; calls its getter if it has one.
    pub(crate) fn resolve(&mut self, value: Value, this: &Value) -> VmResult<Value> {
        let Value::Accessor(at) = value else { return Ok(value) };
        let getter = self.heap.lists.get(at).and_then(|pair| pair.first()).cloned();
        match getter {
            Some(getter @ (Value::Function(_) | Value::Builtin(_))) => {
                self.call_now(&getter, this.clone(), &[])
            }
            _ => Ok(Value::Undefined),
        }
    }

    /// A property that neither an object nor the classes of the script have.
    pub(super) fn inherited(&mut self, at: RecordRef, end: Proto, name: &Text) -> VmResult<Value> {
        let record = Value::Record(at);
        let class = match end {
            Proto::Class(class) => class,
            Proto::Nothing => return Ok(Value::Undefined),
            Proto::Object | Proto::Record(_) => {
                let inherits = self.heap.records.get(at).is_some_and(|it| it.extra().is_some());
                if inherits && name.as_str() == "constructor" {
                    return Ok(Value::Builtin(Builtin::MakeObject));
                }
                return super::property::nothing(&record, name);
            }
        };
        if name.as_str() == "constructor" {
            return Ok(Value::Builtin(class));
        }
        let size = |count: usize| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
        let inner = self.heap.records.get(at).map_or(&Inner::None, Record::inner);
        match (inner, name.as_str()) {
            (Inner::Map(items) | Inner::Set(items), "size") => return Ok(size(items.len())),
            (Inner::Regex(regex), name) => {
                if let Some(value) = regex.property(name) {
                    return Ok(value);
                }
            }
            _ => {}
        }
        if class.is_error() {
            match name.as_str() {
                "name" => return Ok(Value::text(class.full_name())),
                "message" => return Ok(Value::text("")),
                "stack" => return self.stack_text(at),
                _ => {}
            }
        }
        let kind = self.object_kind(&record).unwrap_or(Kind::Record);
        let is_method = Method::by_name(name.as_str()).and_then(|it| it.arity(kind)).is_some();
        if is_method {
            let (kind, name) = (kind.name(), name.as_str());
            return Err(unsupported(format!(
                "`{name}` of {kind} is not a value here, only a call"
            )));
        }
        super::property::nothing(&record, name)
    }

    /// Name, message and position of an error.
    fn stack_text(&mut self, at: RecordRef) -> VmResult<Value> {
        let head = self.error_text(at)?;
        let record = self.heap.records.get(at);
        let number = |name: &str| match record.and_then(|it| it.get_str(name)) {
            Some(Value::Int(number)) => *number,
            _ => 0,
        };
        let (line, column) = (number("line"), number("column"));
        let text = format!("{head}\n    at {}:{line}:{column}", self.program.file);
        self.new_text(text)
    }

    /// The text of an error: its name and its message.
    pub(crate) fn error_text(&mut self, at: RecordRef) -> VmResult<String> {
        let error = Value::Record(at);
        let (name, message) = (Text::new("name"), Text::new("message"));
        let name = match self.get_slowly(&error, &name)? {
            Value::Undefined => "Error".to_owned(),
            name => self.text_of(&name)?,
        };
        let message = match self.get_slowly(&error, &message)? {
            Value::Undefined => String::new(),
            message => self.text_of(&message)?,
        };
        Ok(match (name.as_str(), message.as_str()) {
            (_, "") => name,
            ("", _) => message,
            _ => format!("{name}: {message}"),
        })
    }

    /// The kind of a value for its methods.
    pub(crate) fn object_kind(&self, value: &Value) -> Option<Kind> {
        let Value::Record(at) = value else { return value.kind() };
        Some(match self.heap.records.get(*at).map_or(&Inner::None, Record::inner) {
            Inner::None | Inner::Error => Kind::Record,
            Inner::Map(_) => Kind::Map,
            Inner::Set(_) => Kind::Set,
            Inner::Date(_) => Kind::Date,
            Inner::Regex(_) => Kind::Regex,
            Inner::Iterator(_) => Kind::Iterator,
        })
    }

    fn function_property(&mut self, at: FunctionRef, name: &Text, this: &Value) -> VmResult<Value> {
        let mut function = at;
        loop {
            let closure = self.heap.functions.get(function);
            let extra = closure.and_then(|it| it.extra.as_deref());
            let statics = extra.and_then(|it| it.statics);
            let own = statics.and_then(|it| self.heap.records.get(it)?.get(name).cloned());
            if let Some(value) = own {
                return self.resolve(value, this);
            }
            if let (Some(prototype), "prototype") =
                (extra.and_then(|it| it.prototype), name.as_str())
            {
                return Ok(Value::Record(prototype));
            }
            if function == at && matches!(name.as_str(), "name" | "length") {
                return self.name_or_length(at, name);
            }
            match extra.map(|it| &it.parent) {
                Some(Value::Function(parent)) => function = *parent,
                _ => return self.get_named(this, name),
            }
        }
    }

    fn name_or_length(&self, at: FunctionRef, name: &Text) -> VmResult<Value> {
        let closure = self.heap.functions.get(at);
        let code = closure.and_then(|it| self.program.functions.get(it.function as usize));
        match (code, name.as_str()) {
            (Some(code), "name") if code.is_named && *code.name == *"anonymous" => {
                Ok(Value::text(""))
            }
            (Some(code), "name") if code.is_named => Ok(Value::text(&*code.name)),
            (Some(code), "length") if code.is_named => Ok(Value::Int(i64::from(code.length))),
            _ => self.get_named(&Value::Function(at), name),
        }
    }

    /// Sets a property in all cases that are not plain data.
    pub(super) fn set_slowly(&mut self, object: &Value, name: Text, value: Value) -> VmResult<()> {
        let at = match object {
            Value::Record(at) => *at,
            Value::Function(at) => self.statics_of(*at),
            _ => return self.set_other(object, &name, value),
        };
        match self.lookup(at, &name) {
            Ok(Value::Accessor(pair)) => {
                let setter = self.heap.lists.get(pair).and_then(|pair| pair.get(1)).cloned();
                return match setter {
                    Some(setter @ (Value::Function(_) | Value::Builtin(_))) => {
                        self.call_now(&setter, object.clone(), &[value]).map(|_| ())
                    }
                    _ => Err(type_error(format!("`{}` has only a getter", name.as_str()))),
                };
            }
            Err(_) if Record::is_private(name.as_str()) => {
                return Err(type_error(format!("the object has no {}", shown_private(&name))));
            }
            _ => {}
        }
        self.check_integrity(at, &name)?;
        if let (Some(Inner::Regex(regex)), "lastIndex") =
            (self.heap.records.get_mut(at).and_then(Record::inner_mut), name.as_str())
        {
            regex.last_index = value;
            return Ok(());
        }
        self.put_own(at, name, value)
    }

    /// Rejects a change of an object that is frozen, and a new property of one that is closed.
    fn check_integrity(&self, at: RecordRef, name: &Text) -> VmResult<()> {
        let Some(record) = self.heap.records.get(at) else { return Ok(()) };
        let name_text = name.as_str();
        match (record.integrity(), record.get(name)) {
            (Integrity::Frozen, Some(_)) => {
                Err(type_error(format!("`{name_text}` of a frozen object cannot be changed")))
            }
            (Integrity::Open, _) | (_, Some(_)) => Ok(()),
            _ => Err(type_error(format!("`{name_text}` cannot be added to a closed object"))),
        }
    }

    /// Sets an own property.
    pub(super) fn put_own(&mut self, at: RecordRef, name: Text, value: Value) -> VmResult<()> {
        let Some(record) = self.heap.records.get_mut(at) else { return Ok(()) };
        let is_new = record.set(name, value);
        let count = record.len();
        if is_new {
            self.heap.grow(2);
            self.check_entries(count)?;
            self.check_burst()?;
        }
        Ok(())
    }

    /// What a function has besides its code, created when it is first needed.
    pub(super) fn function_extra(&mut self, at: FunctionRef) -> &mut FunctionExtra {
        self.heap.grow(4);
        match self.heap.functions.get_mut(at) {
            Some(closure) => closure.extra.get_or_insert_default(),
            None => &mut self.no_extra,
        }
    }

    /// The own properties of a function.
    pub(super) fn statics_of(&mut self, at: FunctionRef) -> RecordRef {
        if let Some(known) = self.function_extra(at).statics {
            return known;
        }
        let statics = self.heap.record(Record::default());
        self.function_extra(at).statics = Some(statics);
        statics
    }

    /// Whether an object has its own property, not counting private ones.
    pub(crate) fn has_own(&self, object: &Value, name: &Text) -> bool {
        let own =
            |at: RecordRef| self.heap.records.get(at).is_some_and(|it| it.get(name).is_some());
        match object {
            Value::Record(at) => own(*at) && !Record::is_private(name.as_str()),
            Value::Function(at) => {
                let closure = self.heap.functions.get(*at);
                let statics = closure.and_then(|it| it.extra.as_ref()).and_then(|it| it.statics);
                statics.is_some_and(own)
            }
            Value::List(at) => {
                let length = self.heap.lists.get(*at).map_or(0, Vec::len);
                let position = index_of_name(name.as_str());
                position.is_some_and(|position| position < length) || name.as_str() == "length"
            }
            _ => false,
        }
    }

    /// `value instanceof class`
    pub(super) fn is_instance(&self, value: &Value, class: &Value) -> VmResult<bool> {
        match class {
            Value::Builtin(class) => Ok(self.is_of_class(value, *class)),
            Value::Function(at) => {
                let closure = self.heap.functions.get(*at);
                let extra = closure.and_then(|it| it.extra.as_ref());
                let Some(prototype) = extra.and_then(|it| it.prototype) else {
                    return Err(unsupported(
                        "`instanceof` needs a class; other functions create nothing",
                    ));
                };
                let Value::Record(mut at) = *value else { return Ok(false) };
                loop {
                    match self.heap.records.get(at).map(Record::proto) {
                        Some(Proto::Record(parent)) if parent == prototype => return Ok(true),
                        Some(Proto::Record(parent)) => at = parent,
                        _ => return Ok(false),
                    }
                }
            }
            other => {
                Err(type_error(format!("`instanceof` needs a class, not {}", other.kind_name())))
            }
        }
    }

    fn is_of_class(&self, value: &Value, class: Builtin) -> bool {
        match (value, class) {
            (Value::List(_), Builtin::MakeArray)
            | (Value::Awaitable(_), Builtin::MakePromise | Builtin::MakeObject)
            | (Value::List(_) | Value::Function(_) | Value::Builtin(_), Builtin::MakeObject) => {
                true
            }
            (Value::Record(at), _) => match self.class_of(*at) {
                Proto::Nothing => false,
                _ if class == Builtin::MakeObject => true,
                Proto::Class(own) => {
                    own == class || (class == Builtin::MakeError && own.is_error())
                }
                // An error of the engine has the properties of one.
                _ => {
                    let record = self.heap.records.get(*at);
                    let parts = record.and_then(Record::error_parts);
                    parts.is_some_and(|(name, _)| {
                        class == Builtin::MakeError || class.is_error() && class.full_name() == name
                    })
                }
            },
            _ => false,
        }
    }

    /// `#name in object`
    pub(super) fn has_private(&mut self, name: u32) -> VmResult<bool> {
        let (object, name) = (self.pop(), self.name_constant(name));
        match object {
            Value::Record(at) => Ok(self.lookup(at, &name).is_ok()),
            other => Err(type_error(format!("`in` needs an object, not {}", other.kind_name()))),
        }
    }

    /// Adds an accessor, or its other half.
    pub(super) fn set_accessor(
        &mut self,
        at: RecordRef,
        name: Text,
        getter: bool,
        function: Value,
        hidden: bool,
    ) -> VmResult<()> {
        let known = self.heap.records.get(at).and_then(|it| it.get(&name)).cloned();
        let mut pair = match known {
            Some(Value::Accessor(pair)) => self.heap.lists.get(pair).cloned().unwrap_or_default(),
            _ => Vec::new(),
        };
        pair.resize(2, Value::Undefined);
        if let Some(half) = pair.get_mut(usize::from(!getter)) {
            *half = function;
        }
        let pair = Value::Accessor(self.heap.list(pair));
        match self.heap.records.get_mut(at) {
            Some(record) if hidden => record.set_hidden(name, pair),
            _ => return self.put_own(at, name, pair),
        }
        self.heap.grow(2);
        self.check_burst()
    }
}

/// A private name as scripts write it.
fn shown_private(name: &Text) -> String {
    let name = name.as_str().trim_start_matches('\u{1}');
    format!("private field `{}`", name.split(':').next().unwrap_or_default())
}
