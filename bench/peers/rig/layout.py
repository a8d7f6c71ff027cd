"""Where things are."""

from __future__ import annotations

from pathlib import Path

#: This directory in the repository.
HERE = Path(__file__).resolve().parent.parent

#: The repository.
ROOT = HERE.parent.parent

#: Everything that is installed, built or written.
TARGET = ROOT / "target" / "peers"

#: The databases and logs of the engines that run just now.
RUNNING = TARGET / "running"
