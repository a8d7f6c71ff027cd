"""Shared by tests of workers: a scripted server, and a worker that runs until a condition."""

import asyncio
import logging
import unittest
from unittest import mock

from fake_server import FakeServer, Tasks, all_good, task
from meantime import Worker

CLAIM = "/api/v1/tasks/claim"
COMPLETE = "/api/v1/tasks/complete"


class WorkerCase(unittest.TestCase):
    """A scripted server, and pauses that take no time and record the server's ``Retry-After``."""

    def setUp(self):
        self.server = FakeServer()
        self.addCleanup(self.server.close)
        self.server.on(COMPLETE, all_good)
        for number in range(1, 30):
            self.server.on(f"/api/v1/tasks/tk_{number}/fail", lambda body: (200, {}))
        self.asked = []
        patch = mock.patch("meantime._backoff.Backoff.next", self._next)
        patch.start()
        self.addCleanup(patch.stop)
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)

    def _next(self, retry_after=None):
        self.asked.append(retry_after)
        return 0

    def hand_out(self, *tasks):
        handed = Tasks(*tasks)
        self.addCleanup(handed.over.set)
        self.server.on(CLAIM, handed)
        return handed

    def tasks(self, count, type="work"):
        return self.hand_out(*(task(number, type, number) for number in range(1, count + 1)))

    def heard(self):
        """Tasks with a reported result or failure."""
        return {*self.server.results(), *self.server.failures()}

    def work_until(self, worker, is_so):
        """Runs a worker until a condition is true, then stops it and waits for its end."""

        async def run():
            working = asyncio.create_task(worker.work())
            looking = asyncio.ensure_future(asyncio.to_thread(self.server.wait_until, is_so))
            await asyncio.wait({working, looking}, return_when=asyncio.FIRST_COMPLETED)
            self.assertFalse(working.done(), f"the worker ended: {working}")
            await looking
            worker.stop()
            await working

        asyncio.run(run())

    def work(self, count, function, **options):
        """Runs a worker until this many tasks are reported."""
        self.tasks(count)
        worker = Worker(self.server.url, **{"concurrency": count, **options})
        worker.task("work")(function)
        self.work_until(worker, lambda: len(self.heard()) == count)
