"""Workers against a scripted server."""

import asyncio
import threading
import unittest

from fake_server import FakeServer, Tasks, all_good, task
from meantime import BpmnError, MeantimeError, TaskFailed, Worker

COMPLETE = "/api/v1/tasks/complete"


class Workers(unittest.TestCase):
    def setUp(self):
        self.server = FakeServer()
        self.addCleanup(self.server.close)
        self.server.on(COMPLETE, all_good)

    def hand_out(self, *tasks):
        handed = Tasks(*tasks)
        self.addCleanup(handed.over.set)
        self.server.on("/api/v1/tasks/claim", handed)
        return handed

    def work_until(self, worker, path):
        """Runs a worker until the server has received something, then stops it."""

        async def run():
            working = asyncio.create_task(worker.work())
            body = await asyncio.to_thread(self.server.wait_for, path)
            worker.stop()
            await working
            return body

        return asyncio.run(run())

    def test_results_of_coroutines_and_plain_functions_are_reported(self):
        self.hand_out(task(1, "plain", 20), task(2, "coroutine", 1))
        worker = Worker(self.server.url, token="mt_secret", concurrency=2)

        @worker.task("plain")
        def plain(number):
            return number + 1

        @worker.task("coroutine")
        async def coroutine(number, given):
            return [number, given.attempt, given.idempotency_key]

        self.work_until(worker, COMPLETE)
        reports = [it[2]["results"] for it in self.server.calls if it[1] == COMPLETE]
        results = {it["id"]: it for report in reports for it in report}
        self.assertEqual(results["tk_1"], {"id": "tk_1", "leaseToken": "1.1", "output": 21})
        self.assertEqual(results["tk_2"]["output"], [1, 1, "key-2"])
        self.assertEqual(self.server.calls[0][3]["authorization"], "Bearer mt_secret")

    def test_a_claim_asks_for_what_there_is_room_for(self):
        self.hand_out(task(1))
        worker = Worker(self.server.url, name="w", queues=["q"], concurrency=3, lease=9, poll=7)
        worker.task("work")(lambda _: None)
        self.work_until(worker, COMPLETE)
        claim = self.server.calls[0][2]
        self.assertEqual(
            claim,
            {
                "worker": "w",
                "types": ["work"],
                "queues": ["q"],
                "max": 3,
                "leaseMs": 9000,
                "waitMs": 7000,
            },
        )

    def test_an_exception_is_a_retryable_error(self):
        self.hand_out(task(1))
        worker = Worker(self.server.url)

        @worker.task("work")
        def fails(_):
            raise ValueError("no such order")

        body = self.work_until(worker, COMPLETE)
        error = {"code": "ValueError", "message": "no such order"}
        self.assertEqual(body["results"], [{"id": "tk_1", "leaseToken": "1.1", "error": error}])

    def test_a_final_failure_says_so(self):
        self.hand_out(task(1))
        self.server.on("/api/v1/tasks/tk_1/fail", lambda body: (200, {}))
        worker = Worker(self.server.url)

        @worker.task("work")
        def fails(_):
            raise TaskFailed("card refused", code="DECLINED", data={"why": "limit"}, retryable=False)

        body = self.work_until(worker, "/api/v1/tasks/tk_1/fail")
        self.assertEqual(
            body,
            {
                "leaseToken": "1.1",
                "error": {"code": "DECLINED", "message": "card refused", "data": {"why": "limit"}},
                "retryable": False,
            },
        )

    def test_a_bpmn_error_is_thrown_into_the_process(self):
        self.hand_out(task(1))
        self.server.on("/api/v1/tasks/tk_1/fail", lambda body: (200, {}))
        worker = Worker(self.server.url)

        @worker.task("work")
        def fails(_):
            raise BpmnError("OUT_OF_STOCK", variables={"left": 0})

        body = self.work_until(worker, "/api/v1/tasks/tk_1/fail")
        thrown = {"code": "OUT_OF_STOCK", "variables": {"left": 0}}
        self.assertEqual(body, {"leaseToken": "1.1", "bpmnError": thrown})

    def test_a_long_task_keeps_its_lease(self):
        self.hand_out(task(1))
        extended = threading.Event()

        def extend(body):
            extended.set()
            return 200, {"leaseUntil": "2026-01-01T00:01:00Z"}

        self.server.on("/api/v1/tasks/tk_1/extend", extend)
        worker = Worker(self.server.url, lease=0.03)

        @worker.task("work")
        def slow(_):
            return extended.wait(30)

        body = self.work_until(worker, COMPLETE)
        self.assertIs(body["results"][0]["output"], True)

    def test_a_lost_lease_cancels_the_work_and_nothing_is_reported(self):
        self.hand_out(task(1))
        lost = {"code": "lease_lost", "title": "the lease is lost"}
        self.server.on("/api/v1/tasks/tk_1/extend", lambda body: (409, lost))
        worker = Worker(self.server.url, lease=0.03)
        cancelled = threading.Event()

        @worker.task("work")
        async def endless(_, given):
            try:
                await asyncio.Event().wait()
            finally:
                self.assertTrue(given.cancelled)
                cancelled.set()

        async def run():
            working = asyncio.create_task(worker.work())
            await asyncio.to_thread(cancelled.wait, 30)
            worker.stop()
            await working

        asyncio.run(run())
        self.assertTrue(cancelled.is_set())
        self.assertNotIn(COMPLETE, [it[1] for it in self.server.calls])

    def test_a_server_that_is_away_is_asked_again(self):
        handed = self.hand_out(task(1))
        refusals = iter([(503, {}), (503, {})])
        self.server.on("/api/v1/tasks/claim", lambda body: next(refusals, None) or handed(body))
        reports = iter([(503, {})])
        self.server.on(COMPLETE, lambda body: next(reports, None) or all_good(body))
        worker = Worker(self.server.url)
        worker.task("work")(lambda _: "done")
        asyncio.run(self.until_reported_twice(worker))
        reported = [it[2] for it in self.server.calls if it[1] == COMPLETE]
        self.assertEqual(len(reported), 2)
        self.assertEqual(reported[0], reported[1])

    async def until_reported_twice(self, worker):
        working = asyncio.create_task(worker.work())
        await asyncio.to_thread(self.server.wait_for, COMPLETE)
        # Stopping waits for running tasks, including the second report.
        worker.stop()
        await working

    def test_mistakes_in_the_set_up_are_told_at_once(self):
        with self.assertRaisesRegex(MeantimeError, "not the address"):
            Worker("localhost:8088")
        with self.assertRaisesRegex(MeantimeError, "above zero"):
            Worker(self.server.url, concurrency=0)
        worker = Worker(self.server.url)
        with self.assertRaisesRegex(MeantimeError, "no task function"):
            asyncio.run(worker.work())
        worker.task("work")(lambda _: None)
        with self.assertRaisesRegex(MeantimeError, "two functions"):
            worker.task("work")(lambda _: None)


if __name__ == "__main__":
    unittest.main()
