//! The priority of threads, where the operating system has one for each.
//!
//! On Linux a thread can be made nicer than its process, and no right is needed for it. Going back
//! would need one, so a thread is lowered once and for all. Elsewhere nothing happens: threads of
//! low priority then share the processor evenly with the others.

#[cfg(target_os = "linux")]
pub use linux::{Handle, current, lower};
#[cfg(not(target_os = "linux"))]
pub use other::{Handle, current, lower};

#[cfg(target_os = "linux")]
mod linux {
    use rustix::process::{Pid, setpriority_process};

    /// Beside a thread that is not nice, one of these gets about a tenth of a core.
    const NICENESS: i32 = 10;

    /// Names a thread.
    #[derive(Debug, Clone, Copy)]
    pub struct Handle(Pid);

    /// The thread that asks.
    pub fn current() -> Handle {
        Handle(rustix::thread::gettid())
    }

    /// Lets a thread of this process run behind the others.
    pub fn lower(Handle(thread): Handle) {
        // It is about speed only: a thread that cannot be lowered runs like the others.
        let _ = setpriority_process(Some(thread), NICENESS);
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    /// Names a thread.
    #[derive(Debug, Clone, Copy)]
    pub struct Handle;

    /// The thread that asks.
    pub fn current() -> Handle {
        Handle
    }

    /// Lets a thread of this process run behind the others.
    pub fn lower(_: Handle) {}
}
