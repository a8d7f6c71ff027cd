"""Client and workers against the real server."""

import asyncio
import os
import pathlib
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
