"""What people and programs read: medians, ratios of each round, and their spread."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from functools import partial
from operator import itemgetter
from typing import Any

from .compare import Comparison, Plan
from .machine import Watch

#: The processes that an engine may have.
ENGINE = ("server", "worker", "database")

Figures = dict[str, Any]
Round = tuple[Figures, Figures]


def text(comparison: Comparison, plan: Plan, watch: Watch) -> str:
    """A table for each load."""
    lines = [
        "",
        f"{comparison.ours} and {comparison.theirs}, in turn: rounds {plan.rounds}, "
        f"{plan.seconds:g} s each after {plan.warm_up:g} s of warm-up",
        f"{watch.cores} cores; append 4 KiB and fdatasync p50 {watch.sync_percentile(50):.2f} ms, "
        f"p99 {watch.sync_percentile(99):.2f} ms; {watch.stolen_percent:.1f} % of the processor "
        "time was taken away by the host",
        "medians, and (lowest to highest) of the rounds; a ratio is one of the same round",
    ]
    for load, rounds in comparison.rounds.items():
        lines += ["", load.title]
        lines += table(rounds)
    return "\n".join(lines) + "\n"


def table(rounds: list[Round]) -> Iterable[str]:
    """The rows of one load."""
    yield f"  {'':<34}{'ours':>26}{'theirs':>26}{'ratio':>24}"
    yield row("per second", rounds, per_second, lambda ours, theirs: ours / theirs)
    for name, key in (("p50, ms", "p50Ms"), ("p99, ms", "p99Ms"), ("longest, ms", "maxMs")):
        yield row(name, rounds, itemgetter(key), divided_by_ours)
    for process in processes(rounds):
        name = f"processor of the {process}, us each"
        yield row(name, rounds, partial(processor_us, process), divided_by_ours)
    yield row("processor of these, us each", rounds, processor_us_of_engine, divided_by_ours)
    yield row("processor of the callers, us each", rounds, processor_us_of_callers, divided_by_ours)
    yield row("cores that were busy with it", rounds, busy_cores, divided_by_ours)
    yield row("cores that others used", rounds, others_cores)
    yield row("memory of the server, MiB", rounds, memory, divided_by_ours)
    if any(figures["refused"] for each in rounds for figures in each):
        yield row("refused at first", rounds, itemgetter("refused"))


def row(
    name: str,
    rounds: list[Round],
    figure: Callable[[Figures], float | None],
    ratio: Callable[[float, float], float] | None = None,
) -> str:
    """A figure of both, and how many times better ours is."""
    ours, theirs = (known(figure(each[side]) for each in rounds) for side in (0, 1))
    pairs = [(figure(mine), figure(other)) for mine, other in rounds]
    ratios = [ratio(mine, other) for mine, other in pairs if ratio and mine and other]
    return f"  {name:<34}{spread(ours):>26}{spread(theirs):>26}{spread(ratios):>24}"


def spread(values: list[float]) -> str:
    """The median, the lowest and the highest."""
    if not values:
        return "–"
    low, middle, high = (short(it) for it in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low} to {high})"


def short(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def known(values: Iterable[float | None]) -> list[float]:
    """Without those that were not measured."""
    return [value for value in values if value is not None]


def divided_by_ours(ours: float, theirs: float) -> float:
    """How many times more theirs takes."""
    return theirs / ours


def per_second(figures: Figures) -> float:
    """Workflows that ended in a second."""
    return float(figures["calls"] / figures["seconds"])


def processor_us(process: str, figures: Figures) -> float | None:
    """Processor time of a process for each workflow, in microseconds."""
    of_it = figures["processes"].get(process)
    return None if of_it is None else of_it["processorSeconds"] * 1e6 / figures["calls"]


def processor_us_of_engine(figures: Figures) -> float:
    """The same of the server, the worker and the database; not of the callers."""
    found = (processor_us(process, figures) for process in ENGINE)
    return sum(known(found))


def processor_us_of_callers(figures: Figures) -> float | None:
    """The same of the program that makes the load."""
    return processor_us("callers", figures)


def busy_cores(figures: Figures) -> float:
    """How many cores all of them used: as many as there are, and processors are the limit."""
    used = sum(of_it["processorSeconds"] for of_it in figures["processes"].values())
    return float(used / figures["seconds"])


def others_cores(figures: Figures) -> float:
    """How many cores everything else on the machine used; much of it makes a round worthless."""
    return float(figures["othersSeconds"] / figures["seconds"])


def memory(figures: Figures) -> float:
    """Resident memory of the server at the end of the load, in MiB."""
    return float(figures["processes"]["server"]["residentMib"])


def processes(rounds: list[Round]) -> list[str]:
    """The names of processes of either engine, in a fixed order."""
    found = {name for each in rounds for side in each for name in side["processes"]}
    return [name for name in ENGINE if name in found]


def data(comparison: Comparison, plan: Plan, watch: Watch) -> dict[str, Any]:
    """Every figure of every round."""
    return {
        "ours": comparison.ours,
        "theirs": comparison.theirs,
        "plan": {"rounds": plan.rounds, "seconds": plan.seconds, "warmUp": plan.warm_up},
        "machine": {
            "cores": watch.cores,
            "syncP50Ms": watch.sync_percentile(50),
            "syncP99Ms": watch.sync_percentile(99),
            "stolenPercent": watch.stolen_percent,
        },
        "loads": [
            {
                "workflow": load.workflow,
                "connections": load.connections,
                "rounds": [{"ours": ours, "theirs": theirs} for ours, theirs in rounds],
            }
            for load, rounds in comparison.rounds.items()
        ],
    }
