//! From BPMN XML to a checked model, with every problem at once.
//!
//! | file | reads |
//! |---|---|
//! | `xml` | the text, within limits |
//! | `tree` | names and attributes by vendor |
//! | `root` | messages, signals, errors; which processes are executable |
//! | `container` | the elements of a process or sub-process: the dispatch |
//! | `event`, `timer`, `task`, `work`, `gateway`, `sub`, `call`, `repeat`, `mapping`, `flow` | one family each |
//! | `vocabulary` | what may be written on which element, and what is refused by name |
//! | `finish` | references between elements, once all are known |

mod builder;
mod call;
mod container;
mod event;
mod finish;
mod flow;
mod gateway;
mod mapping;
mod repeat;
mod root;
mod sub;
mod task;
mod timer;
mod tree;
mod vocabulary;
mod words;
mod work;
mod xml;

pub(crate) use root::{Read, read};
