//! Codes of incidents and rejected starts. Each has a page in `docs/errors`.

use meantime_core::Failure;

/// Why an element has an incident, or why a start was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IncidentCode {
    /// No condition is true and there is no default flow.
    NoFlowTaken,
    /// A condition whose value is neither true nor false.
    NotACondition,
    /// A computed name that is not a name.
    NotAName,
    /// A computed list that is not a list.
    NotAList,
    /// A computed number that is not a number, or a negative count.
    NotANumber,
    /// A computed time that is not a text.
    NotATime,
    /// A correlation key without a value.
    NotACorrelationKey,
    /// More iterations than a multi-instance activity may have.
    TooManyIterations,
    /// An ad-hoc sub-process was to start an activity that it does not have.
    UnknownActivity,
    /// Tokens wait at a join that nothing can complete.
    JoinNeverCompletes,
    /// The called instance was cancelled.
    ChildCancelled,
    /// A value that cannot be a variable.
    NotJson,
    /// A start that names no start event.
    UnknownStart,
    /// A start whose input is not an object.
    InputNotAnObject,
}

impl IncidentCode {
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::NoFlowTaken => "no_flow_taken",
            Self::NotACondition => "not_a_condition",
            Self::NotAName => "not_a_name",
            Self::NotAList => "not_a_list",
            Self::NotANumber => "not_a_number",
            Self::NotATime => "not_a_time",
            Self::NotACorrelationKey => "not_a_correlation_key",
            Self::TooManyIterations => "too_many_iterations",
            Self::UnknownActivity => "unknown_activity",
            Self::JoinNeverCompletes => "join_never_completes",
            Self::ChildCancelled => "child_cancelled",
            Self::NotJson => "not_json",
            Self::UnknownStart => "unknown_start",
            Self::InputNotAnObject => "input_not_an_object",
        }
    }

    pub(crate) fn failure(self, text: impl Into<String>) -> Failure {
        Failure::new(self.code(), text)
    }
}
