"""A server that fails, disconnects or sends invalid answers ends no worker and loses no result."""

import asyncio
import email.utils
import socket
import threading
import time
import unittest

from fake_server import DROPPED, all_good, task
from meantime import Problem, Unavailable, Worker
from meantime._backoff import LONGEST, RETRY_AFTER_LONGEST, Backoff
from meantime._http import Transport
from working import CLAIM, COMPLETE, WorkerCase

#: Answers of a failing server, or of a proxy in front of it.
TROUBLE = {
    "internal error": (500, {"code": "internal"}),
    "a proxy without a server": (502, b"<html>Bad Gateway</html>"),
    "overloaded": (503, {}),
    "a proxy that gave up": (504, None),
    "not asked for": (520, None),
    "too many": (429, {}),
    "too slow": (408, {"code": "slow_request"}),
    "closed": DROPPED,
    "cut off": (200, b'{"results":[', {"content-length": "1000"}),
    "not JSON": (200, b"<html>Welcome</html>"),
    "empty": (200, None),
    "something else": (200, ["a", "b"]),
}


class Outages(WorkerCase):
    def each_trouble(self, *without):
        """Sub-tests, each with a new server."""
        for name, answer in TROUBLE.items():
            if name not in without:
                with self.subTest(name):
                    self.server.calls.clear()
                    yield answer

    def twice(self, answer, good):
        """Fails twice, then succeeds."""
        left = iter([answer, answer])
        return lambda body: next(left, None) or good(body)

    def test_a_claim_is_repeated(self):
        for answer in self.each_trouble():
            self.server.on(CLAIM, self.twice(answer, self.hand_out(task(1))))
            worker = Worker(self.server.url)
            worker.task("work")(lambda _: "done")
            self.work_until(worker, self.heard)
            self.assertEqual(self.server.results()["tk_1"]["output"], "done")

    def test_a_result_is_reported_until_it_was_heard(self):
        for answer in self.each_trouble():
            self.server.on(COMPLETE, self.twice(answer, all_good))
            self.work(1, lambda _: "done")
            reports = self.server.bodies(COMPLETE)
            self.assertGreaterEqual(len(reports), 3)
            self.assertEqual(reports[0], reports[-1])

    def test_a_failure_is_reported_until_it_was_heard(self):
        path = "/api/v1/tasks/tk_1/fail"
        # The answer to a failure has only a status.
        for answer in self.each_trouble("empty", "something else"):
            self.server.on(path, self.twice(answer, lambda body: (200, {})))
            self.work(1, lambda _: object())
            self.assertGreaterEqual(len(self.server.bodies(path)), 3)

    def test_a_lease_is_extended_until_that_was_heard(self):
        for answer in self.each_trouble():
            extended = threading.Event()

            def extend(body):
                extended.set()
                return 200, {"leaseUntil": "2026-01-01T00:01:00Z"}

            self.server.on("/api/v1/tasks/tk_1/extend", self.twice(answer, extend))
            self.work(1, lambda _: extended.wait(30), lease=0.03)
            self.assertIs(self.server.results()["tk_1"]["output"], True)

    def test_a_lease_is_extended_while_its_result_waits_to_be_heard(self):
        extended = threading.Event()

        def extend(body):
            extended.set()
            return 200, {"leaseUntil": "2026-01-01T00:01:00Z"}

        def complete(body):
            return all_good(body) if extended.is_set() else (503, {})

        self.server.on("/api/v1/tasks/tk_1/extend", extend)
        self.server.on(COMPLETE, complete)
        self.work(1, lambda _: "done", lease=0.3)
        self.assertTrue(extended.is_set())

    def test_a_second_report_of_the_same_attempt_counts_as_heard(self):
        lost = {"id": "tk_1", "status": 409, "code": "lease_lost"}
        answer = (200, {"results": [lost]})
        self.server.on(COMPLETE, self.twice(DROPPED, lambda body: answer))
        self.work(1, lambda _: "done")
        self.assertEqual(self.server.failures(), {})
        self.server.calls.clear()
        path = "/api/v1/tasks/tk_1/fail"
        self.server.on(path, self.twice(DROPPED, lambda body: (409, lost)))
        self.work(1, lambda _: object())
        self.assertGreaterEqual(len(self.server.bodies(path)), 3)

    def test_what_the_server_asks_to_wait_is_waited(self):
        date = email.utils.formatdate(time.time() + 3600, usegmt=True)
        for text, low, high in (("7", 7, 7), ("0.5", 0.5, 0.5), (date, 3500, 3601)):
            for path, good in ((CLAIM, None), (COMPLETE, all_good)):
                self.asked.clear()
                self.server.calls.clear()
                handed = self.tasks(1)
                answer = (429, {}, {"retry-after": text})
                self.server.on(path, self.twice(answer, good or handed))
                worker = Worker(self.server.url)
                worker.task("work")(lambda _: "done")
                self.work_until(worker, self.heard)
                asked = [it for it in self.asked if it is not None]
                self.assertEqual(len(asked), 2)
                self.assertTrue(all(low <= it <= high for it in asked), asked)

    def test_a_refused_claim_ends_a_worker_only_when_nothing_ever_worked(self):
        refused = (403, {"code": "forbidden", "detail": "no"})
        self.server.on(CLAIM, lambda body: refused)
        worker = Worker(self.server.url)
        worker.task("work")(lambda _: "done")
        with self.assertRaisesRegex(Problem, "forbidden"):
            asyncio.run(worker.work())
        answers = iter([(200, {"tasks": []}), refused, (404, b"a proxy lost its way")])
        handed = self.hand_out(task(1))
        self.server.on(CLAIM, lambda body: next(answers, None) or handed(body))
        self.work_until(worker, self.heard)

    def test_a_stopped_worker_claims_nothing_more(self):
        handed = self.tasks(0)
        worker = Worker(self.server.url)
        worker.task("work")(lambda _: "done")
        self.work_until(worker, lambda: self.server.bodies(CLAIM))
        handed.over.set()
        self.assertEqual(len(self.server.bodies(CLAIM)), 1)


class Pauses(unittest.TestCase):
    def test_pauses_grow_with_jitter_up_to_a_limit(self):
        backoff = Backoff()
        pauses = [backoff.next() for _ in range(20)]
        for number, pause in enumerate(pauses):
            middle = min(0.1 * 2**number, LONGEST)
            self.assertTrue(middle * 0.5 <= pause <= middle * 1.5, pauses)
        backoff.reset()
        self.assertLess(backoff.next(), 0.2)

    def test_no_pause_is_shorter_than_what_was_asked_for_within_reason(self):
        self.assertGreaterEqual(Backoff().next(7), 7)
        self.assertLess(Backoff().next(1_000_000), RETRY_AFTER_LONGEST * 1.2)


class SlowAnswers(WorkerCase):
    def test_an_answer_that_comes_byte_by_byte_ends_at_the_timeout(self):
        """The timeout of a socket alone would start again with each byte."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            over = threading.Event()

            def drip():
                connection, _ = listening.accept()
                with connection:
                    connection.recv(65536)
                    try:
                        while not over.wait(0.01):
                            connection.sendall(b"H")
                    except OSError:
                        pass

            dripping = threading.Thread(target=drip)
            dripping.start()
            transport = Transport(f"http://127.0.0.1:{listening.getsockname()[1]}")
            try:
                with self.assertRaisesRegex(Unavailable, "timed out"):
                    transport.request("GET", "/", timeout=0.3)
            finally:
                over.set()
                transport.close()
                dripping.join()


if __name__ == "__main__":
    unittest.main()
