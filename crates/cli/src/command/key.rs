//! `meantime key`: creates an API key. The key is printed once; the configuration holds its hash.

use std::process::ExitCode;

use anyhow::Result;
use meantime_core::Timestamp;
use meantime_server::new_key;

use crate::show::{self, Format};

/// Creates an API key.
#[derive(Debug, clap::Args)]
pub(crate) struct Key {
    /// Role: viewer, operator, worker, deployer or admin
    #[arg(long, value_parser = ["viewer", "operator", "worker", "deployer", "admin"])]
    role: String,
    /// Name of the owner or purpose, shown in history and log
    #[arg(long)]
    name: Option<String>,
    /// Expiry, such as 2027-01-01T00:00:00Z [default: never]
    #[arg(long)]
    expires_at: Option<Timestamp>,
}

impl Key {
    pub(crate) fn run(self, format: Format) -> Result<ExitCode> {
        let key = new_key();
        let Self { role, name, expires_at } = self;
        if !show::is_for_people(format) {
            let mut shown = serde_json::json!({
                "key": key.secret, "id": key.id, "sha256": key.sha256, "role": role,
            });
            if let Some(name) = name {
                shown["name"] = name.into();
            }
            if let Some(end) = expires_at {
                shown["expiresAt"] = end.to_string().into();
            }
            show::document(format, &shown)?;
            return Ok(ExitCode::SUCCESS);
        }
        show::print_line(&format!("API key, shown only once:\n\n  {}\n", key.secret))?;
        show::print_line("add this to the configuration of the server:\n\n  [[auth.keys]]")?;
        show::print_line(&format!("  id = \"{}\"\n  sha256 = \"{}\"", key.id, key.sha256))?;
        show::print_line(&format!("  role = \"{role}\""))?;
        if let Some(name) = name {
            show::print_line(&format!("  name = {name:?}"))?;
        }
        if let Some(end) = expires_at {
            show::print_line(&format!("  expires_at = \"{end}\""))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
