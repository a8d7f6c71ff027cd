//! The priority of threads, where the operating system has one for each.
//!
//! On Linux a thread can run behind the others of its process, and no right is needed for it. Going
//! back would need one, so a thread is lowered once and for all. Elsewhere nothing happens: threads
//! of low priority then share the processor evenly with the others.
//!
//! There are two ways to be behind. A thread that is *lowered* gets about a tenth of a core beside
//! one that is not, but when others wake up it keeps the core for some milliseconds. One that is
//! *idle* leaves the core at once, and gets next to nothing while the others need all cores.

#[cfg(target_os = "linux")]
pub use linux::{Handle, current, idle, lower, lower_most};
#[cfg(not(target_os = "linux"))]
pub use other::{Handle, current, idle, lower, lower_most};

#[cfg(target_os = "linux")]
mod linux {
    use rustix::process::{Pid, setpriority_process};
    use thread_priority::{
        NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
        set_thread_priority_and_policy, thread_native_id,
    };

    /// Beside a thread that is not nice, one of these gets about a tenth of a core.
    const NICENESS: i32 = 10;

    /// As nice as can be: a sixtieth of a core.
    const MOST_NICENESS: i32 = 19;

    /// Names a thread.
    #[derive(Debug, Clone, Copy)]
    pub struct Handle(Pid);

    impl Handle {
        /// Its number in the operating system.
        pub fn number(self) -> i32 {
            self.0.as_raw_nonzero().get()
        }
    }

    /// The thread that asks.
    pub fn current() -> Handle {
        Handle(rustix::thread::gettid())
    }

    /// Lets a thread of this process run behind the others.
    pub fn lower(Handle(thread): Handle) {
        // It is about speed only: a thread that cannot be lowered runs like the others.
        let _ = setpriority_process(Some(thread), NICENESS);
    }

    /// Lets a thread of this process run as far behind the others as another thread can make it.
    pub fn lower_most(Handle(thread): Handle) {
        let _ = setpriority_process(Some(thread), MOST_NICENESS);
    }

    /// Lets the thread that asks run when no other thread wants its core.
    pub fn idle() {
        lower(current());
        let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy);
    }

    #[cfg(test)]
    mod tests {
        use thread_priority::thread_schedule_policy;

        use super::*;

        #[test]
        fn a_thread_can_run_behind_all_others() {
            let policy = std::thread::spawn(|| {
                idle();
                thread_schedule_policy().expect("a thread has a policy")
            });
            let policy = policy.join().expect("it ends");
            let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
            assert_eq!(policy, idle);
        }
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

    /// Lets a thread of this process run as far behind the others as another thread can make it.
    pub fn lower_most(_: Handle) {}

    /// Lets the thread that asks run when no other thread wants its core.
    pub fn idle() {}
}
