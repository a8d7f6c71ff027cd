"""A task in a worker's hands."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Task:
    """What a task function may know of its task."""

    id: str
    type: str
    input: Any = None
    instance_id: str = ""
    #: Which attempt this is, from 1.
    attempt: int = 1
    #: The same in every attempt: give it to other systems, so that they can tell a repetition.
    idempotency_key: str = ""
    #: When all attempts must be over, if there is a limit.
    deadline_at: str | None = None
    #: Static headers of the task's definition.
    headers: dict[str, Any] = field(default_factory=dict)
    lease_token: str = field(default="", repr=False)
    _withdrawn: threading.Event = field(default_factory=threading.Event, repr=False)
    #: Those on the worker's loop who wait for it.
    _waiting: list[asyncio.Future[None]] = field(default_factory=list, repr=False)
    #: When the lease ends, by the monotonic clock.
    _lease_ends: float = field(default=0.0, repr=False)

    @property
    def withdrawn(self) -> bool:
        """Whether the result is not wanted any more: the workflow went on without it, or the
        lease was lost. Coroutines are cancelled; plain functions should look now and then."""
        return self._withdrawn.is_set()

    def withdraw(self) -> None:
        """Marks the task as no longer wanted."""
        self._withdrawn.set()
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def wait_withdrawn(self) -> None:
        """Returns when the task is not wanted any more."""
        if not self.withdrawn:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting

    @property
    def lease_ended(self) -> bool:
        """Whether the lease ran out, as far as the worker knows."""
        return time.monotonic() >= self._lease_ends

    def hold(self, seconds: float) -> None:
        """The lease lasts so long from now on."""
        self._lease_ends = time.monotonic() + seconds

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Task:
        """Reads a task as the server sends it."""
        return cls(
            id=body["id"],
            type=body["type"],
            input=body.get("input"),
            instance_id=body.get("instanceId", ""),
            attempt=body.get("attempt", 1),
            idempotency_key=body.get("idempotencyKey", ""),
            deadline_at=body.get("deadlineAt"),
            headers=body.get("headers") or {},
            lease_token=body.get("leaseToken", ""),
        )
