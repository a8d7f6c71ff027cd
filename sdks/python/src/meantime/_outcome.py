"""Runs a task function and says what became of it, without any server."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass
from typing import Any, Callable

from .errors import BpmnError, TaskFailed
from .task import Task

Function = Callable[..., Any]


@dataclass
class Outcome:
    """What is reported: an output, or an error."""

    output: Any = None
    #: The body of ``/fail`` without the token; none when the task is done.
    failure: dict[str, Any] | None = None

    @property
    def is_simple_failure(self) -> bool:
        """Whether the batch report can carry it: an error and nothing else."""
        return self.failure is not None and set(self.failure) == {"error"}


async def perform(function: Function, task: Task, run_plain: Callable[..., Any]) -> Outcome:
    """Calls a task function. Coroutines run on the loop, plain functions where ``run_plain`` puts
    them. Cancellation goes through; everything else becomes an outcome."""
    arguments = (task.input, task) if takes_task(function) else (task.input,)
    try:
        if inspect.iscoroutinefunction(function):
            return Outcome(output=await function(*arguments))
        return Outcome(output=await run_plain(function, *arguments))
    except asyncio.CancelledError:
        raise
    except Exception as why:
        return Outcome(failure=failure(why))


def failure(why: BaseException) -> dict[str, Any]:
    """The report of an exception."""
    if isinstance(why, BpmnError):
        thrown: dict[str, Any] = {"code": why.code}
        if why.message:
            thrown["message"] = why.message
        if why.variables is not None:
            thrown["variables"] = why.variables
        return {"bpmnError": thrown}
    if isinstance(why, TaskFailed):
        error: dict[str, Any] = {"code": why.code, "message": why.message}
        if why.data is not None:
            error["data"] = why.data
        report: dict[str, Any] = {"error": error}
        if not why.retryable:
            report["retryable"] = False
        if why.retry_after is not None:
            report["retryAfter"] = why.retry_after
        return report
    return {"error": {"code": type(why).__name__, "message": str(why)}}


def takes_task(function: Function) -> bool:
    """Whether a function wants the task beside its input."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    positional = [it for it in parameters if it.kind in kinds]
    anything = any(it.kind is inspect.Parameter.VAR_POSITIONAL for it in parameters)
    return anything or len(positional) >= 2
