"""Restate: its server with its default settings, and a service in Rust with its SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .. import install, process
from ..process import Process
from . import meantime
from .engine import Call, Engine, Running


def prepare(programs: install.Programs) -> tuple[Engine, Engine]:
    """With its default of 24 partitions."""
    return engine("restate", programs, {}), meantime.on_sqlite(programs)


def prepare_one_partition(programs: install.Programs) -> tuple[Engine, Engine]:
    """With one partition, which suits a machine of few cores: theirs at its best there."""
    settings = {"RESTATE_DEFAULT_NUM_PARTITIONS": "1"}
    return engine("restate, one partition", programs, settings), meantime.on_sqlite(programs)


def engine(name: str, programs: install.Programs, settings: dict[str, str]) -> Engine:
    """Installs the server."""
    binary = install.restate_server()

    @contextmanager
    def start(directory: Path) -> Iterator[Running]:
        with ExitStack() as stack:
            node, ingress, admin, service = (f"127.0.0.1:{process.free_port()}" for _ in range(4))
            # Addresses, and no reports to its makers; everything else is the default.
            environment = {
                **settings,
                "RESTATE_BIND_ADDRESS": node,
                "RESTATE_INGRESS__BIND_ADDRESS": ingress,
                "RESTATE_ADMIN__BIND_ADDRESS": admin,
                "RESTATE_LISTEN_MODE": "tcp",
                "RESTATE_DISABLE_TELEMETRY": "true",
            }
            arguments = [binary, "--no-logo", "--node-name", "peers"]
            arguments += ["--base-dir", directory / "data"]
            log = directory / "restate.log"
            server = stack.enter_context(Process(arguments, log, environment=environment))
            server.wait_until(lambda: process.answers(f"http://{admin}/health"), "restate")
            server.wait_until(
                lambda: process.answers(f"http://{ingress}/restate/health"), "restate's ingress"
            )
            arguments = [programs.restate_service, "--listen", service]
            worker = stack.enter_context(Process(arguments, directory / "service.log"))
            deployment = json.dumps({"uri": f"http://{service}"}).encode()
            worker.wait_until(
                lambda: process.post(f"http://{admin}/deployments", deployment, "application/json"),
                "the service of restate",
            )
            calls = {
                "one": Call(f"http://{ingress}/Steps/one", answer="1"),
                "five": Call(f"http://{ingress}/Steps/five", answer="5"),
            }
            yield Running(calls, {"server": server.id, "worker": worker.id})

    return Engine(name, start)
