"""A private PostgreSQL with its default settings, on loopback."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .. import process
from ..process import Process

#: Who runs it if this program runs as root, which PostgreSQL refuses.
USERS = ("postgres", "nobody")


@dataclass(frozen=True)
class Cluster:
    """A PostgreSQL that runs."""

    port: int
    process: int

    def url(self, database: str) -> str:
        """The address of a database."""
        return f"postgresql://peers@127.0.0.1:{self.port}/{database}"


@contextmanager
def postgres_cluster(binaries: Path, directory: Path) -> Iterator[Cluster]:
    """Makes a cluster with an empty database `meantime`."""
    user = unprivileged_user()
    home = directory / "postgres"
    home.mkdir()
    if user is not None:
        os.chown(home, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
    data = home / "data"
    make = [str(binaries / "initdb"), "-D", str(data), "-U", "peers", "-A", "trust"]
    make += ["-E", "UTF8", "--locale=C"]
    output = subprocess.DEVNULL
    subprocess.run(make, user=user, check=True, stdout=output, cwd=home, timeout=120)
    port = process.free_port()
    arguments = [binaries / "postgres", "-D", data, "-k", home, "-p", port]
    arguments += ["-c", "listen_addresses=127.0.0.1"]
    log = directory / "postgres.log"
    # Its fast way to stop. Killed, it would leave shared memory behind.
    with Process(arguments, log, user=user, end_with=signal.SIGINT) as server:
        address = ["-h", "127.0.0.1", "-p", str(port), "-U", "peers"]
        asking = [str(binaries / "pg_isready"), "-q", *address]
        server.wait_until(
            lambda: subprocess.run(asking, check=False, timeout=30).returncode == 0, "PostgreSQL"
        )
        creating = [str(binaries / "createdb"), *address, "meantime"]
        subprocess.run(creating, check=True, timeout=60)
        yield Cluster(port, server.id)


def unprivileged_user() -> str | None:
    """The user for the server, or `None` if the one of this program will do."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in USERS if name in known)
