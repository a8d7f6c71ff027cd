"""Claims tasks, runs functions, reports results.

One claim waits at the server for as many tasks as there is room for. Results gather while a report
is under way and go out together. Leases of tasks that take long are extended; a task whose lease
is lost, or which the workflow does not want any more, is cancelled.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, TypeVar
from urllib.parse import quote

from ._http import Transport
from ._outcome import Function, Outcome, perform
from .errors import MeantimeError, Problem, Unavailable
from .task import Task

API = "/api/v1"
F = TypeVar("F", bound=Callable[..., Any])
log = logging.getLogger("meantime")

#: How many results one report carries.
BATCH = 100

#: The first and the longest pause after the server could not be reached, in seconds.
PAUSE = (0.1, 10.0)


class Worker:
    """Does tasks. Register functions with :meth:`task`, then :meth:`run`."""

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
    ) -> None:
        if concurrency < 1 or lease <= 0 or poll < 0:
            raise MeantimeError("concurrency and lease are above zero, poll is not below it")
        self.name = name or f"{socket.gethostname()}-{os.getpid()}"
        self._url, self._token = url, token
        self._transport()
        self._queues = queues or []
        self._concurrency = concurrency
        self._lease = lease
        self._poll = poll
        self._functions: dict[str, Function] = {}
        self._stopping: asyncio.Event | None = None

    def _transport(self) -> Transport:
        return Transport(self._url, self._token)

    def task(self, type: str) -> Callable[[F], F]:
        """Registers a function for a type of task. It gets the input, and the :class:`Task` when
        it takes a second argument; what it returns is the output."""

        def register(function: F) -> F:
            if type in self._functions:
                raise MeantimeError(f"two functions for the task type {type!r}")
            self._functions[type] = function
            return function

        return register

    @property
    def types(self) -> list[str]:
        """The types of task this worker does."""
        return sorted(self._functions)

    def run(self) -> None:
        """Works until SIGINT or SIGTERM; then finishes what is in hand and returns."""
        asyncio.run(self.work(stop_on_signals=True))

    async def work(self, *, stop_on_signals: bool = False) -> None:
        """Works until :meth:`stop`; then finishes what is in hand."""
        if not self._functions:
            raise MeantimeError("no task function is registered")
        self._stopping = asyncio.Event()
        if stop_on_signals:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, self.stop)
        await _Run(self, self._stopping).run()

    def stop(self) -> None:
        """No new tasks; what is in hand is finished. Call it on the loop's thread."""
        if self._stopping is not None:
            self._stopping.set()


