"""Claims tasks, runs functions, reports results.

One claim waits at the server for as many tasks as the worker has room for. Leases are extended
until the result is acknowledged; a task whose lease is lost, or which the workflow no longer needs,
is cancelled. If the server fails or cannot be reached, the claim is repeated with back-off: only a
configuration error, which the first claim shows, ends a worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from typing import Any, Callable, TypeVar
from urllib.parse import quote

from ._backoff import Backoff
from ._http import Transport
from ._json import encode
from ._outcome import Function, Outcome, perform
from ._report import Reporter, is_over
from ._signals import StopSignals
from ._threads import Threads
from .errors import MeantimeError, Problem, Unavailable
from .task import Task

API = "/api/v1"
F = TypeVar("F", bound=Callable[..., Any])
log = logging.getLogger("meantime")

#: The timeout of an answer, in seconds; a claim adds the time that it waits for tasks.
TIMEOUT = 15.0


class Worker:
    """Runs tasks. Register functions with :meth:`task`, then :meth:`run`."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        name: str | None = None,
        queues: list[str] | None = None,
        concurrency: int = 10,
        lease: float = 60.0,
        poll: float = 20.0,
        grace: float = 25.0,
        max_body_bytes: int = 1 << 20,
    ) -> None:
        """``lease``, ``poll`` and ``grace`` are seconds. ``grace`` is how long running tasks may
        take after a signal; ``max_body_bytes`` is the largest request that the server accepts."""
        if concurrency < 1 or lease <= 0 or poll < 0:
            raise MeantimeError("concurrency and lease are above zero, poll is not below it")
        if grace < 0 or max_body_bytes < 10_000:
            raise MeantimeError("grace is not below zero, max_body_bytes is at least 10,000")
        self.name = name or f"{socket.gethostname()}-{os.getpid()}"
        self._url, self._token = url, token
        self._transport()
        self._queues = queues or []
        self._concurrency = concurrency
        self._lease = lease
        self._poll = poll
        self._grace = grace
        self._max_body_bytes = max_body_bytes
        self._functions: dict[str, Function] = {}
        self._stopping: asyncio.Event | None = None

    def _transport(self) -> Transport:
        return Transport(self._url, self._token)

    def task(self, type: str) -> Callable[[F], F]:
        """Registers a function for a task type. It gets the input, and the :class:`Task` when
        it takes a second argument; what it returns is the output."""

        def register(function: F) -> F:
            if type in self._functions:
                raise MeantimeError(f"two functions for the task type {type!r}")
            self._functions[type] = function
            return function

        return register

    @property
    def types(self) -> list[str]:
        """The task types of this worker."""
        return sorted(self._functions)

    def run(self) -> None:
        """Works until SIGINT or SIGTERM; then finishes the running tasks and returns. A second
        signal, or the end of the grace period, ends the process."""
        asyncio.run(self.work(stop_on_signals=True))

    async def work(self, *, stop_on_signals: bool = False) -> None:
        """Works until :meth:`stop`; then finishes the running tasks."""
        if not self._functions:
            raise MeantimeError("no task function is registered")
        self._stopping = asyncio.Event()
        signals: Any = contextlib.nullcontext()
        if stop_on_signals:
            signals = StopSignals(self.stop, self._grace)
        with signals:
            await _Run(self, self._stopping).run()

    def stop(self) -> None:
        """Claims no new tasks and finishes the running ones. Call it on the loop's thread."""
        if self._stopping is not None:
            self._stopping.set()


