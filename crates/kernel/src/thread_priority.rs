//! Priorities of threads, where the operating system supports them.
//!
//! On Linux the priority of a thread can be lowered without any privilege. Raising it again would
//! need one, so a thread is lowered for good. On other systems nothing happens: all threads then
//! share the processor evenly.
//!
//! There are two kinds of low priority. A *lowered* thread gets about a tenth of a core beside a
//! normal one, but keeps the core for some milliseconds when others wake up. An *idle* thread
//! leaves the core at once, and gets almost nothing while the others need all cores.

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

    /// Niceness of a thread that gets about a tenth of a core beside a normal one.
    const NICENESS: i32 = 10;

    /// The highest niceness: about a sixtieth of a core.
    const MOST_NICENESS: i32 = 19;

    /// Identifies a thread.
    #[derive(Debug, Clone, Copy)]
    pub struct Handle(Pid);

    impl Handle {
        /// Its number in the operating system.
        pub fn number(self) -> i32 {
            self.0.as_raw_nonzero().get()
        }
    }

    /// The calling thread.
    pub fn current() -> Handle {
        Handle(rustix::thread::gettid())
    }

    /// Lowers the priority of a thread of this process.
    pub fn lower(Handle(thread): Handle) {
        // Only speed depends on it: a thread that cannot be lowered runs like the others.
        let _ = setpriority_process(Some(thread), NICENESS);
    }

    /// Lowers the priority of a thread of this process as far as another thread can.
    pub fn lower_most(Handle(thread): Handle) {
        let _ = setpriority_process(Some(thread), MOST_NICENESS);
    }

    /// Lets the calling thread run only when no other thread needs its core.
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
    /// Identifies a thread.
    #[derive(Debug, Clone, Copy)]
    pub struct Handle;

    /// The calling thread.
    pub fn current() -> Handle {
        Handle
    }

    /// Lowers the priority of a thread of this process.
    pub fn lower(_: Handle) {}

    /// Lowers the priority of a thread of this process as far as another thread can.
    pub fn lower_most(_: Handle) {}

    /// Lets the calling thread run only when no other thread needs its core.
    pub fn idle() {}
}
