//! The kernel machine, without IO: inputs in, outputs out.
//!
//! ```text
//!  Command ─┐
//!  due time ┼─► mailboxes ─► ready ─► batch
//!  recovery ┘      ▲                    │
//!                  │     ┌──────────────┘
//!                  │     ▼
//!                  │   Fetch ─► Fetched ─► Advance ─► Advanced ─► Commit ─► Committed
//!                  │                                                            │
//!                  └── woken, requeued ◄────────────────────────────────────────┤
//!                      Reply, Dispatch (engine tasks), Notify ◄─────────────────┘
//! ```
//!
//! The machine never waits and performs nothing itself: the [`crate::driver`] or the simulator
//! performs its outputs and answers with an [`Input`]. Callers, workers and timers learn of a
//! change only after the commit that made it durable. While one batch is being committed others are
//! computed; an instance is in at most one batch at a time.
//!
//! | file | what it does |
//! |---|---|
//! | `engine` | the machine itself: inputs, outputs, time |
//! | `intake` | commands: limits, back-pressure, routing |
//! | `mailbox`, `ready` | pending work per instance, and the order in which instances get turns |
//! | `batch`, `in_flight` | collects a batch and requests the rows that it needs; all batches |
//! | `pace` | how many turns a batch takes |
//! | `turn_builder` | from a row, its inbox and its pending items to the events of a turn |
//! | `report` | reports on tasks: outcome, retry, incident |
//! | `edit` | edits of timers and incidents by operators |
//! | `suspend` | suspended instances: events wait in the inbox |
//! | `job` | one call of a notation; panics are caught |
//! | `damage` | instances whose rows cannot be decoded |
//! | `slow` | turns that take long and leave their batch |
//! | `outcome` | from the result of a notation to the unit to commit |
//! | `effect` | performs one effect: rows, conditional writes, records |
//! | `end` | closing and ending an instance, and cancelling what is open |
//! | `ended` | items and events for an instance that has ended |
//! | `commit` | after the commit: answers, wake-ups, cache updates |
//! | `outage` | an unreachable store: every waiting caller gets an answer |
//! | `membership` | several machines on one store: partitions, notices, locks |
//! | `global`, `global_queue` | commands without an instance: claims, messages, definitions |
//! | `injected_bugs` | bodies of injected bugs, for the simulator's own test |
//! | `claim` | tasks for workers, leases, delayed retries |
//! | `hand_off` | new tasks that are leased in the commit that creates them |
//! | `pause` | a restored store that is not resumed yet |
//! | `measure` | distributions of measured values |
//! | `tree` | callers that wait for an instance and all its descendants |
//! | `timer_queue` | the head of the due-time index |
//! | `definitions`, `memory` | what is kept in memory to avoid reading it again |

mod batch;
mod claim;
mod commit;
mod damage;
mod definitions;
mod edit;
mod effect;
mod end;
mod ended;
mod engine;
mod global;
mod global_queue;
mod hand_off;
mod in_flight;
mod injected_bugs;
mod intake;
mod io;
mod job;
mod mailbox;
mod measure;
mod membership;
mod memory;
mod outage;
mod outcome;
mod pace;
mod pause;
mod ready;
mod report;
mod slow;
mod suspend;
#[cfg(test)]
mod test_id;
mod timer_queue;
mod tree;
mod turn_builder;

pub use definitions::{Notations, Stored, definition_hash};
pub use engine::{Config, Machine};
pub use io::{Counters, Input, Levels, Output, Ticket, TimedOut};
pub use job::{Job, JobKind};
pub use measure::Distribution;
pub use tree::is_idle_by_itself;
