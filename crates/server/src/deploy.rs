//! Deployment: the checks of the kernel, and that no two APIs have the same path. The kernel does
//! not know paths, so `meantime dev` deploys through this module, too.

use std::sync::Arc;

use meantime_core::{Definition, Diagnostic, Severity, Source};
use meantime_kernel::command::{Command, Deployed, Deployment, Error, Reply};
use meantime_kernel::driver::DeployError;

use crate::app::App;

impl App {
    /// Compiles a source and deploys its definitions, all or nothing. Returns the versions and the
    /// warnings.
    ///
    /// # Errors
    ///
    /// If the source has errors, or an API of it would answer at the path of another one.
    pub async fn deploy(
        &self,
        notation: &str,
        source: Source,
    ) -> Result<(Vec<Deployed>, Vec<Diagnostic>), DeployError> {
        let (definitions, warnings) = self.validate(notation, source.clone()).await?;
        let definitions = definitions.into_iter().map(Arc::new).collect();
        let deployment = Deployment { notation: notation.to_owned(), source, definitions };
        let reply = self.kernel().call(Command::Deploy(deployment)).await?;
        let Reply::Deployed(deployed) = reply else {
            let text = "a deployment was answered by something else".to_owned();
            return Err(DeployError::Kernel(Error::Invalid(text)));
        };
        self.surface_index().invalidate();
        Ok((deployed, warnings))
    }

    /// Performs all checks of a deployment without deploying, so that a dry run rejects exactly
    /// what a deployment would reject.
    pub(crate) async fn validate(
        &self,
        notation: &str,
        source: Source,
    ) -> Result<(Vec<Definition>, Vec<Diagnostic>), DeployError> {
        let (definitions, diagnostics) = self.kernel().validate(notation, source).await?;
        if diagnostics.iter().any(|it| it.severity == Severity::Error) {
            return Err(DeployError::Diagnostics(diagnostics));
        }
        let conflicts = self.surface_index().route_conflicts(self, &definitions).await?;
        if !conflicts.is_empty() {
            return Err(DeployError::Diagnostics(conflicts));
        }
        Ok((definitions, diagnostics))
    }
}
