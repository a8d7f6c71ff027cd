//! Permissions of routes and roles.

use crate::settings::Role;

/// What a route requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Permission {
    /// Read everything.
    Read,
    /// Start, signal, cancel and correct instances; change timers and schedules.
    Operate,
    /// Claim tasks and report on them.
    Work,
    /// Deploy and undeploy definitions.
    Deploy,
    /// Advance the virtual clock, resume a restored engine.
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

    /// Whether a role has this permission.
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
