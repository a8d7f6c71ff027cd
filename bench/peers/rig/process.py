"""Processes that this program starts, and ends by their ids."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

#: How long a server may take until it answers, in seconds.
START_TIMEOUT = 60.0

#: How long a process may take to end after a signal, in seconds.
END_TIMEOUT = 15.0

#: From `<sys/prctl.h>`: the signal that a process gets when its parent ends.
PR_SET_PDEATHSIG = 1


def ends_on_signals() -> None:
    """A signal ends this program as an error does, so that it ends what it has started."""

    def stop(number: int, _: Any) -> None:
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


class Process:
    """A process. Leaving the block ends it."""

    def __init__(
        self,
        arguments: list[Any],
        log: Path,
        *,
        environment: dict[str, str] | None = None,
        user: str | None = None,
        end_with: signal.Signals = signal.SIGKILL,
    ) -> None:
        """The default way to end is that of a crash: every engine here has to survive it, and its
        database is not needed any more."""
        self.log, self._end_with = log, end_with
        with log.open("wb") as output:
            self._child = subprocess.Popen(
                [str(argument) for argument in arguments],
                cwd=log.parent,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                user=user,
                # Signals of the terminal are for this program, which then ends its processes.
                start_new_session=True,
                preexec_fn=end_with_parent,
            )
        self.id = self._child.pid

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._child.poll() is None

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self.is_running():
            self._child.send_signal(self._end_with)
        try:
            self._child.wait(END_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def wait_until(self, is_ready: Callable[[], bool], what: str) -> None:
        """Waits until it is ready; ends this program with the log if that takes too long."""
        end = time.monotonic() + START_TIMEOUT
        while time.monotonic() < end and self.is_running():
            if is_ready():
                return
            time.sleep(0.05)
        tail = self.log.read_text(errors="replace").splitlines()[-20:]
        sys.exit(f"{what} is not ready:\n" + "\n".join(tail))


def end_with_parent() -> None:
    """In a new process: it is killed when this program ends, however that happens."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def answers(url: str) -> bool:
    """Whether a GET request is answered with success."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(200 <= answer.status < 300)
    except (urllib.error.URLError, OSError):
        return False


def post(url: str, body: bytes, media_type: str) -> bool:
    """Whether a POST request is answered with success."""
    request = urllib.request.Request(url, body, {"content-type": media_type})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return bool(200 <= answer.status < 300)
    except (urllib.error.URLError, OSError):
        return False
