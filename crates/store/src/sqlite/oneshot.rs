//! One value from the writer thread to whoever awaits it, without an async runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

struct Slot<T> {
    value: Option<T>,
    waker: Option<Waker>,
    is_closed: bool,
}

struct Shared<T>(Mutex<Slot<T>>);

impl<T> Shared<T> {
    fn slot(&self) -> MutexGuard<'_, Slot<T>> {
        // Nothing panics while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self, value: Option<T>) {
        let mut slot = self.slot();
        if !slot.is_closed {
            slot.value = value;
            slot.is_closed = true;
        }
        let waker = slot.waker.take();
        // Woken after the lock is free, so that the woken thread does not wait for it.
        drop(slot);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The sending half. Dropping it unsent tells the receiver so.
pub(super) struct Sender<T>(Arc<Shared<T>>);

/// The receiving half: resolves to the value, or to nothing when the sender is gone.
pub(super) struct Receiver<T>(Arc<Shared<T>>);

pub(super) fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let slot = Slot { value: None, waker: None, is_closed: false };
    let shared = Arc::new(Shared(Mutex::new(slot)));
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl<T> Sender<T> {
    /// Whether nobody waits for the value any longer.
    pub(super) fn is_unwanted(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    pub(super) fn send(self, value: T) {
        self.0.close(Some(value));
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.close(None);
    }
}

impl<T> Future for Receiver<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mut slot = self.0.slot();
        if slot.is_closed {
            return Poll::Ready(slot.value.take());
        }
        slot.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}
