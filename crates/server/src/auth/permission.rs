//! What routes require and roles have.

use crate::settings::Role;

/// What a route requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Permission {
    /// Look at what there is.
    Read,
    /// Start, signal, cancel, correct, move.
    Operate,
    /// Claim tasks and report on them.
    Work,
    /// Deploy and undeploy definitions.
    Deploy,
    /// Move the clock.
    Administer,
}

impl Permission {
    /// The name in the OpenAPI document.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Operate => "operate",
            Self::Work => "work",
            Self::Deploy => "deploy",
            Self::Administer => "administer",
        }
    }

    /// Whether a role has it.
    pub(crate) const fn is_granted_to(self, role: Role) -> bool {
        match role {
            Role::Admin => true,
            Role::Viewer => matches!(self, Self::Read),
            Role::Operator => matches!(self, Self::Read | Self::Operate | Self::Work),
            Role::Worker => matches!(self, Self::Work),
            Role::Deployer => matches!(self, Self::Read | Self::Deploy),
        }
    }
}
