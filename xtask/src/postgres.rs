//! A private PostgreSQL cluster for the tests, shared by all their processes.
//!
//! It is an example of the store's crate, so that tests which run without this command start theirs
//! the same way. It ends with the pipe that this process holds, whatever happens to the process.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use crate::shell::{cargo, root};

/// Where tests look for the cluster.
const POSTGRES_VARIABLE: &str = "MEANTIME_TEST_POSTGRES";

/// A running cluster; dropping it ends it.
pub(crate) struct Cluster {
    child: Child,
    address: String,
}

impl Cluster {
    /// Starts one, installing PostgreSQL if it is missing and may be installed. None if tests have
    /// a cluster already, or if there is no PostgreSQL: those that need it then say so and fail.
    pub(crate) fn start() -> Result<Option<Self>> {
        if std::env::var_os(POSTGRES_VARIABLE).is_some() {
            return Ok(None);
        }
        if !is_installed() && is_root() {
            install();
        }
        let args = ["run", "-q", "-p", "meantime-store", "--features", "cluster"];
        let mut child = cargo()
            .args(args)
            .args(["--example", "test_cluster"])
            .current_dir(root()?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start cargo")?;
        let mut address = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut address)?;
        }
        let address = address.trim().to_owned();
        let cluster = Self { child, address };
        Ok(Some(cluster).filter(|cluster| !cluster.address.is_empty()))
    }

    /// What test processes need to know.
    pub(crate) fn variable(&self) -> (&'static str, &str) {
        (POSTGRES_VARIABLE, &self.address)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It ends by itself now.
        drop(self.child.wait());
    }
}

fn is_installed() -> bool {
    let found = Command::new("initdb").arg("--version").stdout(Stdio::null()).status();
    found.is_ok_and(|status| status.success()) || Path::new("/usr/lib/postgresql").exists()
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Installs the distribution's package, without the cluster that it would make and start. What goes
/// wrong is told by the tests that need it.
fn install() {
    println!("PostgreSQL is missing: installing the package `postgresql`");
    let script = "set -e; export DEBIAN_FRONTEND=noninteractive; \
         mkdir -p /etc/postgresql-common; \
         test -e /etc/postgresql-common/createcluster.conf \
         || echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf; \
         apt-get update -qq; \
         apt-get install -y -qq -o Dpkg::Options::=--force-confold postgresql";
    let status = Command::new("sh").args(["-c", script]).status();
    if !status.is_ok_and(|status| status.success()) {
        println!("it could not be installed");
    }
}
