//! The contract between the kernel and a notation: pure, total, deterministic.
//!
//! A notation never reads a clock, a random number, a file or a socket. It gets events and `now`,
//! and returns the next state, its effects, and one verdict per event. The kernel commits all of it
//! together and acts on it afterwards.

use crate::{
    Compiled, Definition, Diagnostic, Effect, EffectKey, Event, Execution, Failure, Fault, Graph,
    InstanceId, Json, Limits, Source, Start, State, Termination, Timestamp,
};

/// A language that Meantime runs.
pub trait Notation: Send + Sync {
    /// Compiles a source. It reports all problems, not only the first; a source may have several
    /// definitions.
    fn compile(&self, source: &Source, limits: &Limits) -> Compiled;

    /// Problems that depend on the current time, such as a literal date in the past.
    fn lint(&self, definition: &Definition, now: Timestamp) -> Vec<Diagnostic>;

    /// Computes the first turn. Its one verdict may refuse the start.
    fn start(&self, definition: &Definition, start: &Start, cx: &Cx<'_>) -> Result<Turn, Fault>;

    /// Computes a later turn. Total over (state, events): an event that is not legal here gets a
    /// verdict.
    fn advance(
        &self,
        definition: &Definition,
        state: &State,
        events: &[Event],
        cx: &Cx<'_>,
    ) -> Result<Turn, Fault>;

    /// The view of an instance for readers; never stored.
    fn inspect(&self, definition: &Definition, state: &State) -> View;

    /// The scopes of variables, outermost first. For readers; never stored.
    fn scopes(&self, definition: &Definition, state: &State) -> Vec<ScopeView> {
        let variables = self.inspect(definition, state).variables;
        vec![ScopeView::root(definition.name.clone(), variables)]
    }

    /// The current element of an instance, for incidents that the kernel raises itself; `None` if
    /// the notation has none.
    fn element(&self, _definition: &Definition, _state: &State) -> Option<String> {
        None
    }

    /// The graph of the definition; empty if there is none.
    fn graph(&self, _definition: &Definition) -> Graph {
        Graph::default()
    }
}

/// The context of a turn, besides its events.
#[derive(Debug, Clone, Copy)]
pub struct Cx<'a> {
    /// The one instant of the turn. Later turns never see an earlier one.
    pub now: Timestamp,
    /// The number of this turn, from 1.
    pub turn_no: u64,
    /// The instance.
    pub instance: InstanceId,
    /// The version of its definition, so that what it starts can be pinned to the same one (S12).
    pub version: u32,
    /// When its start was accepted.
    pub started_at: Timestamp,
    /// When it must have ended, if ever.
    pub deadline: Option<Timestamp>,
    /// The instance's business key.
    pub key: Option<&'a str>,
    /// Error codes that some ancestor catches; `*` means any code.
    pub catches: &'a [String],
    /// The limits that apply.
    pub limits: &'a Limits,
}

impl Cx<'_> {
    /// The key of this turn's effect at `ordinal`.
    pub fn key_of(&self, ordinal: usize) -> EffectKey {
        self.instance.effect(self.turn_no, u32::try_from(ordinal).unwrap_or(u32::MAX))
    }

    /// Adds an effect to those of this turn; its position gives it its key.
    pub fn push(&self, effects: &mut Vec<Effect>, effect: Effect) -> EffectKey {
        let key = self.key_of(effects.len());
        effects.push(effect);
        key
    }

    /// Whether some ancestor catches the code, so that a throw may travel up.
    pub fn is_caught(&self, code: &str) -> bool {
        self.catches.iter().any(|caught| caught == code || caught == "*")
    }
}

/// The result of one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The next state.
    pub state: State,
    /// The requested effects; the position is the ordinal of the effect's key.
    pub effects: Vec<Effect>,
    /// The status of the instance.
    pub status: Status,
    /// One verdict per event, in order; one for a start.
    pub verdicts: Vec<Verdict>,
    /// Operations used, for the runaway budget.
    pub ops: u64,
}

