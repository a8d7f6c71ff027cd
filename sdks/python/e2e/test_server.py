"""Client and workers against the real server."""

import asyncio
import datetime
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

from meantime import Client, TaskFailed, Worker
from server import Server

PACKAGE = pathlib.Path(__file__).parent.parent


class AgainstTheServer(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.server.start()
        self.addCleanup(self.server.close)

    def client(self):
        client = Client(self.server.url)
        self.addCleanup(client.close)
        return client

    def test_the_example_runs(self):
        example = PACKAGE / "examples" / "greeter.py"
        done = subprocess.run(
            [sys.executable, example, self.server.url],
            env={**os.environ, "PYTHONPATH": str(PACKAGE / "src")},
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(done.stdout, "Hello, Ada!\n")

    def test_the_readme_runs_as_it_is_written(self):
        text = (PACKAGE / "README.md").read_text()
        blocks = re.findall(r"^```python\n# (\w+)\.py\n(.*?)^```$", text, re.M | re.S)
        code = {name: it.replace("http://127.0.0.1:8088", self.server.url) for name, it in blocks}
        run = [sys.executable, "-c"]
        env = {**os.environ, "PYTHONPATH": str(PACKAGE / "src")}
        worker = subprocess.Popen([*run, code["worker"]], env=env)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)
        done = subprocess.run([*run, code["start"]], env=env, capture_output=True, check=True)
        self.assertEqual(done.stdout, b"Hello, Ada!\n")
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(30), 0)

    def test_large_results_all_arrive_and_a_bad_one_fails_alone(self):
        worker = Worker(self.server.url, poll=1, concurrency=20)

        @worker.task("make")
        def make(input):
            bad = {"date": datetime.date(2026, 1, 2), "nan": float("nan"), "large": "x" * 2_000_000}
            return bad.get(input, "x" * 200_000)

        script = """
            let all = []
            for (let i = 0; i < 10; i += 1) { all.push(Task.run("make", "good")) }
            let sizes = []
            for (const it of await Promise.all(all)) { sizes.push(it.length) }
            let codes = []
            for (const bad of ["date", "nan", "large"]) {
              try { await Task.run("make", bad) } catch (error) { codes.push(error.code) }
            }
            return { sizes, codes }
        """
        client = self.client()
        client.deploy(script, name="makes")
        play = lambda: client.start("makes", wait="PT20S")
        output = asyncio.run(self.while_working(worker, play))["output"]
        self.assertEqual(output["sizes"], [200_000] * 10)
        self.assertEqual(output["codes"], ["RESULT_NOT_JSON", "RESULT_NOT_JSON", "RESULT_TOO_LARGE"])

    def test_a_failure_that_is_final_reaches_the_flow(self):
        worker = Worker(self.server.url, poll=1)

        @worker.task("refuse")
        def refuse(_):
            raise TaskFailed("over the limit", code="DECLINED", retryable=False)

        client = self.client()
        client.deploy('return await Task.run("refuse", Inputs)', name="refuses")
        instance = asyncio.run(self.while_working(worker, lambda: client.start("refuses", wait="PT20S")))
        self.assertEqual((instance["status"], instance["error"]["code"]), ("failed", "DECLINED"))

    def test_a_worker_survives_a_server_that_is_killed(self):
        worker = Worker(self.server.url, poll=1)

        @worker.task("double")
        async def double(input):
            return input["n"] * 2

        def play():
            with Client(self.server.url) as client:
                client.deploy('return await Task.run("double", Inputs)', name="doubles")
                first = client.start("doubles", {"n": 2}, wait="PT20S")
            self.server.kill()
            self.server.start()
            with Client(self.server.url) as client:
                second = client.start("doubles", {"n": 4}, wait="PT20S")
                again = client.instance(first["id"])
            return first["output"], second["output"], again["output"]

        self.assertEqual(asyncio.run(self.while_working(worker, play)), (4, 8, 4))

    @staticmethod
    async def while_working(worker, play):
        working = asyncio.create_task(worker.work())
        result = await asyncio.to_thread(play)
        worker.stop()
        await working
        return result


if __name__ == "__main__":
    unittest.main()
