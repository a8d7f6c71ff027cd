"""SIGINT and SIGTERM: the first stops a worker, the second ends the process."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from typing import Any, Callable

log = logging.getLogger("meantime")


class StopSignals:
    """Inside its context the first signal calls ``stop``; a second one, or the end of the grace
    period, ends the process with the exit status of the signal (128 + its number).

    The grace period is measured by a thread, because a task function may block the loop. The
    process ends with ``os._exit``, because other exits wait for threads that may never return.
    """

    def __init__(self, stop: Callable[[], None], grace: float) -> None:
        self._stop = stop
        self._grace = grace
        self._loop = asyncio.get_running_loop()
        self._first: int | None = None
        self._timer: threading.Timer | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._caught)

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _caught(self, number: int, _: object) -> None:
        if self._first is not None:
            _end(number, "a second signal")
        self._first = number
        self._loop.call_soon_threadsafe(self._stop)
        why = f"tasks still run after {self._grace:g} seconds of grace"
        self._timer = threading.Timer(self._grace, _end, (number, why))
        self._timer.daemon = True
        self._timer.start()


def _end(number: int, why: str) -> None:
    log.error("the worker ends: %s", why)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # The stream was closed, or a write to it was interrupted.
    os._exit(128 + number)