/// The verdict on one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It was used. A submission may have an answer.
    Taken {
        /// The answer for the caller.
        reply: Option<Json>,
    },
    /// The wait that it was for is gone. A signal or message returns to its channel.
    NotTaken,
    /// It is not acceptable, and its sender gets the reason.
    Refused {
        /// Stable code.
        code: String,
        /// Details for the sender.
        problem: Json,
    },
}

impl Verdict {
    /// Used, without an answer.
    pub const fn taken() -> Self {
        Self::Taken { reply: None }
    }
}

/// The status of an instance after a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// It waits for something.
    Running,
    /// It has more to do and lets other instances run first.
    Yield,
    /// Its outcome is fixed; it only waits for its children to end. It has no deadline any more.
    Closing(Outcome),
    /// It has ended.
    Ended(Outcome),
}

/// The code of an instance that reached a deadline for which its definition declares none.
pub const DEADLINE_EXCEEDED: &str = "DEADLINE_EXCEEDED";

impl Outcome {
    /// What an instance ends with that reached its deadline: the outcome that its definition
    /// declares (D2), or one that names the deadline (D5).
    pub fn timed_out(
        declared: Option<&Execution>,
        deadline: Option<Timestamp>,
        context: Json,
    ) -> Self {
        let failure = match declared {
            Some(declared) => Failure::new(&declared.code, &declared.reason),
            None => {
                let at = deadline.map_or_else(String::new, |at| format!(" at {at}"));
                Failure::new(DEADLINE_EXCEEDED, format!("the deadline{at} has passed"))
            }
        };
        Self::Failed { failure, termination: Termination::Timeout, context }
    }
}

/// How an instance ends.
#[derive(Debug, Clone, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
pub enum Outcome {
    /// It completed, with an output.
    #[n(0)]
    Completed {
        /// The output.
        #[n(0)]
        output: Json,
        /// Its final variables.
        #[n(1)]
        context: Json,
    },
    /// It failed.
    #[n(1)]
    Failed {
        /// The error.
        #[n(0)]
        failure: Failure,
        /// Why it failed.
        #[n(1)]
        termination: Termination,
        /// Its final variables.
        #[n(2)]
        context: Json,
    },
    /// It was cancelled.
    #[n(2)]
    Cancelled {
        /// The reason.
        #[n(0)]
        reason: String,
        /// Its final variables.
        #[n(1)]
        context: Json,
    },
}

/// The view of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct View {
    /// The root variables, a JSON object.
    pub variables: Json,
    /// What it waits for.
    pub waiting: Vec<Waiting>,
}

/// A scope of variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeView {
    /// Its id among the scopes of the instance, valid as long as the scope exists.
    pub id: String,
    /// The enclosing scope; `None` for the root.
    pub parent: Option<String>,
    /// The element.
    pub element: String,
    /// Its own variables, a JSON object.
    pub variables: Json,
}

impl ScopeView {
    /// The id of the outermost scope in every notation.
    pub const ROOT: &str = "root";

    /// The outermost scope.
    pub fn root(element: String, variables: Json) -> Self {
        Self { id: Self::ROOT.to_owned(), parent: None, element, variables }
    }
}

/// The verdict on a correction of a scope that does not exist.
pub fn unknown_scope(id: &str) -> Verdict {
    let problem = Json::of(&format!("there is no scope {id:?} now")).unwrap_or_default();
    Verdict::Refused { code: "unknown_scope".to_owned(), problem }
}

/// One wait of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The kind of wait.
    pub kind: WaitingKind,
    /// The effect that waits; for a step its timeout, if it has one.
    pub key: Option<EffectKey>,
    /// Task type, signal or message name, step id, or definition name.
    pub name: String,
    /// The element.
    pub element: String,
    /// Since when it waits.
    pub since: Timestamp,
}

/// The kind of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitingKind {
    /// A task of a worker or of the engine.
    Task,
    /// A user task.
    UserTask,
    /// A timer.
    Timer,
    /// A signal.
    Signal,
    /// A message.
    Message,
    /// A submission.
    Step,
    /// A child.
    Child,
    /// A condition on variables.
    Condition,
}
