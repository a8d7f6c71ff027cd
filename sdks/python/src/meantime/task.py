"""A claimed task."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Task:
    """The task as its function sees it."""

    id: str
    type: str
    input: Any = None
    instance_id: str = ""
    #: The number of the attempt, from 1.
    attempt: int = 1
    #: The same in every attempt: pass it to other systems, so that they detect repetitions.
    idempotency_key: str = ""
    #: The deadline of all attempts, if there is one.
    deadline_at: str | None = None
    #: Static headers of the task's definition.
    headers: dict[str, Any] = field(default_factory=dict)
    lease_token: str = field(default="", repr=False)
    _cancelled: threading.Event = field(default_factory=threading.Event, repr=False)
    #: Futures of the worker's loop that wait for it.
    _waiting: list[asyncio.Future[None]] = field(default_factory=list, repr=False)
    #: When the lease ends, by the monotonic clock.
    _lease_ends: float = field(default=0.0, repr=False)

    @property
    def cancelled(self) -> bool:
        """Whether the result is no longer needed: the workflow continued without it, or the lease
        was lost. Coroutines are cancelled; long plain functions should check this regularly."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Marks the task as no longer needed."""
        self._cancelled.set()
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def wait_cancelled(self) -> None:
        """Returns when the task is no longer needed."""
        if not self.cancelled:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting

    @property
    def lease_ended(self) -> bool:
        """Whether the lease has expired, as far as the worker knows."""
        return time.monotonic() >= self._lease_ends

    def hold(self, seconds: float) -> None:
        """Sets the lease to end this many seconds from now."""
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