class _Run:
    """One life of a worker."""

    def __init__(self, worker: Worker, stopping: asyncio.Event) -> None:
        self.worker = worker
        self.stopping = stopping
        # Claims have connections of their own, which are closed when the worker leaves.
        self.claims, self.http = worker._transport(), worker._transport()
        self.room = worker._concurrency
        self.freed = asyncio.Event()
        self.active: set[asyncio.Task[None]] = set()
        self.done: asyncio.Queue[tuple[Task, Outcome, asyncio.Future[None]]] = asyncio.Queue()
        # Claims and reports each need a thread of their own beside the functions.
        self.functions = ThreadPoolExecutor(worker._concurrency, "meantime-task")
        self.calls = ThreadPoolExecutor(4, "meantime-http")

    async def run(self) -> None:
        reporter = asyncio.create_task(self.report())
        try:
            await self.claim()
            # Tasks that a claim would still bring come back after their lease.
            self.claims.close()
            if self.active:
                await asyncio.gather(*self.active, return_exceptions=True)
            await self.done.join()
        finally:
            reporter.cancel()
            self.functions.shutdown(wait=False)
            self.calls.shutdown(wait=False)
            self.claims.close()
            self.http.close()

    async def claim(self) -> None:
        pause = PAUSE[0]
        while not self.stopping.is_set():
            if self.room == 0:
                self.freed.clear()
                await self.either(self.freed.wait())
                continue
            try:
                answer = await self.either(self.claim_once())
                if answer is None:
                    return
                pause = PAUSE[0]
            except Unavailable as why:
                log.warning("%s; trying again", why)
                await self.either(asyncio.sleep(why.retry_after or pause * (0.5 + random.random())))
                pause = min(pause * 2, PAUSE[1])
                continue
            for body in answer["tasks"]:
                self.begin(Task.from_json(body))

    async def claim_once(self) -> Any:
        poll = self.worker._poll
        return await self.call("/tasks/claim", self.wanted(), self.claims, timeout=poll + 15.0)

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
        """Waits for something, or for the end: then None."""
        first = asyncio.ensure_future(awaited)
        stop = asyncio.ensure_future(self.stopping.wait())
        await asyncio.wait({first, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if first.done():
            return first.result()
        first.cancel()
        return None

    def begin(self, task: Task) -> None:
        self.room -= 1
        active = asyncio.create_task(self.do(task))
        self.active.add(active)

        def over(ended: asyncio.Task[None]) -> None:
            self.active.discard(ended)
            self.room += 1
            self.freed.set()
            if not ended.cancelled() and ended.exception():
                log.error("task %s: %s", task.id, ended.exception())

        active.add_done_callback(over)

    async def do(self, task: Task) -> None:
        function = self.worker._functions[task.type]
        work = asyncio.create_task(perform(function, task, self.run_plain))
        keeper = asyncio.create_task(self.keep(task, work))
        try:
            outcome = await work
        except asyncio.CancelledError:
            log.info("task %s is not wanted any more", task.id)
            return
        finally:
            keeper.cancel()
        if not task.withdrawn:
            told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.done.put_nowait((task, outcome, told))
            await told

    async def run_plain(self, function: Function, *arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.functions, function, *arguments)

    async def keep(self, task: Task, work: asyncio.Task[Outcome]) -> None:
        """Extends the lease until the work is done; cancels the work when the lease is lost."""
        every = self.worker._lease / 3
        body = {"leaseToken": task.lease_token, "leaseMs": int(self.worker._lease * 1000)}
        while True:
            await asyncio.sleep(every)
            try:
                await self.call(f"/tasks/{quote(task.id, safe='')}/extend", body)
            except Problem as why:
                log.info("task %s: %s", task.id, why)
                task.withdraw()
                work.cancel()
                return
            except Unavailable as why:
                log.warning("task %s: %s", task.id, why)

    async def report(self) -> None:
        """Reports results, many at once."""
        while True:
            first = await self.done.get()
            batch = [first]
            while len(batch) < BATCH and not self.done.empty():
                batch.append(self.done.get_nowait())
            together = [it for it in batch if it[1].failure is None or it[1].is_simple_failure]
            alone = [it for it in batch if it not in together]
            try:
                if together:
                    await self.insist("/tasks/complete", {"results": [_result(it) for it in together]})
                for task, outcome, _ in alone:
                    body = {"leaseToken": task.lease_token, **(outcome.failure or {})}
                    await self.insist(f"/tasks/{quote(task.id, safe='')}/fail", body)
            finally:
                for _, _, told in batch:
                    if not told.done():
                        told.set_result(None)
                    self.done.task_done()

    async def insist(self, path: str, body: Any) -> None:
        """Reports until the server has heard it. A repeated report is harmless: the token fences."""
        pause = PAUSE[0]
        while True:
            try:
                answer = await self.call(path, body)
                for item in (answer or {}).get("results", []):
                    if item.get("status", 200) >= 400:
                        log.warning("task %s: %s", item.get("id"), item.get("code"))
                return
            except Problem as why:
                log.warning("a report was refused: %s", why)
                return
            except Unavailable as why:
                log.warning("%s; reporting again", why)
                await asyncio.sleep(why.retry_after or pause * (0.5 + random.random()))
                pause = min(pause * 2, PAUSE[1])

    async def call(
        self, path: str, body: Any, http: Transport | None = None, timeout: float = 15.0
    ) -> Any:
        def send() -> Any:
            return (http or self.http).request("POST", API + path, body, timeout=timeout)

        return await asyncio.get_running_loop().run_in_executor(self.calls, send)


def _result(item: tuple[Task, Outcome, Any]) -> dict[str, Any]:
    task, outcome, _ = item
    result: dict[str, Any] = {"id": task.id, "leaseToken": task.lease_token}
    if outcome.failure is None:
        result["output"] = outcome.output
    else:
        result.update(outcome.failure)
    return result
