//! Whether a store can be reached.

use std::sync::Arc;

/// A change of connectivity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Connectivity {
    /// The store became unreachable, for this reason. Calls fail at once until it is restored.
    Lost(String),
    /// The store was connected, perhaps again. A node renews its lease at once.
    Restored,
}

/// Called with every change.
pub type ConnectivityListener = Arc<dyn Fn(Connectivity) + Send + Sync>;
