//! A process, checked and ready to run. Immutable, shared by all its instances.
//!
//! Nodes and flows are kept in document order and named by their position inside one compiled
//! process. Positions never leave memory: saved states hold the ids of the source.

mod activity;
mod data;
mod event;
mod process;
mod time;

pub(crate) use activity::{AdHoc, Call, Inward, Task, UserTask, Work};
pub(crate) use data::{Input, Mapping, Multi, Output, Repeat, Target};
pub(crate) use event::{Boundary, MessageName, Start, Throw, Trigger};
pub(crate) use process::{
    Body, Flow, FlowRef, Gateway, Kind, Node, NodeRef, Process, Sub, SubKind,
};
pub(crate) use time::{Timer, TimerKind};
