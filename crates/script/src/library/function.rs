//! All library functions, with their names and numbers of arguments.

/// Any number of arguments.
const ANY_COUNT: u8 = u8::MAX;

macro_rules! functions {
    ($($namespace:literal { $($name:literal $variant:ident $min:literal ..= $max:expr;)* })*) => {
        /// A library function.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Builtin { $($($variant,)*)* }

        /// Namespace, name, function, minimum and maximum number of arguments.
        pub(super) const FUNCTIONS: &[(&str, &str, Builtin, u8, u8)] = &[
            $($(($namespace, $name, Builtin::$variant, $min, $max),)*)*
        ];
    };
}

functions! {
    "" {
        "String" ToText 0..=1;
        "Number" ToNumber 0..=1;
        "Boolean" ToBoolean 0..=1;
        "Error" MakeError 0..=2;
        "TypeError" MakeTypeError 0..=2;
        "RangeError" MakeRangeError 0..=2;
        "SyntaxError" MakeSyntaxError 0..=2;
        "ReferenceError" MakeReferenceError 0..=2;
        "URIError" MakeUriError 0..=2;
        "AggregateError" MakeAggregateError 1..=3;
        "TaskError" MakeTaskError 0..=2;
        "TaskTimeout" MakeTaskTimeout 0..=2;
        "SignalTimeout" MakeSignalTimeout 0..=2;
        "ChildError" MakeChildError 0..=2;
        "HttpError" MakeHttpError 0..=2;
        "Cancelled" MakeCancelled 0..=2;
        "Object" MakeObject 0..=1;
        "Array" MakeArray 0..=ANY_COUNT;
        "Map" MakeMap 0..=1;
        "Set" MakeSet 0..=1;
        "Date" MakeDate 0..=7;
        "RegExp" MakeRegex 1..=2;
        "Promise" MakePromise 1..=ANY_COUNT;
        "structuredClone" StructuredClone 1..=1;
        "encodeURIComponent" EncodeUriComponent 1..=1;
        "decodeURIComponent" DecodeUriComponent 1..=1;
        "encodeURI" EncodeUri 1..=1;
        "decodeURI" DecodeUri 1..=1;
        "btoa" Btoa 1..=1;
        "atob" Atob 1..=1;
        "parseInt" ParseInt 1..=2;
        "parseFloat" ParseFloat 1..=1;
        "isNaN" IsNaN 1..=1;
        "isFinite" IsFinite 1..=1;
        "wait_for_signal" WaitForSignal 1..=2;
    }
    "Task" {
        "run" TaskRun 1..=3;
        "delay" TaskDelay 1..=1;
        "all" TaskAll 1..=1;
        "any" TaskAny 1..=1;
        "race" TaskRace 1..=1;
        "settle" TaskSettle 1..=1;
    }
    "Promise" {
        "all" PromiseAll 1..=1;
        "any" PromiseAny 1..=1;
        "race" PromiseRace 1..=1;
        "allSettled" PromiseAllSettled 1..=1;
        "resolve" PromiseResolve 0..=1;
        "reject" PromiseReject 0..=1;
        "withResolvers" PromiseWithResolvers 0..=0;
    }
    "Flow" { "map" FlowMap 2..=3; }
    "Timer" {
        "delay" TimerDelay 1..=1;
        "until" TimerUntil 1..=1;
    }
    "Signal" { "next" SignalNext 1..=2; }
    "Workflow" { "run" WorkflowRun 1..=3; }
    "Http" { "request" HttpRequest 1..=1; }
    "Log" {
        "info" LogInfo 1..=2;
        "warn" LogWarn 1..=2;
        "error" LogError 1..=2;
    }
    "Time" {
        "now" TimeNow 0..=0;
        "add" TimeAdd 2..=3;
        "diff" TimeDiff 2..=2;
        "format" TimeFormat 2..=3;
    }
    "Date" {
        "now" DateNow 0..=0;
        "parse" DateParse 1..=1;
        "UTC" DateUtc 1..=7;
    }
    "Map" { "groupBy" MapGroupBy 2..=2; }
    "console" {
        "log" ConsoleLog 0..=ANY_COUNT;
        "info" ConsoleInfo 0..=ANY_COUNT;
        "debug" ConsoleDebug 0..=ANY_COUNT;
        "warn" ConsoleWarn 0..=ANY_COUNT;
        "error" ConsoleError 0..=ANY_COUNT;
    }
    "crypto" { "randomUUID" CryptoRandomUuid 0..=0; }
    "String" {
        "fromCharCode" StringFromCharCode 0..=ANY_COUNT;
        "fromCodePoint" StringFromCodePoint 0..=ANY_COUNT;
        "raw" StringRaw 1..=ANY_COUNT;
    }
    "Crypto" { "uuid" CryptoUuid 0..=0; }
    "JSON" {
        "parse" JsonParse 1..=2;
        "stringify" JsonStringify 1..=3;
    }
    "Object" {
        "keys" ObjectKeys 1..=1;
        "values" ObjectValues 1..=1;
        "entries" ObjectEntries 1..=1;
        "assign" ObjectAssign 1..=ANY_COUNT;
        "fromEntries" ObjectFromEntries 1..=1;
        "is" ObjectIs 2..=2;
        "hasOwn" ObjectHasOwn 2..=2;
        "freeze" ObjectFreeze 1..=1;
        "seal" ObjectSeal 1..=1;
        "preventExtensions" ObjectPreventExtensions 1..=1;
        "isFrozen" ObjectIsFrozen 1..=1;
        "isSealed" ObjectIsSealed 1..=1;
        "isExtensible" ObjectIsExtensible 1..=1;
        "create" ObjectCreate 1..=1;
        "getOwnPropertyNames" ObjectNames 1..=1;
        "groupBy" ObjectGroupBy 2..=2;
    }
    "Array" {
        "isArray" ArrayIsArray 1..=1;
        "of" ArrayOf 0..=ANY_COUNT;
        "from" ArrayFrom 1..=2;
    }
    "Number" {
        "isInteger" NumberIsInteger 1..=1;
        "isSafeInteger" NumberIsSafeInteger 1..=1;
        "isFinite" NumberIsFinite 1..=1;
        "isNaN" NumberIsNaN 1..=1;
        "parseInt" NumberParseInt 1..=2;
        "parseFloat" NumberParseFloat 1..=1;
    }
    "Math" {
        "abs" MathAbs 1..=1;
        "ceil" MathCeil 1..=1;
        "floor" MathFloor 1..=1;
        "round" MathRound 1..=1;
        "trunc" MathTrunc 1..=1;
        "sign" MathSign 1..=1;
        "min" MathMin 0..=ANY_COUNT;
        "max" MathMax 0..=ANY_COUNT;
        "pow" MathPow 2..=2;
        "sqrt" MathSqrt 1..=1;
        "cbrt" MathCbrt 1..=1;
        "hypot" MathHypot 0..=ANY_COUNT;
        "exp" MathExp 1..=1;
        "log" MathLog 1..=1;
        "log2" MathLog2 1..=1;
        "log10" MathLog10 1..=1;
        "sin" MathSin 1..=1;
        "cos" MathCos 1..=1;
        "tan" MathTan 1..=1;
        "atan2" MathAtan2 2..=2;
        "asin" MathAsin 1..=1;
        "acos" MathAcos 1..=1;
        "atan" MathAtan 1..=1;
        "sinh" MathSinh 1..=1;
        "cosh" MathCosh 1..=1;
        "tanh" MathTanh 1..=1;
        "asinh" MathAsinh 1..=1;
        "acosh" MathAcosh 1..=1;
        "atanh" MathAtanh 1..=1;
        "expm1" MathExpm1 1..=1;
        "log1p" MathLog1p 1..=1;
        "fround" MathFround 1..=1;
        "clz32" MathClz32 1..=1;
        "imul" MathImul 2..=2;
        "random" MathRandom 0..=0;
    }
}

