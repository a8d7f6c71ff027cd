//! Reads BPMN XML to a checked model and reports all problems at once.
//!
//! | file | reads |
//! |---|---|
//! | `xml` | the text, within limits |
//! | `tree` | names and attributes by vendor, not by prefix |
//! | `root` | messages, signals, errors; which processes are executable |
//! | `container` | the elements of a process or sub-process: the dispatch |
//! | `event`, `timer`, `task`, `worker_job`, `gateway` | one kind of element each |
//! | `sub_process`, `call`, `loop_characteristics`, `mapping`, `flow` | one kind of element each |
//! | `vocabulary` | which attributes and extensions are supported, ignored or rejected |
//! | `finish` | references between elements, once all are known |

mod builder;
mod call;
mod container;
mod event;
mod extension;
mod finish;
mod flow;
mod gateway;
mod loop_characteristics;
mod mapping;
mod root;
mod sub_process;
mod task;
mod timer;
mod tree;
mod vocabulary;
mod worker_job;
mod xml;

pub(crate) use root::{ReadProcess, read};
