"""Measures two engines in turn, each time on an empty database.

round 1   ours, theirs      Each: start, then every load of LOADS, then end.
round 2   theirs, ours      Only one of them runs at a time.
round 3   ours, theirs
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .engines.engine import Call, Engine, Running
from .layout import RUNNING
from .machine import Watch


@dataclass(frozen=True)
class Load:
    """What is measured: a workflow, and how many callers wait for one each."""

    workflow: str
    connections: int
    title: str


LOADS = (
    Load("one", 64, "one step, 64 connections"),
    Load("five", 64, "five steps, 64 connections"),
    Load("one", 1, "one step, one connection"),
    Load("five", 1, "five steps, one connection"),
)

#: How much longer than planned a load may take, in seconds: the last answers, and a busy machine.
PATIENCE = 60.0


@dataclass(frozen=True)
class Plan:
    """How often and how long."""

    rounds: int
    seconds: float
    warm_up: float


@dataclass(frozen=True)
class Comparison:
    """Figures of each round, by load: what the program `load` printed."""

    ours: str
    theirs: str
    #: For each load, in the order of the rounds: ours and theirs.
    rounds: dict[Load, list[tuple[dict[str, Any], dict[str, Any]]]]


def compare(theirs: Engine, ours: Engine, plan: Plan, load: Path, watch: Watch) -> Comparison:
    """Runs all rounds."""
    rounds: dict[Load, list[tuple[dict[str, Any], dict[str, Any]]]] = {it: [] for it in LOADS}
    for number in range(plan.rounds):
        # What the first of them leaves to the machine, such as dirty pages, is left to each in turn.
        order = (ours, theirs) if number % 2 == 0 else (theirs, ours)
        figures = {}
        for engine in order:
            note = f"round {number + 1} of {plan.rounds}: {engine.name}"
            print(note, file=sys.stderr, flush=True)
            figures[engine] = measure(engine, plan, load, watch)
        for each in LOADS:
            rounds[each].append((figures[ours][each], figures[theirs][each]))
    return Comparison(ours.name, theirs.name, rounds)


def measure(engine: Engine, plan: Plan, load: Path, watch: Watch) -> dict[Load, dict[str, Any]]:
    """Starts an engine on an empty database and runs all loads."""
    shutil.rmtree(RUNNING, ignore_errors=True)
    RUNNING.mkdir(parents=True)
    # What the engine before has left to be written is not part of the measurement.
    watch.measure_disk()
    try:
        with engine.start(RUNNING) as running:
            return {each: call(running, each, plan, load) for each in LOADS}
    except subprocess.SubprocessError as error:
        for log in sorted(RUNNING.glob("*.log")):
            tail = log.read_text(errors="replace").splitlines()[-10:]
            print(f"--- {engine.name}: {log.name}", *tail, sep="\n", file=sys.stderr)
        sys.exit(f"{engine.name}: {error}")
    finally:
        shutil.rmtree(RUNNING, ignore_errors=True)


def call(running: Running, load: Load, plan: Plan, program: Path) -> dict[str, Any]:
    """Runs one load."""
    it: Call = running.calls[load.workflow]
    arguments = [program, "--url", it.url, "--body", it.body, "--status", it.status]
    arguments += ["--answer", it.answer, "--connections", load.connections]
    arguments += ["--warm-up", plan.warm_up, "--seconds", plan.seconds]
    for name, process in running.processes.items():
        arguments += ["--process", f"{name}={process}"]
    done = subprocess.run(
        [str(argument) for argument in arguments],
        check=True,
        stdout=subprocess.PIPE,
        timeout=plan.warm_up + plan.seconds + PATIENCE,
    )
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures
