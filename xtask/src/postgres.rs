//! A private PostgreSQL cluster for the tests, shared by all their processes.
//!
//! The cluster is an example program of the store crate, so that tests without this command start
//! it the same way. It stops when the pipe that this process holds is closed, even if this process
//! is killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use crate::shell::{cargo, root};

/// The environment variable in which tests look for the address of the cluster.
const POSTGRES_VARIABLE: &str = "MEANTIME_TEST_POSTGRES";

/// A running cluster; dropping it stops it.
pub(crate) struct Cluster {
    child: Child,
    address: String,
}

impl Cluster {
    /// Starts a cluster, and installs PostgreSQL if it is missing and may be installed. `None` if
    /// the variable is already set, or if there is no PostgreSQL: the tests that need it then fail
    /// with a message.
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

    /// The environment variable for test processes.
    pub(crate) fn variable(&self) -> (&'static str, &str) {
        (POSTGRES_VARIABLE, &self.address)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It stops because its pipe was closed above.
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

/// Installs the package of the distribution, without the cluster that it would create and start.
/// Errors are ignored here: the tests that need PostgreSQL report them.
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
