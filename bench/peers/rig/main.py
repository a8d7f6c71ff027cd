"""The command line."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from . import install, layout, machine, report
from .compare import Plan, compare
from .engines import PEERS
from .process import ends_on_signals

#: Temporal's server is in no registry under the name of its makers, so it runs only when asked for.
BY_DEFAULT = ("restate", "restate-one-partition", "dbos", "dbos-postgres")


def main() -> int:
    """Runs what the arguments ask for; returns the exit status."""
    arguments = parse()
    ends_on_signals()
    wanted = arguments.only or [name for name in PEERS if name in BY_DEFAULT]
    if not arguments.only:
        print("temporal: not measured by default; README.md says why. --only temporal does it.")
    programs = install.programs(arguments.meantime)
    missing = []
    for name in wanted:
        try:
            peer, ours = PEERS[name].prepare(programs)
        except install.Missing as reason:
            print(f"{name}: NOT MEASURED: {reason}")
            missing.append(name)
            continue
        if arguments.install:
            print(f"{name}: installed")
            continue
        plan = Plan(arguments.rounds, arguments.seconds, arguments.warm_up)
        with machine.Watch() as watch:
            comparison = compare(peer, ours, plan, programs.load, watch)
        print(report.text(comparison, plan, watch))
        path = layout.TARGET / f"{name}.json"
        path.write_text(json.dumps(report.data(comparison, plan, watch), indent=2) + "\n")
        print(f"every figure: {path.relative_to(layout.ROOT)}\n")
    # A peer that was asked for by name and is missing is an error.
    return 1 if arguments.only and missing else 0


def parse() -> argparse.Namespace:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(prog="bench/peers/run", description=__doc__)
    parser.add_argument("--rounds", type=positive, default=5, help="how often each is measured")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each load runs")
    parser.add_argument("--warm-up", type=float, default=2.0, help="seconds before each load")
    parser.add_argument(
        "--only", action="append", choices=list(PEERS), help="a peer; may be repeated"
    )
    parser.add_argument(
        "--meantime", type=Path, metavar="PATH", help="our binary; built if it is not given"
    )
    parser.add_argument("--install", action="store_true", help="install and build, measure nothing")
    arguments = parser.parse_args()
    if arguments.seconds <= 0 or arguments.warm_up < 0:
        parser.error("--seconds is above zero, --warm-up is not below it")
    if sys.platform != "linux":
        parser.error("this needs Linux: processor time is read from /proc")
    return arguments


def positive(text: str) -> int:
    """A number above zero."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number