class _Run:
    """One run of a worker."""

    def __init__(self, worker: Worker, stopping: asyncio.Event) -> None:
        self.worker = worker
        self.stopping = stopping
        # Claims have their own connections, which are closed when the worker stops.
        self.claims, self.http = worker._transport(), worker._transport()
        self.room = worker._concurrency
        self.freed = asyncio.Event()
        self.active: dict[asyncio.Task[None], Task] = {}
        self.reporter = Reporter(self.call, worker._max_body_bytes)
        self.functions = Threads("meantime-task")
        self.calls = Threads("meantime-http")

    async def run(self) -> None:
        reporter = asyncio.create_task(self.reporter.run())
        try:
            await self.claim()
            # Tasks of an aborted claim are offered again after their lease.
            self.claims.close()
            if self.active:
                await asyncio.gather(*self.active, return_exceptions=True)
        finally:
            reporter.cancel()
            for active, task in self.active.items():
                task.cancel()
                active.cancel()
            self.functions.close()
            self.calls.close()
            self.claims.close()
            self.http.close()

    async def claim(self) -> None:
        backoff, answered = Backoff(), False
        while not self.stopping.is_set():
            if self.room == 0:
                self.freed.clear()
                await self.either(self.freed.wait())
                continue
            after = None
            try:
                tasks = await self.either(self.claim_once())
                if tasks is None:
                    return
            except Unavailable as why:
                log.warning("%s; trying again", why)
                after = why.retry_after
            except Problem as why:
                # The first answer shows whether address, token and types are right.
                if not answered:
                    raise
                log.error("a claim was refused: %s; trying again", why)
            else:
                backoff.reset()
                answered = True
                for task in tasks:
                    self.begin(task)
                continue
            await self.either(asyncio.sleep(backoff.next(after)))

    async def claim_once(self) -> list[Task]:
        body = encode(self.wanted())
        timeout = self.worker._poll + TIMEOUT
        answer = await self.call("/tasks/claim", body, self.claims, timeout)
        try:
            return [Task.from_json(it) for it in answer["tasks"]]
        except (AttributeError, KeyError, TypeError) as why:
            raise Unavailable(f"the answer to a claim cannot be read: {why!r}") from why

    def wanted(self) -> dict[str, Any]:
        worker = self.worker
        return {
            "worker": worker.name,
            "types": worker.types,
            "queues": worker._queues,
            "max": self.room,
            "leaseMs": int(worker._lease * 1000),
            "waitMs": int(worker._poll * 1000),
        }

    async def either(self, awaited: Any) -> Any:
        """Waits for something; None if the worker stops first."""
        first = asyncio.ensure_future(awaited)
        stop = asyncio.ensure_future(self.stopping.wait())
        try:
            await asyncio.wait({first, stop}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
            if not first.done():
                first.cancel()
        return first.result() if first.done() and not first.cancelled() else None

    def begin(self, task: Task) -> None:
        self.room -= 1
        task.hold(self.worker._lease)
        active = asyncio.create_task(self.do(task))
        self.active[active] = task

        def over(ended: asyncio.Task[None]) -> None:
            del self.active[ended]
            self.room += 1
            self.freed.set()
            if not ended.cancelled() and ended.exception():
                log.error("task %s: %s", task.id, ended.exception())

        active.add_done_callback(over)

    async def do(self, task: Task) -> None:
        work = asyncio.create_task(self.perform(task))
        keeper = asyncio.create_task(self.keep(task, work))
        try:
            outcome = await work
            if not task.cancelled:
                await self.reporter.report(task, outcome)
        except asyncio.CancelledError:
            log.info("task %s is not wanted any more", task.id)
        finally:
            work.cancel()
            keeper.cancel()

    async def perform(self, task: Task) -> Outcome:
        function = self.worker._functions.get(task.type)
        if function is None:
            error = {"code": "UNKNOWN_TASK_TYPE", "message": f"no function for {task.type!r}"}
            return Outcome(failure={"error": error})
        return await perform(function, task, self.functions.run)

    async def keep(self, task: Task, work: asyncio.Task[Outcome]) -> None:
        """Extends the lease until the result is acknowledged; cancels the task if it is lost."""
        lease = self.worker._lease
        path = f"/tasks/{quote(task.id, safe='')}/extend"
        body = encode({"leaseToken": task.lease_token, "leaseMs": int(lease * 1000)})
        # A request that hangs must leave time for others before the lease ends.
        timeout = max(1.0, min(TIMEOUT, lease / 3))
        every, backoff = lease / 3, Backoff()
        wait = every
        while True:
            await asyncio.sleep(wait)
            try:
                await self.call(path, body, timeout=timeout)
                task.hold(lease)
                backoff.reset()
                wait = every
            except Problem as why:
                log.info("task %s: %s", task.id, why)
                if is_over(why):
                    task.cancel()
                    work.cancel()
                    return
                wait = min(every, backoff.next())
            except Unavailable as why:
                log.warning("task %s: %s", task.id, why)
                wait = min(every, backoff.next(why.retry_after))

    async def call(
        self, path: str, body: bytes, http: Transport | None = None, timeout: float = TIMEOUT
    ) -> Any:
        def send() -> Any:
            # A repeated report is fenced by its token; tasks of a lost claim are offered again.
            transport = http or self.http
            return transport.request("POST", API + path, raw=body, timeout=timeout, repeatable=True)

        return await self.calls.run(send)
