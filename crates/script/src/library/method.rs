//! The methods of lists, strings, numbers and objects, with their numbers of arguments.

/// Any number of arguments.
const ANY_COUNT: u8 = u8::MAX;

/// The kinds of values that have methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    List,
    Text,
    Number,
    Bool,
    Record,
    Function,
    Map,
    Set,
    Date,
    Regex,
    Iterator,
}

impl Kind {
    /// The name of the kind in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::List => "a list",
            Self::Text => "a string",
            Self::Number => "a number",
            Self::Bool => "a boolean",
            Self::Record => "an object",
            Self::Function => "a function",
            Self::Map => "a Map",
            Self::Set => "a Set",
            Self::Date => "a Date",
            Self::Regex => "a regular expression",
            Self::Iterator => "an iterator",
        }
    }
}

macro_rules! methods {
    ($($name:literal $variant:ident;)*) => {
        /// A method; the machine knows which values have it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Method { $($variant,)* }

        const METHODS: &[(&str, Method)] = &[$(($name, Method::$variant),)*];
    };
}

methods! {
    "map" Map;
    "filter" Filter;
    "forEach" ForEach;
    "reduce" Reduce;
    "find" Find;
    "findIndex" FindIndex;
    "some" Some;
    "every" Every;
    "flatMap" FlatMap;
    "sort" Sort;
    "includes" Includes;
    "indexOf" IndexOf;
    "lastIndexOf" LastIndexOf;
    "concat" Concat;
    "slice" Slice;
    "splice" Splice;
    "push" Push;
    "pop" Pop;
    "shift" Shift;
    "unshift" Unshift;
    "reverse" Reverse;
    "join" Join;
    "flat" Flat;
    "at" At;
    "fill" Fill;
    "startsWith" StartsWith;
    "endsWith" EndsWith;
    "substring" Substring;
    "split" Split;
    "trim" Trim;
    "trimStart" TrimStart;
    "trimEnd" TrimEnd;
    "replace" Replace;
    "replaceAll" ReplaceAll;
    "toUpperCase" ToUpperCase;
    "toLowerCase" ToLowerCase;
    "padStart" PadStart;
    "padEnd" PadEnd;
    "repeat" Repeat;
    "charAt" CharAt;
    "charCodeAt" CharCodeAt;
    "codePointAt" CodePointAt;
    "toFixed" ToFixed;
    "toPrecision" ToPrecision;
    "toExponential" ToExponential;
    "toString" ToString;
    "hasOwnProperty" HasOwnProperty;
    "findLast" FindLast;
    "findLastIndex" FindLastIndex;
    "reduceRight" ReduceRight;
    "toSorted" ToSorted;
    "toReversed" ToReversed;
    "toSpliced" ToSpliced;
    "with" With;
    "keys" Keys;
    "values" Values;
    "entries" Entries;
    "copyWithin" CopyWithin;
    "match" Match;
    "matchAll" MatchAll;
    "search" Search;
    "substr" Substr;
    "isWellFormed" IsWellFormed;
    "toWellFormed" ToWellFormed;
    "valueOf" ValueOf;
    "get" Get;
    "set" Set;
    "has" Has;
    "delete" Delete;
    "clear" Clear;
    "add" Add;
    "test" Test;
    "exec" Exec;
    "next" Next;
    "propertyIsEnumerable" PropertyIsEnumerable;
    "getTime" GetTime;
    "setTime" SetTime;
    "getTimezoneOffset" GetTimezoneOffset;
    "toISOString" ToIsoString;
    "toJSON" ToJson;
    "toDateString" ToDateString;
    "toTimeString" ToTimeString;
    "toUTCString" ToUtcString;
    "getFullYear" GetFullYear;
    "setFullYear" SetFullYear;
    "getMonth" GetMonth;
    "setMonth" SetMonth;
    "getDate" GetDate;
    "setDate" SetDate;
    "getDay" GetDay;
    "getHours" GetHours;
    "setHours" SetHours;
    "getMinutes" GetMinutes;
    "setMinutes" SetMinutes;
    "getSeconds" GetSeconds;
    "setSeconds" SetSeconds;
    "getMilliseconds" GetMilliseconds;
    "setMilliseconds" SetMilliseconds;
    "getUTCFullYear" GetUtcFullYear;
    "setUTCFullYear" SetUtcFullYear;
    "getUTCMonth" GetUtcMonth;
    "setUTCMonth" SetUtcMonth;
    "getUTCDate" GetUtcDate;
    "setUTCDate" SetUtcDate;
    "getUTCDay" GetUtcDay;
    "getUTCHours" GetUtcHours;
    "setUTCHours" SetUtcHours;
    "getUTCMinutes" GetUtcMinutes;
    "setUTCMinutes" SetUtcMinutes;
    "getUTCSeconds" GetUtcSeconds;
    "setUTCSeconds" SetUtcSeconds;
    "getUTCMilliseconds" GetUtcMilliseconds;
    "setUTCMilliseconds" SetUtcMilliseconds;
}

