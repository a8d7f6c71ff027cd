"""What the machine did while something was measured."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import TracebackType

from .layout import TARGET

#: How long the disk is measured, in seconds.
DISK_SECONDS = 0.3

BLOCK = b"\0" * 4096


class Watch:
    """The disk before each measurement, and the processor time that the host took away."""

    def __init__(self) -> None:
        self.cores = len(os.sched_getaffinity(0))
        self.stolen_percent = 0.0
        self._sync_ms: list[float] = []

    def __enter__(self) -> Watch:
        self._before = processor_ticks()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        ticks = [after - before for after, before in zip(processor_ticks(), self._before)]
        # The eighth figure is what the host of a virtual machine took away.
        self.stolen_percent = 100.0 * ticks[7] / max(1, sum(ticks))

    def measure_disk(self) -> None:
        """Writes out what others left to be written, then measures."""
        os.sync()
        self._sync_ms = sorted([*self._sync_ms, *synced_appends()])

    def sync_percentile(self, percent: float) -> float:
        """How long appending 4 KiB and `fdatasync` took, in milliseconds."""
        return percentile(self._sync_ms, percent)


def synced_appends() -> list[float]:
    """Appends 4 KiB and calls `fdatasync`, again and again; returns the times in milliseconds."""
    path = TARGET / "disk"
    TARGET.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        times, end = [], time.perf_counter() + DISK_SECONDS
        while (begin := time.perf_counter()) < end:
            os.write(file, BLOCK)
            os.fdatasync(file)
            times.append((time.perf_counter() - begin) * 1000.0)
        return times
    finally:
        os.close(file)
        path.unlink()


def processor_ticks() -> list[int]:
    """User, nice, system, idle, waiting, two kinds of interrupts, and stolen."""
    line = Path("/proc/stat").read_text().splitlines()[0]
    return [int(field) for field in line.split()[1:9]]


def percentile(values: list[float], percent: float) -> float:
    """The nearest rank of sorted values."""
    rank = max(1, -(-len(values) * percent // 100))
    return values[int(rank) - 1]
