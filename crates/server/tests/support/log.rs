//! Collects what a server would log.

use std::sync::{Arc, Mutex};

use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;

/// The lines of one thread.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

/// Collects the lines that pass a filter, until the guard is dropped.
pub(crate) fn collect(filter: Targets) -> (Log, tracing::subscriber::DefaultGuard) {
    let log = Log::default();
    let writer = log.clone();
    let lines = tracing_subscriber::fmt::layer().with_ansi(false);
    let lines = lines.with_writer(move || writer.clone()).with_filter(filter);
    (log, tracing::subscriber::set_default(tracing_subscriber::registry().with(lines)))
}

impl Log {
    /// The lines since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        let bytes = std::mem::take(&mut *self.0.lock().expect("whole"));
        let text = String::from_utf8(bytes).expect("text");
        text.lines().map(str::to_owned).collect()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("whole").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