/// The methods of each kind, with the minimum and maximum number of arguments.
const LIST: &[(Method, u8, u8)] = &[
    (Method::Map, 1, 2),
    (Method::Filter, 1, 2),
    (Method::ForEach, 1, 2),
    (Method::Reduce, 1, 2),
    (Method::Find, 1, 2),
    (Method::FindIndex, 1, 2),
    (Method::Some, 1, 2),
    (Method::Every, 1, 2),
    (Method::FlatMap, 1, 2),
    (Method::Sort, 0, 1),
    (Method::Includes, 1, 2),
    (Method::IndexOf, 1, 2),
    (Method::LastIndexOf, 1, 2),
    (Method::Concat, 0, ANY_COUNT),
    (Method::Slice, 0, 2),
    (Method::Splice, 0, ANY_COUNT),
    (Method::Push, 0, ANY_COUNT),
    (Method::Pop, 0, 0),
    (Method::Shift, 0, 0),
    (Method::Unshift, 0, ANY_COUNT),
    (Method::Reverse, 0, 0),
    (Method::Join, 0, 1),
    (Method::Flat, 0, 1),
    (Method::At, 1, 1),
    (Method::Fill, 1, 3),
    (Method::ToString, 0, 0),
    (Method::HasOwnProperty, 1, 1),
    (Method::FindLast, 1, 2),
    (Method::FindLastIndex, 1, 2),
    (Method::ReduceRight, 1, 2),
    (Method::ToSorted, 0, 1),
    (Method::ToReversed, 0, 0),
    (Method::ToSpliced, 0, ANY_COUNT),
    (Method::With, 2, 2),
    (Method::Keys, 0, 0),
    (Method::Values, 0, 0),
    (Method::Entries, 0, 0),
    (Method::CopyWithin, 1, 3),
    (Method::ValueOf, 0, 0),
];

const TEXT: &[(Method, u8, u8)] = &[
    (Method::Includes, 1, 2),
    (Method::IndexOf, 1, 2),
    (Method::LastIndexOf, 1, 2),
    (Method::Concat, 0, ANY_COUNT),
    (Method::Slice, 0, 2),
    (Method::At, 1, 1),
    (Method::StartsWith, 1, 2),
    (Method::EndsWith, 1, 2),
    (Method::Substring, 1, 2),
    (Method::Split, 0, 2),
    (Method::Trim, 0, 0),
    (Method::TrimStart, 0, 0),
    (Method::TrimEnd, 0, 0),
    (Method::Replace, 2, 2),
    (Method::ReplaceAll, 2, 2),
    (Method::ToUpperCase, 0, 0),
    (Method::ToLowerCase, 0, 0),
    (Method::PadStart, 1, 2),
    (Method::PadEnd, 1, 2),
    (Method::Repeat, 1, 1),
    (Method::CharAt, 0, 1),
    (Method::CharCodeAt, 0, 1),
    (Method::CodePointAt, 0, 1),
    (Method::ToString, 0, 0),
    (Method::HasOwnProperty, 1, 1),
    (Method::Match, 1, 1),
    (Method::MatchAll, 1, 1),
    (Method::Search, 1, 1),
    (Method::Substr, 1, 2),
    (Method::IsWellFormed, 0, 0),
    (Method::ToWellFormed, 0, 0),
    (Method::ValueOf, 0, 0),
];

const NUMBER: &[(Method, u8, u8)] = &[
    (Method::ToFixed, 0, 1),
    (Method::ToPrecision, 0, 1),
    (Method::ToExponential, 0, 1),
    (Method::ToString, 0, 1),
    (Method::ValueOf, 0, 0),
];

const BOOL: &[(Method, u8, u8)] = &[(Method::ToString, 0, 0), (Method::ValueOf, 0, 0)];

const RECORD: &[(Method, u8, u8)] = &[
    (Method::ToString, 0, 0),
    (Method::HasOwnProperty, 1, 1),
    (Method::PropertyIsEnumerable, 1, 1),
    (Method::ValueOf, 0, 0),
];

const MAP: &[(Method, u8, u8)] = &[
    (Method::Get, 1, 1),
    (Method::Set, 2, 2),
    (Method::Has, 1, 1),
    (Method::Delete, 1, 1),
    (Method::Clear, 0, 0),
    (Method::ForEach, 1, 2),
    (Method::Keys, 0, 0),
    (Method::Values, 0, 0),
    (Method::Entries, 0, 0),
    (Method::ToString, 0, 0),
    (Method::HasOwnProperty, 1, 1),
];

