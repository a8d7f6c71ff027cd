"""Results that are not JSON, too many, or too large."""

import asyncio
import datetime
import threading
import unittest

from fake_server import all_good
from meantime import BpmnError, Client, NotJson, TaskFailed, Worker
from working import COMPLETE, WorkerCase

CYCLE = {"name": "ring"}
CYCLE["next"] = [CYCLE]

DEEP = []
for _ in range(100_000):
    DEEP = [DEEP]

#: Results that are not JSON, and their error messages.
NOT_JSON = [
    (lambda: {"when": datetime.datetime(2026, 1, 2)}, "$.when is a datetime"),
    (lambda: asyncio.sleep(0), "$ is a coroutine; declare the function with `async def`"),
    (lambda: [1, float("nan")], "$[1] is nan"),
    (lambda: {"a": {"b": float("-inf")}}, "$.a.b is -inf"),
    (lambda: CYCLE, "$.next[0] contains itself"),
    (lambda: {"ids": {1, 2}}, "$.ids is a set"),
    (lambda: b"text", "$ is a bytes"),
    (lambda: {("a", 1): 1}, "a key of $ is a tuple"),
    (lambda: DEEP, "is nested too deeply"),
]


class Results(WorkerCase):
    def test_a_result_that_is_not_json_fails_its_task_and_no_other(self):
        count = len(NOT_JSON) + 1
        together = threading.Barrier(count)

        def work(number):
            together.wait(30)
            return "good" if number == count else NOT_JSON[number - 1][0]()

        self.work(count, work)
        outputs = {it: each["output"] for it, each in self.server.results().items()}
        self.assertEqual(outputs, {f"tk_{count}": "good"})
        failures = self.server.failures()
        for number, (_, text) in enumerate(NOT_JSON, 1):
            failure = failures[f"tk_{number}"]
            self.assertEqual(failure["error"]["code"], "RESULT_NOT_JSON")
            self.assertIn(text, failure["error"]["message"])
            self.assertIs(failure["retryable"], False)

    def test_a_coroutines_result_is_held_to_the_same_rule(self):
        async def work(number):
            return {"when": datetime.date(2026, 1, 2)} if number == 1 else number

        self.work(2, work)
        self.assertEqual(self.server.results()["tk_2"]["output"], 2)
        self.assertEqual(self.server.failures()["tk_1"]["error"]["code"], "RESULT_NOT_JSON")

    def test_the_data_of_a_failure_that_is_not_json_is_left_out(self):
        def work(number):
            if number == 1:
                raise TaskFailed("no", code="DECLINED", data={1, 2}, retry_after="PT1S")
            raise BpmnError("OUT", variables={"x": object()})

        self.work(2, work)
        failures = self.server.failures()
        self.assertEqual(failures["tk_1"]["error"]["code"], "DECLINED")
        self.assertIn("$ is a set", failures["tk_1"]["error"]["message"])
        self.assertEqual(failures["tk_1"]["retryAfter"], "PT1S")
        self.assertEqual(failures["tk_2"]["error"]["code"], "RESULT_NOT_JSON")

    def test_ten_results_of_200_kb_all_arrive(self):
        together = threading.Barrier(10)

        def work(number):
            together.wait(30)
            return str(number) * 200_000

        self.work(10, work)
        self.assertEqual(self.outputs(), {f"tk_{n}": len(str(n)) * 200_000 for n in range(1, 11)})
        self.assertEqual(self.server.failures(), {})

    def test_a_result_that_is_alone_too_large_fails_its_task_and_no_other(self):
        self.work(2, lambda number: "x" * (2_000_000 if number == 1 else 10))
        self.assertEqual(self.outputs(), {"tk_2": 10})
        failure = self.server.failures()["tk_1"]
        self.assertEqual(failure["error"]["code"], "RESULT_TOO_LARGE")
        self.assertIs(failure["retryable"], False)

    def test_a_failure_that_is_too_large_keeps_its_meaning(self):
        def work(number):
            if number == 1:
                raise ValueError("x" * 2_000_000)
            raise TaskFailed("much", code="MUCH", data="x" * 2_000_000, retryable=False)

        self.work(2, work)
        error = self.server.results()["tk_1"]["error"]
        self.assertEqual(error["code"], "ValueError")
        self.assertLess(len(error["message"]), 2_000)
        failure = self.server.failures()["tk_2"]
        self.assertEqual((failure["error"]["code"], failure["retryable"]), ("MUCH", False))

    def test_a_server_with_a_lower_limit_gets_smaller_reports(self):
        self.server.max_body_bytes = 300_000
        together = threading.Barrier(6)

        def work(number):
            together.wait(30)
            return "x" * (400_000 if number == 1 else 100_000)

        self.work(6, work)
        self.assertEqual(self.outputs(), {f"tk_{n}": 100_000 for n in range(2, 7)})
        self.assertEqual(self.server.failures()["tk_1"]["error"]["code"], "RESULT_TOO_LARGE")

    def test_a_result_that_the_server_refuses_fails_its_task_and_no_other(self):
        together = threading.Barrier(5)

        def complete(body):
            if any(it["output"] == 3 for it in body["results"]):
                return 400, {"code": "invalid_body", "detail": "three"}
            return all_good(body)

        def work(number):
            together.wait(30)
            return number

        self.server.on(COMPLETE, complete)
        self.tasks_heard_fully(5, work)
        self.assertEqual(self.good, {"tk_1", "tk_2", "tk_4", "tk_5"})
        error = self.server.failures()["tk_3"]["error"]
        self.assertEqual(error["code"], "RESULT_REFUSED")
        self.assertIn("invalid_body: three", error["message"])

    def test_a_result_that_breaks_the_server_holds_up_no_other(self):
        together = threading.Barrier(5)
        broken = iter(range(12))

        def complete(body):
            if any(it["output"] == 3 for it in body["results"]) and next(broken, None) is not None:
                return 500, {"code": "internal"}
            return all_good(body)

        def work(number):
            together.wait(30)
            return number

        self.server.on(COMPLETE, complete)
        self.tasks_heard_fully(5, work)
        self.assertEqual(self.good, {f"tk_{n}" for n in range(1, 6)})

    def test_only_what_was_not_heard_is_reported_again(self):
        unheard = {"tk_1": 503, "tk_2": None}

        def complete(body):
            items = [{"id": it["id"], "status": unheard.pop(it["id"], 200)} for it in body["results"]]
            return 200, {"results": [it for it in items if it["status"]]}

        together = threading.Barrier(3)
        self.server.on(COMPLETE, complete)

        def work(number):
            together.wait(30)
            return number

        self.work(3, work)
        reported = [it["id"] for body in self.server.bodies(COMPLETE) for it in body["results"]]
        self.assertEqual(sorted(reported), ["tk_1", "tk_1", "tk_2", "tk_2", "tk_3"])

    def test_a_client_says_what_is_not_json_before_it_sends(self):
        with Client(self.server.url) as client:
            with self.assertRaisesRegex(NotJson, r"\$\.input\.at is a date"):
                client.start("checkout", {"at": datetime.date(2026, 1, 2)})
        self.assertEqual(self.server.calls, [])

    def outputs(self):
        results = self.server.results().values()
        return {it["id"]: len(it["output"]) for it in results if "output" in it}

    def tasks_heard_fully(self, count, function):
        """Runs until every task has an accepted result or a failure."""
        self.good = set()
        answer = self.server._answers[COMPLETE]

        def complete(body):
            status, told = answer(body)
            if status == 200:
                self.good |= {it["id"] for it in told["results"]}
            return status, told

        self.server.on(COMPLETE, complete)
        self.tasks(count)
        worker = Worker(self.server.url, concurrency=count)
        worker.task("work")(function)
        self.work_until(worker, lambda: len(self.good | {*self.server.failures()}) == count)


if __name__ == "__main__":
    unittest.main()
