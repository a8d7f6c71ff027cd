"""The Python worker of the run: does what its input asks for and logs each execution."""

import asyncio
import datetime
import logging
import sys

from meantime import TaskFailed, Worker

logging.disable(logging.CRITICAL)
url, journal = sys.argv[1], open(sys.argv[2], "a", buffering=1)
worker = Worker(url, concurrency=16, lease=2.0, poll=1.0)


@worker.task("fuzz")
async def fuzz(input, task):
    journal.write(f"begin {task.id} {task.headers['token']}\n")
    await asyncio.sleep(input["ms"] / 1000)
    journal.write(f"end {task.id} {task.headers['token']}\n")
    if input["kind"] == "date":
        return {"at": datetime.date(2026, 1, 2)}
    if input["kind"] == "retry" and task.attempt == 1:
        raise TaskFailed("once more", code="AGAIN", retry_after="PT0S")
    return {"n": input["n"], "pad": "x" * input["bytes"]}


worker.run()
