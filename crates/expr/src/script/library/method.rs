//! The methods of lists, strings and numbers.

macro_rules! methods {
    ($($name:literal $variant:ident;)*) => {
        /// A method; which values have it, the machine knows.
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
    "toFixed" ToFixed;
    "toString" ToString;
    "hasOwnProperty" HasOwnProperty;
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

    /// All names, to guess what was meant.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        METHODS.iter().map(|(name, _)| *name)
    }

    /// Whether it calls a function for its elements.
    pub(crate) const fn takes_callback(self) -> bool {
        self.may_wait() || matches!(self, Self::FindIndex | Self::Sort)
    }

    /// Whether the functions it calls may wait.
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
