"""Threads for functions that block.

They are daemons: a task function that never returns must not keep the process from ending, and
the threads of ``concurrent.futures`` are joined when the interpreter exits. A new thread is started
when no other is idle, so an abandoned function does not block the next task.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import Any, Callable


class Threads:
    """Runs blocking functions for a loop."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._work: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._started = 0

    def run(self, function: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        """Calls a function on a thread. Cancelling the future does not stop the function."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        with self._lock:
            if self._idle > 0:
                self._idle -= 1
            else:
                self._started += 1
                name = f"{self._name}-{self._started}"
                threading.Thread(target=self._serve, name=name, daemon=True).start()
        self._work.put((loop, future, function, arguments))
        return future

    def close(self) -> None:
        """Ends each thread as soon as it is idle."""
        for _ in range(self._started):
            self._work.put(None)

    def _serve(self) -> None:
        while (item := self._work.get()) is not None:
            loop, future, function, arguments = item
            result, error = None, None
            try:
                result = function(*arguments)
            except BaseException as why:
                error = why
            with self._lock:
                self._idle += 1
            try:
                loop.call_soon_threadsafe(_settle, future, result, error)
            except RuntimeError:
                pass  # The loop was closed, so nothing waits for this result.
            del item, future, function, arguments, result, error


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