impl Builtin {
    fn entry(self) -> (&'static str, &'static str, Self, u8, u8) {
        let found = FUNCTIONS.iter().find(|entry| entry.2 == self);
        found.copied().unwrap_or(("", "?", self, 0, ANY_COUNT))
    }

    /// The name as scripts write it.
    pub(crate) fn full_name(self) -> String {
        let (namespace, name, ..) = self.entry();
        if namespace.is_empty() { name.to_owned() } else { format!("{namespace}.{name}") }
    }

    /// The function of a full name.
    pub(crate) fn by_full_name(full: &str) -> Option<Self> {
        let (namespace, name) = full.split_once('.').unwrap_or(("", full));
        let found = FUNCTIONS.iter().find(|entry| (entry.0, entry.1) == (namespace, name));
        found.map(|entry| entry.2)
    }

    /// Minimum and maximum number of arguments; no maximum means any number.
    pub(crate) fn arity(self) -> (usize, Option<usize>) {
        let (.., min, max) = self.entry();
        (usize::from(min), Some(usize::from(max)).filter(|_| max != ANY_COUNT))
    }

    /// Whether it returns an awaitable.
    pub(crate) const fn gives_awaitable(self) -> bool {
        self.is_effect() && !self.is_log()
            || matches!(
                self,
                Self::TaskAll
                    | Self::TaskAny
                    | Self::TaskRace
                    | Self::TaskSettle
                    | Self::PromiseAll
                    | Self::PromiseAny
                    | Self::PromiseRace
                    | Self::PromiseAllSettled
                    | Self::PromiseResolve
                    | Self::PromiseReject
                    | Self::FlowMap
            )
    }

