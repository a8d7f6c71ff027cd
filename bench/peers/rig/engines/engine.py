"""What an engine is to the rig."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from ..install import Programs


@dataclass(frozen=True)
class Call:
    """A request that starts a workflow and waits for its result, and the answer to it."""

    url: str
    body: str = ""
    status: int = 200
    #: A part of the body of every answer.
    answer: str = ""


@dataclass(frozen=True)
class Running:
    """An engine that runs."""

    #: By the name of a workflow: `one` has one durable step, `five` has five in a row.
    calls: dict[str, Call]
    #: Ids of processes by what they are: `server` is the engine, `worker` is what does the steps.
    processes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Engine:
    """An engine that can be started, in an empty directory."""

    name: str
    start: Callable[[Path], AbstractContextManager[Running]]


@dataclass(frozen=True)
class Peer:
    """Installs a peer; returns it, and ours on the kind of database that it is compared with."""

    prepare: Callable[[Programs], tuple[Engine, Engine]]
