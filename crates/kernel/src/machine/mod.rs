//! The kernel machine, sans-IO: inputs in, outputs out.
//!
//! ```text
//!  Command ─┐                                   ┌─► Reply
//!  due time ┼─► mailboxes ─► ready ─► batch ──┐     ├─► Dispatch (engine tasks)
//!  recovery ┘    ▲                        │     │
//!                │   Take ─► Taken ─► Advance ─► Advanced ─► Commit ─► Committed
//!                └──────────── woken, requeued ────────────────────────────┘
//! ```
//!
//! The machine never waits and never performs anything: the [`crate::driver`] or the simulator
//! does, and answers with an [`Input`]. Everything that callers, workers and clocks learn leaves
//! after the commit that made it true. One batch may be committing while others are computed; one
//! instance is in at most one batch at a time.
//!
//! | file | what it does |
//! |---|---|
//! | `engine` | the machine itself: inputs, outputs, time |
//! | `intake` | commands in: limits, back-pressure, routing |
//! | `mailbox`, `ready` | what waits in memory, and whose turn it is |
//! | `batch` | gathers a batch and asks the store for what it needs |
//! | `turn_builder` | from a row, its inbox and what is pending to the events of a turn |
//! | `report` | what workers say of tasks: outcome, retry, incident |
//! | `edit` | what operators do to timers and incidents |
//! | `job` | one call of a notation, caught |
//! | `damage` | instances whose rows cannot be decoded |
//! | `slow` | turns that take long and leave their batch |
//! | `outcome` | from a notation's answer to the unit to commit |
//! | `effect` | one effect each: rows, asks, records |
//! | `end` | closing, ending, and what is cancelled |
//! | `commit` | after the commit: answers, wake-ups, memory |
//! | `outage` | a store that is out of reach: nobody waits without an answer |
//! | `membership` | several machines on one store: shares, notices, locks |
//! | `global` | units without an instance: claims, messages, definitions |
//! | `injected_bugs` | bodies of injected bugs, for the simulator's own test |
//! | `claim` | tasks for workers, leases, retries in waiting |
//! | `pause` | a restored copy that may not act yet |
//! | `measure` | distributions of what was counted |
//! | `tree` | callers who wait for an instance and all its descendants |
//! | `timer_queue` | the head of the due-time index |
//! | `definitions`, `cache` | what is kept in memory to avoid reading it again |

mod batch;
mod cache;
mod claim;
mod commit;
mod damage;
mod definitions;
mod edit;
mod effect;
mod end;
mod engine;
mod global;
mod injected_bugs;
mod intake;
mod io;
mod job;
mod mailbox;
mod measure;
mod membership;
mod outage;
mod outcome;
mod pace;
mod pause;
mod ready;
mod report;
mod slow;
mod timer_queue;
mod tree;
mod turn_builder;

pub use definitions::{Notations, Stored, definition_hash};
pub use engine::{Config, Machine};
pub use io::{Counters, Input, Levels, Output, Ticket, TimedOut};
pub use job::{Job, JobKind};
pub use measure::Distribution;
pub use tree::rests_by_itself;
