"""What ends a worker, and what does not."""

import asyncio
import os
import pathlib
import signal
import subprocess
import sys
import unittest

from fake_server import FakeServer, Tasks, all_good, task
from working import COMPLETE, WorkerCase

PACKAGE = pathlib.Path(__file__).parent.parent


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


#: What functions may throw, and the reported code.
THROWN = [
    (SystemExit(3), "SystemExit", "sys.exit(3)"),
    (KeyboardInterrupt(), "KeyboardInterrupt", ""),
    (asyncio.CancelledError(), "CancelledError", "cancelled from inside"),
    (StopIteration("end"), "StopIteration", "end"),
    (BaseException("bare"), "BaseException", "bare"),
    (Unprintable(), "Unprintable", "whose text cannot be had"),
]


class Throwing(WorkerCase):
    def reported(self):
        found = {}
        for number, (_, code, text) in enumerate(THROWN, 1):
            error = self.server.results()[f"tk_{number}"]["error"]
            # A coroutine cannot raise StopIteration: Python turns it into a RuntimeError.
            self.assertIn(error["code"], (code, "RuntimeError"))
            self.assertIn(text if error["code"] == code else "", error["message"])
            found[f"tk_{number}"] = error["code"]
        return found

    def test_whatever_a_plain_function_throws_is_a_failed_attempt(self):
        def work(number):
            if number <= len(THROWN):
                raise THROWN[number - 1][0]
            return "good"

        self.work(len(THROWN) + 1, work)
        self.assertEqual([*self.reported().values()], [it[1] for it in THROWN])
        self.assertEqual(self.server.results()[f"tk_{len(THROWN) + 1}"]["output"], "good")

    def test_whatever_a_coroutine_throws_is_a_failed_attempt(self):
        async def work(number):
            if number <= len(THROWN):
                raise THROWN[number - 1][0]
            return "good"

        self.work(len(THROWN) + 1, work)
        self.reported()
        self.assertEqual(self.server.results()[f"tk_{len(THROWN) + 1}"]["output"], "good")


CHILD = """
import asyncio, sys, threading
from meantime import Worker

class Told(Worker):
    def stop(self):
        super().stop()
        print("stopping", flush=True)

worker = Told(sys.argv[1], grace=float(sys.argv[3]))

def blocked(_):
    print("running", flush=True)
    threading.Event().wait()

@worker.task("finishes")
def finishes(_):
    print("running", flush=True)
    return sys.stdin.readline().strip()

worker.task("plain")(blocked)

@worker.task("thread")
async def thread(_):
    await asyncio.to_thread(blocked, None)

@worker.task("loop")
async def loop(_):
    print("running", flush=True)
    while True:
        pass

worker.run()
print("left", flush=True)
"""


@unittest.skipIf(os.name == "nt", "signals as POSIX has them")
class Signals(unittest.TestCase):
    def setUp(self):
        self.server = FakeServer()
        self.addCleanup(self.server.close)
        self.server.on(COMPLETE, all_good)
        self.server.on("/api/v1/tasks/tk_1/extend", lambda body: (200, {}))

    def start(self, type, grace):
        handed = Tasks(task(1, type))
        self.addCleanup(handed.over.set)
        self.server.on("/api/v1/tasks/claim", handed)
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, self.server.url, type, str(grace)],
            env={**os.environ, "PYTHONPATH": str(PACKAGE / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(self.end, child)
        self.assertEqual(child.stdout.readline(), "running\n")
        return child

    @staticmethod
    def end(child):
        child.kill()
        child.communicate()

    def test_the_first_signal_lets_running_tasks_finish(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            child = self.start("finishes", 60)
            child.send_signal(number)
            self.assertEqual(child.stdout.readline(), "stopping\n")
            out, err = child.communicate("done\n", timeout=30)
            self.assertEqual((child.returncode, out), (0, "left\n"), err)
            self.assertEqual(self.server.results()["tk_1"]["output"], "done")

    def test_a_second_signal_ends_the_process(self):
        for type in ("plain", "thread"):
            with self.subTest(type):
                child = self.start(type, 60)
                child.send_signal(signal.SIGTERM)
                self.assertEqual(child.stdout.readline(), "stopping\n")
                child.send_signal(signal.SIGTERM)
                out, err = child.communicate(timeout=30)
                self.assertEqual((child.returncode, out), (128 + signal.SIGTERM, ""), err)
                self.assertIn("a second signal", err)

    def test_the_end_of_the_grace_period_ends_the_process(self):
        for type in ("plain", "thread", "loop"):
            with self.subTest(type):
                child = self.start(type, 0.1)
                child.send_signal(signal.SIGINT)
                _, err = child.communicate(timeout=30)
                self.assertEqual(child.returncode, 128 + signal.SIGINT, err)
                self.assertIn("tasks still run after 0.1 seconds of grace", err)


if __name__ == "__main__":
    unittest.main()
