"""Runs a worker against a server with faults, then checks: nothing lost, nothing doubled.

    python3 sdks/fuzz/run.py python|typescript [--seconds N] [--seed S]

`MEANTIME_TEST_BINARY` names the server. README.md says what is checked.
"""

from __future__ import annotations

import argparse
import logging
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parent / "python"
sys.path[:0] = [str(PYTHON / "src"), str(PYTHON / "e2e")]

from meantime import Client, MeantimeError  # noqa: E402
from proxy import AFTER, BEFORE, Proxy  # noqa: E402
from server import Server  # noqa: E402

#: The flow also allows attempts for lost claims: a claim whose answer is lost uses one up.
FLOW = 'return await Task.run("fuzz", Inputs, { retry: { maxAttempts: 100 } })'

#: Instances that are open at one time.
OPEN = 60

#: How long open instances may take after the faults have ended, in seconds.
DRAIN = 60.0


class Load:
    """Starts instances through the proxy, one call for one instance."""

    def __init__(self, url: str, seed: int) -> None:
        self._client = Client(url, attempts=40, timeout=20)
        self._random = random.Random(seed)
        self._room = threading.Semaphore(OPEN)
        self._lock = threading.Lock()
        self.inputs: dict[str, dict] = {}
        self.calls = 0
        self.errors: list[str] = []

    def run(self, until: float) -> None:
        while time.monotonic() < until:
            if not self._room.acquire(timeout=0.1):
                continue
            with self._lock:
                self.calls += 1
                input = self._input(self.calls)
            try:
                started = self._client.start("fuzz", input)
            except MeantimeError as why:
                self.errors.append(f"a start failed: {why}")
                return
            with self._lock:
                self.inputs[started["id"]] = input

    def ended(self) -> None:
        self._room.release()

    def close(self) -> None:
        self._client.close()

    def _input(self, n: int) -> dict:
        pick = self._random.random()
        kind = "date" if pick < 0.05 else "retry" if pick < 0.15 else "good"
        ms = self._random.choice((0, 0, 0, 5, 20, 1500)) if n % 10 == 0 else 0
        size = self._random.choice((10, 10, 1_000, 200_000)) if n % 5 == 0 else 10
        return {"n": n, "kind": kind, "ms": ms, "bytes": size}


def command(language: str) -> list[str]:
    if language == "python":
        return [sys.executable, str(HERE / "worker.py")]
    return ["node", str(HERE / "worker.mjs")]


def run(language: str, seconds: float, seed: int) -> list[str]:
    """Does one run, prints its figures and returns the errors found."""
    server = Server()
    server.start()
    proxy = Proxy(server.url, seed)
    directory = tempfile.TemporaryDirectory()
    journal = pathlib.Path(directory.name) / "journal"
    journal.touch()
    direct = Client(server.url)
    direct.deploy(FLOW, name="fuzz")
    environment = {**os.environ, "PYTHONPATH": str(PYTHON / "src")}
    worker = subprocess.Popen([*command(language), proxy.url, str(journal)], env=environment)
    load = Load(proxy.url, seed)
    try:
        until = time.monotonic() + seconds
        starters = [threading.Thread(target=load.run, args=(until,)) for _ in range(8)]
        for starter in starters:
            starter.start()
        outcomes = follow(direct, load, starters, worker, until)
        proxy.calm()
        outcomes |= follow(direct, load, [], worker, time.monotonic() + DRAIN, outcomes)
        wrong = list(load.errors)
        if worker.poll() is not None:
            wrong.append(f"the worker ended by itself with {worker.returncode}")
        else:
            worker.send_signal(signal.SIGTERM)
            if worker.wait(40) != 0:
                wrong.append(f"the worker ended with {worker.returncode}")
        instances = [it["id"] for it in direct.instances(limit=1000)]
        wrong += audit(load, outcomes, instances, proxy, journal.read_text().split("\n"))
        return wrong
    finally:
        worker.kill()
        worker.wait()
        load.close()
        direct.close()
        proxy.close()
        server.close()
        directory.cleanup()


def follow(direct, load, starters, worker, until, known=None) -> dict[str, dict]:
    """Reads outcomes until the time has passed and no more instances are started, or all ended."""
    outcomes: dict[str, dict] = dict(known or {})
    while worker.poll() is None:
        is_starting = any(it.is_alive() for it in starters)
        with load._lock:
            left = [it for it in load.inputs if it not in outcomes]
        if not is_starting and (not left or time.monotonic() >= until):
            return outcomes
        for instance in left[:20]:
            result = direct.instance(instance)
            if result["status"] != "running":
                outcomes[instance] = result
                load.ended()
        # There is no event for the end of any instance, so they are polled every 10 ms.
        time.sleep(0.01)
    return outcomes


def audit(load, outcomes, instances, proxy, journal) -> list[str]:
    wrong = []
    if len({*instances}) != load.calls:
        wrong.append(f"{load.calls} calls started {len({*instances})} instances")
    for instance, input in load.inputs.items():
        result = outcomes.get(instance)
        if result is None:
            wrong.append(f"{instance} has not ended")
        elif input["kind"] == "date":
            code = (result.get("error") or {}).get("code")
            if code != "RESULT_NOT_JSON":
                wrong.append(f"{instance} ended with {result['status']} {code}")
        elif (result.get("output") or {}).get("n") != input["n"]:
            wrong.append(f"{instance} ended with {result['status']} {result.get('error')}")
    begun, ended = Counter(), set()
    for line in journal:
        what, _, rest = line.partition(" ")
        if what == "begin":
            begun[tuple(rest.split(" "))] += 1
        elif what == "end":
            ended.add(tuple(rest.split(" ")))
    wrong += [f"{key} was done {count} times" for key, count in begun.items() if count > 1]
    late = 0
    for key in ended:
        heard = proxy.reports.get(key, [])
        accepted = heard.count(200)
        if accepted > 1:
            wrong.append(f"{key}: {accepted} reports took effect")
        if accepted == 0:
            # Only a lease that was lost excuses a result that had no effect.
            is_lost = 409 in heard or {404, 409} & {*proxy.extensions.get(key, [])}
            late += 1
            if not is_lost:
                wrong.append(f"{key}: its report was lost")
    missing = [it for it in (*BEFORE, *AFTER) if not proxy.faults[it]]
    if missing:
        wrong.append(f"no fault of these kinds was met: {missing}")
    reports = sum(map(len, proxy.reports.values()))
    repeated = sum(len(it) - 1 for it in proxy.reports.values())
    print(
        f"  {load.calls} starts, {sum(begun.values())} executions, {reports} reports heard by the "
        f"server of which {repeated} repeated, {late} too late for their lease;\n"
        f"  {proxy.requests} requests, {sum(proxy.faults.values())} faults: "
        + ", ".join(f"{name} {count}" for name, count in sorted(proxy.faults.items()))
    )
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("language", choices=("python", "typescript"))
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    seed = random.randrange(1 << 32) if given.seed is None else given.seed
    print(f"{given.language} worker, {given.seconds:g} s of faults, seed {seed}", flush=True)
    wrong = run(given.language, given.seconds, seed)
    for line in wrong[:20]:
        print(f"  wrong: {line}")
    if wrong:
        sys.exit(f"{len(wrong)} things are wrong; --seed {seed} plays the same faults")
    print("  nothing lost, nothing doubled", flush=True)


if __name__ == "__main__":
    main()