const SET: &[(Method, u8, u8)] = &[
    (Method::Add, 1, 1),
    (Method::Has, 1, 1),
    (Method::Delete, 1, 1),
    (Method::Clear, 0, 0),
    (Method::ForEach, 1, 2),
    (Method::Keys, 0, 0),
    (Method::Values, 0, 0),
    (Method::Entries, 0, 0),
    (Method::ToString, 0, 0),
    (Method::HasOwnProperty, 1, 1),
];

const REGEX: &[(Method, u8, u8)] = &[
    (Method::Test, 1, 1),
    (Method::Exec, 1, 1),
    (Method::ToString, 0, 0),
    (Method::HasOwnProperty, 1, 1),
];

const ITERATOR: &[(Method, u8, u8)] = &[(Method::Next, 0, 1)];

const DATE: &[(Method, u8, u8)] = &[
    (Method::GetTime, 0, 0),
    (Method::SetTime, 1, 1),
    (Method::ValueOf, 0, 0),
    (Method::GetTimezoneOffset, 0, 0),
    (Method::ToIsoString, 0, 0),
    (Method::ToJson, 0, 1),
    (Method::ToString, 0, 0),
    (Method::ToDateString, 0, 0),
    (Method::ToTimeString, 0, 0),
    (Method::ToUtcString, 0, 0),
    (Method::HasOwnProperty, 1, 1),
    (Method::GetFullYear, 0, 0),
    (Method::GetMonth, 0, 0),
    (Method::GetDate, 0, 0),
    (Method::GetDay, 0, 0),
    (Method::GetHours, 0, 0),
    (Method::GetMinutes, 0, 0),
    (Method::GetSeconds, 0, 0),
    (Method::GetMilliseconds, 0, 0),
    (Method::GetUtcFullYear, 0, 0),
    (Method::GetUtcMonth, 0, 0),
    (Method::GetUtcDate, 0, 0),
    (Method::GetUtcDay, 0, 0),
    (Method::GetUtcHours, 0, 0),
    (Method::GetUtcMinutes, 0, 0),
    (Method::GetUtcSeconds, 0, 0),
    (Method::GetUtcMilliseconds, 0, 0),
    (Method::SetFullYear, 1, 3),
    (Method::SetMonth, 1, 2),
    (Method::SetDate, 1, 1),
    (Method::SetHours, 1, 4),
    (Method::SetMinutes, 1, 3),
    (Method::SetSeconds, 1, 2),
    (Method::SetMilliseconds, 1, 1),
    (Method::SetUtcFullYear, 1, 3),
    (Method::SetUtcMonth, 1, 2),
    (Method::SetUtcDate, 1, 1),
    (Method::SetUtcHours, 1, 4),
    (Method::SetUtcMinutes, 1, 3),
    (Method::SetUtcSeconds, 1, 2),
    (Method::SetUtcMilliseconds, 1, 1),
];

const fn table(kind: Kind) -> &'static [(Method, u8, u8)] {
    match kind {
        Kind::List => LIST,
        Kind::Text => TEXT,
        Kind::Number => NUMBER,
        Kind::Bool => BOOL,
        Kind::Record => RECORD,
        Kind::Function => &[],
        Kind::Map => MAP,
        Kind::Set => SET,
        Kind::Date => DATE,
        Kind::Regex => REGEX,
        Kind::Iterator => ITERATOR,
    }
}

impl Method {
    /// The method of a name.
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        METHODS.iter().find(|(known, _)| *known == name).map(|(_, method)| *method)
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        METHODS.iter().find(|(_, method)| *method == self).map_or("?", |(name, _)| name)
    }

    /// All method names of a kind, for suggestions.
    pub(crate) fn names_of(kind: Kind) -> impl Iterator<Item = &'static str> {
        table(kind).iter().map(|(method, ..)| method.name())
    }

    /// Minimum and maximum number of arguments for a kind that has the method; no maximum means any
    /// number.
    pub(crate) fn arity(self, kind: Kind) -> Option<(usize, Option<usize>)> {
        let (_, least, most) = table(kind).iter().find(|(method, ..)| *method == self)?;
        Some((usize::from(*least), Some(usize::from(*most)).filter(|_| *most != ANY_COUNT)))
    }

    /// Whether it calls a function for its elements.
    pub(crate) const fn takes_callback(self) -> bool {
        self.may_wait() || matches!(self, Self::FindIndex | Self::Sort)
    }

    /// Whether the functions it calls may await.
    pub(crate) const fn may_wait(self) -> bool {
        matches!(
            self,
            Self::Map
                | Self::Filter
                | Self::ForEach
                | Self::Reduce
                | Self::Find
                | Self::Some
                | Self::Every
                | Self::FlatMap
        )
    }
}
