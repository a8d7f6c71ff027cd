//! The kinds of values, with their names for messages.

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// The absent value.
    Null,
    /// True or false.
    Boolean,
    /// An exact decimal number.
    Number,
    /// Text.
    String,
    /// A list of values.
    Array,
    /// A list of numbers in steps of one, never stored.
    Range,
    /// Keys with values, in order.
    Object,
    /// A key of an object, with its namespace and attributes.
    Key,
    /// A day.
    Date,
    /// A time of day without an offset.
    LocalTime,
    /// A time of day with an offset.
    Time,
    /// A day and time without a zone.
    LocalDateTime,
    /// A day and time in a zone.
    DateTime,
    /// A zone or offset.
    TimeZone,
    /// A calendar period or an exact duration.
    Period,
    /// A regular expression.
    Regex,
    /// Bytes.
    Binary,
    /// A resource identifier.
    Uri,
    /// A namespace of keys.
    Namespace,
    /// A function.
    Function,
    /// A type as a value.
    Type,
}

impl Kind {
    /// The name of the type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "Null",
            Self::Boolean => "Boolean",
            Self::Number => "Number",
            Self::String => "String",
            Self::Array => "Array",
            Self::Range => "Range",
            Self::Object => "Object",
            Self::Key => "Key",
            Self::Date => "Date",
            Self::LocalTime => "LocalTime",
            Self::Time => "Time",
            Self::LocalDateTime => "LocalDateTime",
            Self::DateTime => "DateTime",
            Self::TimeZone => "TimeZone",
            Self::Period => "Period",
            Self::Regex => "Regex",
            Self::Binary => "Binary",
            Self::Uri => "Uri",
            Self::Namespace => "Namespace",
            Self::Function => "Function",
            Self::Type => "Type",
        }
    }

    /// The kind as one bit, for sets of kinds.
    pub const fn bit(self) -> u32 {
        1 << self as u8
    }
}
