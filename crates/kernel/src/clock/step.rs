//! Learns from Linux that the wall clock was set, by a person or a time service, or jumped after
//! the machine was suspended.
//!
//! A sleep of the runtime follows a monotonic clock, so it would continue past a due time that a
//! clock step has reached. A timer of the system that steps cancel reports them without polling
//! (I12). One thread of the process waits for it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::Heard;

/// The end of the year 9999, for a timer that must never fire.
const FAR_AWAY_S: i64 = 253_402_300_799;

static LISTENERS: Mutex<Vec<Heard>> = Mutex::new(Vec::new());
static HEARS: OnceLock<bool> = OnceLock::new();

/// Calls back when the clock was set, until the callback returns false; returns false if the system
/// does not support it.
pub(super) fn listen(heard: Heard) -> bool {
    let is_told = *HEARS.get_or_init(|| begin().is_ok());
    if is_told {
        LISTENERS.lock().unwrap_or_else(PoisonError::into_inner).push(heard);
    }
    is_told
}

fn begin() -> io::Result<()> {
    let timer = timerfd_create(TimerfdClockId::Realtime, TimerfdFlags::CLOEXEC)?;
    arm(&timer)?;
    let wait = move || wait(&timer);
    std::thread::Builder::new().name("meantime-clock".to_owned()).spawn(wait).map(drop)
}

fn arm(timer: &OwnedFd) -> Result<(), Errno> {
    let never = Timespec { tv_sec: 0, tv_nsec: 0 };
    let far_away = Timespec { tv_sec: FAR_AWAY_S, tv_nsec: 0 };
    let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
    let spec = Itimerspec { it_interval: never, it_value: far_away };
    match timerfd_settime(timer.as_fd(), flags, &spec) {
        // The clock was set at this moment; the timer is armed nevertheless.
        Ok(_) | Err(Errno::CANCELED) => Ok(()),
        Err(error) => Err(error),
    }
}

fn wait(timer: &OwnedFd) {
    let mut fired = [0_u8; 8];
    loop {
        match rustix::io::read(timer, &mut fired) {
            Err(Errno::INTR) => continue,
            Ok(_) | Err(Errno::CANCELED) => {}
            // No other error is expected; without reports, the loop checks the clock at every
            // event.
            Err(_) => return,
        }
        if arm(timer).is_err() {
            return;
        }
        let mut listeners = LISTENERS.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|heard| heard());
    }
}
