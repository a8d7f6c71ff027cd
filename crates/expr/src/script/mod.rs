//! Flow scripts: a strict subset of JavaScript on a machine that can be saved at every `await`.
