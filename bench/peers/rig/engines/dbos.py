"""DBOS: a library, so its engine, its workflows and its HTTP server are one process in Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from .. import install, process
from ..install import Programs
from ..layout import HERE
from ..process import Process
from . import meantime
from .database import postgres_cluster
from .engine import Call, Engine, Running


def prepare(programs: Programs) -> tuple[Engine, Engine]:
    """With a file of SQLite, its default."""
    binaries = install.python("dbos")

    def start(directory: Path) -> AbstractContextManager[Running]:
        return serve(binaries, directory, f"sqlite:///{directory / 'dbos.sqlite'}")

    return Engine("dbos, SQLite", start), meantime.on_sqlite(programs)


def prepare_postgres(programs: Programs) -> tuple[Engine, Engine]:
    """With PostgreSQL, which its makers recommend for production."""
    binaries, database = install.python("dbos"), install.postgres()

    @contextmanager
    def start(directory: Path) -> Iterator[Running]:
        with postgres_cluster(database, directory) as cluster:
            with serve(binaries, directory, cluster.url("dbos")) as running:
                running.processes["database"] = cluster.process
                yield running

    return Engine("dbos, PostgreSQL", start), meantime.on_postgres(programs)


@contextmanager
def serve(binaries: Path, directory: Path, database: str) -> Iterator[Running]:
    """Starts the service."""
    port = process.free_port()
    service = HERE / "services" / "dbos_service.py"
    arguments = [binaries / "python", "-B", service, "--port", port, "--database", database]
    with Process(arguments, directory / "dbos.log") as server:
        url = f"http://127.0.0.1:{port}"
        server.wait_until(lambda: process.answers(f"{url}/ready"), "dbos")
        calls = {"one": Call(f"{url}/one", answer="1"), "five": Call(f"{url}/five", answer="5")}
        yield Running(calls, {"server": server.id})
