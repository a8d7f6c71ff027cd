//! The machine: tokens and scopes.
//!
//! ```text
//!  event ─ handle_event ─► an element is triggered, completed or ended
//!                              │
//!  steps ◄─────────────────────┘   Enter: a token enters a node     Run: an element continues
//!    │                             Spawn: the next iteration        Stop: an element is ended
//!    └─► until none is left; then joins and conditions are tried, until nothing changes
//! ```
//!
//! An element is entered (inputs, boundary events), active, completing (outputs), leaving (flows).
//! A failure on the way is an incident at that element and phase; a retry continues there.
//!
//! | file | holds |
//! |---|---|
//! | `state`, `codec` | what is saved |
//! | `turn` | one turn: the queue of steps |
//! | `event` | events: the dispatch |
//! | `enter`, `perform`, `leave` | the phases of an element; `perform` is the dispatch by kind |
//! | `stop` | ending elements from outside, their child instances first |
//! | `task`, `user_task`, `script`, `call`, `sub_process` | activities |
//! | `multi_instance`, `standard_loop` | repeated activities |
//! | `gateway`, `join`, `reach` | gateways |
//! | `arm`, `timer`, `trigger`, `condition` | events that wait |
//! | `throw`, `error`, `escalation`, `compensation` | events that throw |
//! | `variables`, `mapping`, `json` | data |
//! | `incident`, `path`, `inspect` | incidents, history and views |

mod arm;
mod call;
mod codec;
mod compensation;
mod condition;
mod enter;
mod error;
mod escalation;
mod event;
mod gateway;
mod incident;
mod inspect;
mod join;
mod json;
mod leave;
mod mapping;
mod multi_instance;
mod path;
mod perform;
mod reach;
mod script;
mod standard_loop;
mod start;
mod start_trigger;
mod state;
mod stop;
mod sub_process;
mod task;
mod throw;
mod timer;
mod trigger;
mod turn;
mod user_task;
mod variables;

pub(crate) use inspect::{inspect, scopes};
pub(crate) use start_trigger::triggers;
pub(crate) use turn::Machine;
