"""A worker of Temporal that also answers HTTP: it starts a workflow and waits for its result."""

from __future__ import annotations

import argparse
import asyncio
import itertools
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

# The sandbox of workflows would load it again for each of them, which it does not allow.
with workflow.unsafe.imports_passed_through():
    import uvicorn

QUEUE = "peers"


@activity.defn
async def noop() -> int:
    """An activity that does nothing."""
    return 1


@workflow.defn
class One:
    """One activity."""

    @workflow.run
    async def run(self) -> int:
        """Runs it."""
        return await workflow.execute_activity(noop, start_to_close_timeout=timedelta(minutes=1))


@workflow.defn
class Five:
    """Five activities in a row."""

    @workflow.run
    async def run(self) -> int:
        """Runs them."""
        total = 0
        for _ in range(5):
            timeout = timedelta(minutes=1)
            total += await workflow.execute_activity(noop, start_to_close_timeout=timeout)
        return total


WORKFLOWS: dict[str, Any] = {"/one": One.run, "/five": Five.run}


class Application:
    """Runs the workflow that the path names, and answers with its result."""

    def __init__(self, client: Client) -> None:
        self._client, self._numbers = client, itertools.count()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        run, body = WORKFLOWS.get(scope["path"]), b"ready"
        if run is not None:
            name = f"{scope['path']}-{next(self._numbers)}"
            result = await self._client.execute_workflow(run, id=name, task_queue=QUEUE)
            body = str(result).encode()
        length = str(len(body)).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


async def connect(server: str) -> Client:
    """Waits for the server. Whoever started this program bounds the time."""
    while True:
        try:
            return await Client.connect(server)
        except RuntimeError:
            await asyncio.sleep(0.2)


async def serve(port: int, server: str) -> None:
    """Runs until it is ended."""
    client = await connect(server)
    async with Worker(client, task_queue=QUEUE, workflows=[One, Five], activities=[noop]):
        config = uvicorn.Config(
            Application(client),
            host="127.0.0.1",
            port=port,
            lifespan="off",
            log_level="warning",
            access_log=False,
        )
        await uvicorn.Server(config).serve()


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--server", required=True)
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.port, arguments.server))


if __name__ == "__main__":
    main()
