"""Runs task functions without a server, for unit tests::

    from meantime.testing import run_task

    def test_charge():
        outcome = run_task(worker, "charge-card", {"id": 7})
        assert outcome.output == {"receipt": "r-7"}
"""

from __future__ import annotations

import asyncio
from typing import Any

from ._outcome import Outcome, perform
from .errors import MeantimeError
from .task import Task
from .worker import Worker

__all__ = ["Outcome", "run_task", "run_task_async"]


def run_task(worker: Worker, type: str, input: Any = None, **fields: Any) -> Outcome:
    """Runs the function of a task type with an input, as a worker would."""
    return asyncio.run(run_task_async(worker, type, input, **fields))


async def run_task_async(worker: Worker, type: str, input: Any = None, **fields: Any) -> Outcome:
    """The same inside a running loop. ``fields`` are those of :class:`meantime.Task`."""
    function = worker._functions.get(type)
    if function is None:
        raise MeantimeError(f"no function for the task type {type!r}; there are {worker.types}")
    task = Task(id=fields.pop("id", "tk_test"), type=type, input=input, **fields)

    async def in_place(plain: Any, *arguments: Any) -> Any:
        return plain(*arguments)

    return await perform(function, task, in_place)
