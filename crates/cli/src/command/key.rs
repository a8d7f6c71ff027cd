//! `meantime key`: a new API key. The key is shown once; the configuration gets its hash.

use std::process::ExitCode;

use anyhow::Result;
use meantime_server::new_key;

use crate::show::{self, Format};

/// Makes an API key.
#[derive(Debug, clap::Args)]
pub(crate) struct Key {
    /// What it may do: viewer, operator, worker, deployer or admin
    #[arg(long, value_parser = ["viewer", "operator", "worker", "deployer", "admin"])]
    role: String,
}

impl Key {
    pub(crate) fn run(self, format: Format) -> Result<ExitCode> {
        let key = new_key();
        let role = self.role;
        if format == Format::Json {
            show::json(&serde_json::json!({
                "key": key.secret, "id": key.id, "sha256": key.sha256, "role": role,
            }))?;
            return Ok(ExitCode::SUCCESS);
        }
        show::line(&format!("key, shown only now:\n\n  {}\n", key.secret));
        show::line("for the configuration of the server:\n\n  [[auth.keys]]");
        show::line(&format!("  id = \"{}\"\n  sha256 = \"{}\"", key.id, key.sha256));
        show::line(&format!("  role = \"{role}\""));
        Ok(ExitCode::SUCCESS)
    }
}
