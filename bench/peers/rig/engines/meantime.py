"""Ours: the server with its default settings, and a worker in Rust on four connections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .. import process
from ..install import Programs, postgres
from ..layout import HERE
from ..process import Process
from .database import postgres_cluster
from .engine import Call, Engine, Running

#: How many connections claim tasks.
WORKERS = 4


def on_sqlite(programs: Programs) -> Engine:
    """With a file of SQLite, the default."""

    @contextmanager
    def start(directory: Path) -> Iterator[Running]:
        with serve(programs, directory, "sqlite:meantime.db") as running:
            yield running

    return Engine("meantime, SQLite", start)


def on_postgres(programs: Programs) -> Engine:
    """With a PostgreSQL of its own."""
    binaries = postgres()

    @contextmanager
    def start(directory: Path) -> Iterator[Running]:
        with postgres_cluster(binaries, directory) as cluster:
            with serve(programs, directory, cluster.url("meantime")) as running:
                running.processes["database"] = cluster.process
                yield running

    return Engine("meantime, PostgreSQL", start)


@contextmanager
def serve(programs: Programs, directory: Path, database: str) -> Iterator[Running]:
    """Starts the server and the worker, and deploys the workflows."""
    with ExitStack() as stack:
        address = f"127.0.0.1:{process.free_port()}"
        arguments = [programs.meantime, "serve", "--listen", address, "--db", database]
        server = stack.enter_context(Process(arguments, directory / "meantime.log"))
        server.wait_until(lambda: process.answers(f"http://{address}/readyz"), "meantime")
        api = f"http://{address}/api/v1"
        for name in ("one", "five"):
            source = (HERE / "flows" / f"{name}.flow.js").read_bytes()
            if not process.post(f"{api}/definitions?name={name}", source, "text/javascript"):
                raise RuntimeError(f"{name} cannot be deployed")
        arguments = [programs.meantime_worker, "--address", address, "--connections", WORKERS]
        worker = stack.enter_context(Process(arguments, directory / "worker.log"))
        # As long as the server lets a caller wait; what has not ended by then fails the check.
        url = f"{api}/instances?wait=PT20S&for=end"
        calls = {
            "one": Call(url, '{"definition":"one"}', 201, '"output":1'),
            "five": Call(url, '{"definition":"five"}', 201, '"output":5'),
        }
        yield Running(calls, {"server": server.id, "worker": worker.id})
