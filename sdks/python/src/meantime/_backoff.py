"""Pauses between attempts."""

from __future__ import annotations

import random

#: The first and the longest pause between two attempts, in seconds.
FIRST, LONGEST = 0.1, 10.0

#: The longest ``Retry-After`` that is honoured: a wrong value must not stop a worker.
RETRY_AFTER_LONGEST = 60.0


class Backoff:
    """Pauses that double, with jitter, so that many workers do not return at once."""

    def __init__(self) -> None:
        self._pause = FIRST

    def reset(self) -> None:
        """Starts again with the shortest pause."""
        self._pause = FIRST

    def next(self, retry_after: float | None = None) -> float:
        """The next pause: never shorter than the server's ``Retry-After``."""
        wait = self._pause * (0.5 + random.random())
        self._pause = min(self._pause * 2, LONGEST)
        if retry_after is None:
            return wait
        asked = min(retry_after, RETRY_AFTER_LONGEST)
        return max(wait, asked * (1 + 0.1 * random.random()))