    /// Whether it creates errors.
    pub(crate) const fn is_error(self) -> bool {
        matches!(
            self,
            Self::MakeError
                | Self::MakeTypeError
                | Self::MakeRangeError
                | Self::MakeSyntaxError
                | Self::MakeReferenceError
                | Self::MakeUriError
                | Self::MakeAggregateError
                | Self::MakeTaskError
                | Self::MakeTaskTimeout
                | Self::MakeSignalTimeout
                | Self::MakeChildError
                | Self::MakeHttpError
                | Self::MakeCancelled
        )
    }

    /// Whether JavaScript has a class of this name.
    pub(crate) const fn is_class(self) -> bool {
        self.is_error()
            || matches!(
                self,
                Self::MakeObject
                    | Self::MakeArray
                    | Self::MakeMap
                    | Self::MakeSet
                    | Self::MakeDate
                    | Self::MakeRegex
                    | Self::MakePromise
                    | Self::ToText
                    | Self::ToNumber
                    | Self::ToBoolean
            )
    }

    /// Whether classes of the script can extend it.
    pub(crate) const fn is_extendable(self) -> bool {
        self.is_error() || matches!(self, Self::MakeMap | Self::MakeSet)
    }

    /// Whether it has an effect outside of the script and so counts against the turn's effects.
    pub(crate) const fn is_effect(self) -> bool {
        matches!(
            self,
            Self::TaskRun
                | Self::TaskDelay
                | Self::TimerDelay
                | Self::TimerUntil
                | Self::SignalNext
                | Self::WaitForSignal
                | Self::WorkflowRun
                | Self::HttpRequest
                | Self::LogInfo
                | Self::LogWarn
                | Self::LogError
                | Self::ConsoleLog
                | Self::ConsoleInfo
                | Self::ConsoleDebug
                | Self::ConsoleWarn
                | Self::ConsoleError
        )
    }

    /// Whether it writes to the history.
    pub(crate) const fn is_log(self) -> bool {
        matches!(
            self,
            Self::LogInfo
                | Self::LogWarn
                | Self::LogError
                | Self::ConsoleLog
                | Self::ConsoleInfo
                | Self::ConsoleDebug
                | Self::ConsoleWarn
                | Self::ConsoleError
        )
    }
}
