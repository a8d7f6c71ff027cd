"""Task functions run without a server."""

import unittest

from meantime import MeantimeError, TaskFailed, Worker
from meantime.testing import run_task

worker = Worker("http://127.0.0.1:8088")


@worker.task("double")
def double(number):
    return number * 2


@worker.task("refuse")
async def refuse(_, task):
    raise TaskFailed(f"attempt {task.attempt}", retryable=False)


class TestMode(unittest.TestCase):
    def test_output_and_failure(self):
        self.assertEqual(run_task(worker, "double", 21).output, 42)
        failure = run_task(worker, "refuse", attempt=3).failure
        self.assertEqual(failure["error"]["message"], "attempt 3")
        self.assertIs(failure["retryable"], False)

    def test_an_unknown_type_names_those_there_are(self):
        with self.assertRaisesRegex(MeantimeError, "double"):
            run_task(worker, "treble")


if __name__ == "__main__":
    unittest.main()
