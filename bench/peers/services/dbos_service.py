"""A service with DBOS: two workflows behind HTTP, with the defaults of the library."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from dbos import DBOS, DBOSConfig


@DBOS.step()
async def noop() -> int:
    """A step that does nothing; its result is durable before the next one begins."""
    return 1


@DBOS.workflow()
async def one() -> int:
    """One step."""
    return await noop()


@DBOS.workflow()
async def five() -> int:
    """Five steps in a row."""
    total = 0
    for _ in range(5):
        total += await noop()
    return total


WORKFLOWS: dict[str, Callable[[], Awaitable[int]]] = {"/one": one, "/five": five}


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Runs the workflow that the path names, and answers with its result."""
    if scope["type"] != "http":
        return
    workflow = WORKFLOWS.get(scope["path"])
    body = b"ready" if workflow is None else str(await workflow()).encode()
    length = str(len(body)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", length)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def main() -> None:
    """Runs until it is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--database", required=True)
    arguments = parser.parse_args()
    config: DBOSConfig = {
        "name": "peers",
        "system_database_url": arguments.database,
        "log_level": "WARNING",
    }
    DBOS(config=config)
    DBOS.launch()
    uvicorn.run(
        application,
        host="127.0.0.1",
        port=arguments.port,
        lifespan="off",
        log_level="warning",
        access_log=False,
    )


if __name__ == "__main__":
    main()
