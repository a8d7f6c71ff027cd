"""Reports the results of tasks to the server until it has answered.

    result ──> waiting ──> batches below the body limit ──> /tasks/complete
                      └──> failures with more than an error ──> /tasks/{id}/fail

Results are collected while a report is in flight and sent together. A report that the server does
not answer is repeated with back-off; the lease token is a fence, so a second report has no effect
and is answered with `lease_lost`. A batch that fails repeatedly is halved, so that one bad result
cannot block the others. A result that the server rejects fails its own task.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Iterable
from urllib.parse import quote

from ._backoff import Backoff
from ._json import encode
from ._outcome import Outcome, final
from .errors import Problem, Unavailable
from .task import Task

log = logging.getLogger("meantime")

#: The most results in one report.
BATCH = 100

#: The body of a batch around its results.
HEAD, TAIL = b'{"results":[', b"]}"

#: Characters of an error's message that are kept when the error is too large.
MESSAGE_KEPT = 1_000

RESULT_TOO_LARGE = "RESULT_TOO_LARGE"
RESULT_REFUSED = "RESULT_REFUSED"

Post = Callable[[str, bytes], Awaitable[Any]]


@dataclass(eq=False)
class Report:
    """The result of one task until the server has answered."""

    task: Task
    outcome: Outcome
    told: asyncio.Future[None]
    body: bytes = b""
    #: Whether it replaces a rejected result: then it is not replaced again.
    replaced: bool = False

    @property
    def is_over(self) -> bool:
        return self.told.done() or self.task.cancelled

    @property
    def alone(self) -> bool:
        return not self.outcome.is_simple

    def end(self) -> None:
        if not self.told.done():
            self.told.set_result(None)


class Reporter:
    """Reports results in batches."""

    def __init__(self, post: Post, max_body_bytes: int) -> None:
        self._post = post
        self._limit = max_body_bytes
        self._waiting: deque[Report] = deque()
        self._more = asyncio.Event()
        self._in_flight: set[asyncio.Task[None]] = set()

    async def report(self, task: Task, outcome: Outcome) -> None:
        """Returns when the server has answered, or when the outcome is no longer needed."""
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._add(Report(task, outcome, told))
        cancelled = asyncio.ensure_future(task.wait_cancelled())
        try:
            await asyncio.wait({told, cancelled}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            cancelled.cancel()

    async def run(self) -> None:
        """Sends waiting results until cancelled, one round at a time, so that results are
        collected; a report that has to be repeated does not delay the next round."""
        try:
            while True:
                await self._more.wait()
                self._more.clear()
                while self._waiting:
                    tried = [self._begin(batch) for batch in self._take()]
                    await asyncio.gather(*(it.wait() for it in tried))
        finally:
            for delivery in self._in_flight:
                delivery.cancel()

    def _add(self, report: Report) -> None:
        report.body = _body(report)
        room = self._limit - len(HEAD) - len(TAIL)
        if len(report.body) > room:
            report.outcome = _smaller(report.outcome, len(report.body), room)
            report.replaced = True
            report.body = _body(report)
        self._waiting.append(report)
        self._more.set()

    def _take(self) -> Iterable[list[Report]]:
        """Takes all waiting results: in batches, or singly where a batch cannot carry them."""
        batch: list[Report] = []
        size = len(HEAD) + len(TAIL)
        while self._waiting:
            report = self._waiting.popleft()
            if report.alone:
                yield [report]
                continue
            more = len(report.body) + 1
            if batch and (len(batch) == BATCH or size + more > self._limit):
                yield batch
                batch, size = [], len(HEAD) + len(TAIL)
            batch.append(report)
            size += more
        if batch:
            yield batch

    def _begin(self, batch: list[Report]) -> asyncio.Event:
        """Starts a delivery; the event is set after the first attempt."""
        tried = asyncio.Event()
        delivery = asyncio.create_task(self._deliver(batch, tried))
        self._in_flight.add(delivery)

        def over(ended: asyncio.Task[None]) -> None:
            self._in_flight.discard(ended)
            tried.set()
            if not ended.cancelled() and ended.exception():
                log.error("a report was given up", exc_info=ended.exception())
                for report in batch:
                    report.end()

        delivery.add_done_callback(over)
        return tried

    async def _deliver(self, batch: list[Report], tried: asyncio.Event) -> None:
        backoff, failures = Backoff(), 0
        while batch := [it for it in batch if not it.is_over]:
            after = None
            try:
                batch = await self._try(batch)
                if not batch:
                    return
                why = "not all results were heard"
            except Unavailable as unavailable:
                why, after = str(unavailable), unavailable.retry_after
            except Problem as problem:
                if _is_about_content(problem) and len(batch) > 1:
                    self._halve(batch)
                    return
                if len(batch) == 1 and (_is_about_content(problem) or is_over(problem)):
                    self._settle(batch[0], problem.status, problem.code, problem.detail)
                    return
                # A wrong token or a misrouting proxy: may be corrected while the lease lasts.
                why = str(problem)
                batch = [it for it in batch if not self._lease_ended(it, why)]
            log.warning("%s; reporting again", why)
            tried.set()
            failures += 1
            await asyncio.sleep(backoff.next(after))
            if failures > 1 and len(batch) > 1:
                self._halve(batch)
                return

    async def _try(self, batch: list[Report]) -> list[Report]:
        """Sends a batch and returns the results without an answer."""
        if batch[0].alone:
            await self._post(f"/tasks/{quote(batch[0].task.id, safe='')}/fail", batch[0].body)
            batch[0].end()
            return []
        answer = await self._post("/tasks/complete", HEAD + b",".join(it.body for it in batch) + TAIL)
        items = answer.get("results") if isinstance(answer, dict) else None
        heard = {it.get("id"): it for it in items or [] if isinstance(it, dict)}
        left = []
        for report in batch:
            item = heard.get(report.task.id)
            status = item.get("status", 200) if item else 503
            if status >= 500 or status in (408, 429):
                left.append(report)
            else:
                code, detail = item.get("code", ""), item.get("detail", "")
                self._settle(report, status, code, detail)
        return left

    def _settle(self, report: Report, status: int, code: str, detail: str) -> None:
        """The server has decided about a result."""
        if status < 400:
            report.end()
        elif status in (404, 409, 410):
            # An earlier report of this attempt was accepted, or the task has ended without it.
            log.info("task %s: %s", report.task.id, code)
            report.end()
        elif report.replaced:
            log.error("task %s: its failure was refused: %s %s", report.task.id, code, detail)
            report.end()
        else:
            log.error("task %s: its result was refused: %s %s", report.task.id, code, detail)
            name = RESULT_TOO_LARGE if status == 413 else RESULT_REFUSED
            text = f"the server refused the result: {code}: {detail}"
            replacement = Outcome(failure=final(name, text))
            again = Report(report.task, replacement, report.told, replaced=True)
            self._add(again)

    def _halve(self, batch: list[Report]) -> None:
        middle = len(batch) // 2
        for half in (batch[:middle], batch[middle:]):
            self._begin(half)

    @staticmethod
    def _lease_ended(report: Report, why: str) -> bool:
        if not report.task.lease_ended:
            return False
        log.error("task %s: its result is lost with its lease: %s", report.task.id, why)
        report.end()
        return True


def _body(report: Report) -> bytes:
    """A result in a batch, or the body of ``/fail``."""
    task, outcome = report.task, report.outcome
    if outcome.failure is None:
        head = encode({"id": task.id, "leaseToken": task.lease_token})
        return head[:-1] + b',"output":' + outcome.encoded + b"}"
    if report.alone:
        return encode({"leaseToken": task.lease_token, **outcome.failure})
    return encode({"id": task.id, "leaseToken": task.lease_token, **outcome.failure})


def _smaller(outcome: Outcome, size: int, limit: int) -> Outcome:
    """The report that replaces a result which is too large for any report."""
    text = f"a report of {size} bytes is too large, {limit} are allowed"
    error = (outcome.failure or {}).get("error")
    if outcome.failure is None or error is None:
        return Outcome(failure=final(RESULT_TOO_LARGE, text))
    # A failure keeps its code and loses its data.
    message = f"{error['message'][:MESSAGE_KEPT]} (shortened: {text})"
    shortened = {"code": error["code"][:MESSAGE_KEPT], "message": message}
    return Outcome(failure={**outcome.failure, "error": shortened})


def _is_about_content(problem: Problem) -> bool:
    """Whether the server rejects the content, not the credentials or the address."""
    return problem.status in (400, 413, 415, 422)


def is_over(problem: Problem) -> bool:
    """Whether the server answers that this worker no longer holds the task. A 404 without the
    server's own code comes from a proxy and does not count."""
    return problem.status in (404, 409, 410) and problem.code not in ("unknown", "not_found")
