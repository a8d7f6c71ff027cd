//! A process, checked and ready to run. Immutable, shared by all its instances.
//!
//! Nodes and flows are kept in document order and named by their position inside one compiled
//! process. Positions never leave memory: saved states hold the ids of the source.

mod activity;
mod data;
mod event;
mod process;

pub(crate) use activity::{AdHoc, Call, InputPropagation, Task, UserTask, WorkerJob};
pub(crate) use data::{Input, LoopCharacteristics, Mapping, MultiInstance, Output, VariablePath};
pub(crate) use event::{
    BoundaryEvent, EventTrigger, MessageSubscription, StartEvent, ThrownEvent, TimerDefinition,
    TimerKind,
};
pub(crate) use process::{
    FlowRef, Gateway, Node, NodeKind, NodeRef, Process, ScopeBody, SequenceFlow, SubProcess,
    SubProcessKind,
};
