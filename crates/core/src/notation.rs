//! The contract between the kernel and a notation: pure, total, deterministic.
//!
//! A notation never reads a clock, a random number, a file or a socket. It gets events and `now`,
//! and returns the next state, what it wants done, and one verdict per event. The kernel commits
//! all of it together and acts on it afterwards.

use crate::{
    Compiled, Definition, Diagnostic, Effect, EffectKey, Event, Execution, Failure, Fault, Graph,
    InstanceId, Json, Limits, Source, Start, State, Termination, Timestamp,
};

/// A language that Meantime runs.
pub trait Notation: Send + Sync {
    /// Reads a source. Never stops at the first problem; a source may hold several definitions.
    fn compile(&self, source: &Source, limits: &Limits) -> Compiled;

    /// Problems that depend on the current time, such as a literal date in the past.
    fn lint(&self, definition: &Definition, now: Timestamp) -> Vec<Diagnostic>;

    /// The first turn. Its one verdict may refuse the start.
    fn start(&self, definition: &Definition, start: &Start, cx: &Cx<'_>) -> Result<Turn, Fault>;

    /// Any later turn. Total over (state, events): an event that is not legal here gets a verdict.
    fn advance(
        &self,
        definition: &Definition,
        state: &State,
        events: &[Event],
        cx: &Cx<'_>,
    ) -> Result<Turn, Fault>;

    /// What people may see of an instance. For reads only, never stored.
    fn inspect(&self, definition: &Definition, state: &State) -> View;

    /// The scopes that variables live in, outermost first. For reads only, never stored.
    fn scopes(&self, definition: &Definition, state: &State) -> Vec<ScopeView> {
        let variables = self.inspect(definition, state).variables;
        vec![ScopeView::root(definition.name.clone(), variables)]
    }

    /// Where an instance stands, for incidents that the kernel raises itself; none if the notation
    /// has no such place.
    fn element(&self, _definition: &Definition, _state: &State) -> Option<String> {
        None
    }

    /// The definition as a drawing; empty when there is nothing to draw.
    fn graph(&self, _definition: &Definition) -> Graph {
        Graph::default()
    }
}

/// What a turn may know besides its events.
#[derive(Debug, Clone, Copy)]
pub struct Cx<'a> {
    /// The turn's one instant. Later turns never see an earlier one.
    pub now: Timestamp,
    /// The number of this turn, from 1.
    pub turn_no: u64,
    /// The instance.
    pub instance: InstanceId,
    /// The version of its definition, to pin what it starts to itself (S12).
    pub version: u32,
    /// When its start was accepted.
    pub started_at: Timestamp,
    /// When it must be over, if ever.
    pub deadline: Option<Timestamp>,
    /// The instance's business key.
    pub key: Option<&'a str>,
    /// Error codes that some ancestor catches; `*` is any code.
    pub catches: &'a [String],
    /// Limits to stay within.
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
    /// What to remember.
    pub state: State,
    /// What to do; the position is the ordinal of the effect's key.
    pub effects: Vec<Effect>,
    /// Where the instance stands.
    pub status: Status,
    /// One verdict per event, in order; one for a start.
    pub verdicts: Vec<Verdict>,
    /// Operations used, for the runaway budget.
    pub ops: u64,
}

/// What became of one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It was used. A submission may carry a projected answer.
    Taken {
        /// The answer for the caller.
        reply: Option<Json>,
    },
    /// Its waiter is gone. A signal or message returns to its place in the buffer.
    NotTaken,
    /// It is not acceptable, and its sender hears why.
    Refused {
        /// Stable code.
        code: String,
        /// Details for the sender.
        problem: Json,
    },
}

impl Verdict {
    /// Used, with nothing to answer.
    pub const fn taken() -> Self {
        Self::Taken { reply: None }
    }
}

/// Where an instance stands after a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// It waits for something.
    Running,
    /// It has more to do and gives way to others first.
    Yield,
    /// Its outcome is fixed; it only waits for its children to end. Its deadline is gone.
    Closing(Outcome),
    /// It is over.
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
    /// With an output.
    #[n(0)]
    Completed {
        /// What it returns.
        #[n(0)]
        output: Json,
        /// Its final variables.
        #[n(1)]
        context: Json,
    },
    /// As failed.
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
    /// By request.
    #[n(2)]
    Cancelled {
        /// Why.
        #[n(0)]
        reason: String,
        /// Its final variables.
        #[n(1)]
        context: Json,
    },
}

/// What people may see of an instance.
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
    /// Its name among the scopes of the instance, for as long as it lives.
    pub id: String,
    /// The scope around it; none for the root.
    pub parent: Option<String>,
    /// Where in the definition.
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

/// The answer to a correction of a scope that is not there.
pub fn unknown_scope(id: &str) -> Verdict {
    let problem = Json::of(&format!("there is no scope {id:?} now")).unwrap_or_default();
    Verdict::Refused { code: "unknown_scope".to_owned(), problem }
}

/// One thing an instance waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// What kind of thing.
    pub kind: WaitingKind,
    /// The effect that waits; of a step its timeout, if it has one.
    pub key: Option<EffectKey>,
    /// Task type, signal or message name, step id, or definition name.
    pub name: String,
    /// Where in the definition.
    pub element: String,
    /// Since when.
    pub since: Timestamp,
}

/// What kind of thing an instance waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitingKind {
    /// A worker or the engine.
    Task,
    /// A person.
    UserTask,
    /// Time.
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
