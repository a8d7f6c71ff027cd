"""Runs a task function and returns its outcome, without a server."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass, field
from typing import Any, Callable

from ._json import encode
from .errors import BpmnError, NotJson, TaskFailed
from .task import Task

Function = Callable[..., Any]

#: The code of a task whose function returned something that is not JSON.
RESULT_NOT_JSON = "RESULT_NOT_JSON"


@dataclass
class Outcome:
    """The outcome to report: an output, or an error."""

    output: Any = None
    #: The body of ``/fail`` without the token; none when the task is done.
    failure: dict[str, Any] | None = None
    #: The output as JSON text.
    encoded: bytes = field(default=b"null", repr=False, compare=False)

    @property
    def is_simple(self) -> bool:
        """Whether the batch report can carry it: an output, or an error and nothing else."""
        return self.failure is None or set(self.failure) == {"error"}


async def perform(function: Function, task: Task, run_plain: Callable[..., Any]) -> Outcome:
    """Calls a task function. Coroutines run on the loop, plain functions through ``run_plain``.
    When the task is no longer needed, its cancellation is passed on; everything else becomes an
    outcome, ``sys.exit()`` included."""
    if not is_coroutine_function(function):
        done: Outcome = await run_plain(_call, function, task)
        return done
    try:
        return completed(await function(*_arguments(function, task)))
    except GeneratorExit:
        raise
    except asyncio.CancelledError as why:
        if task.cancelled or _is_cancelled():
            raise
        return Outcome(failure=failure(why))
    except BaseException as why:
        return Outcome(failure=failure(why))


def _call(function: Function, task: Task) -> Outcome:
    try:
        return completed(function(*_arguments(function, task)))
    except BaseException as why:
        return Outcome(failure=failure(why))


def _arguments(function: Function, task: Task) -> tuple[Any, ...]:
    return (task.input, task) if takes_task(function) else (task.input,)


def _is_cancelled() -> bool:
    """Whether the current task was cancelled from outside; unknown before Python 3.11."""
    cancelling = getattr(asyncio.current_task(), "cancelling", None)
    return cancelling is not None and cancelling() > 0


def completed(output: Any) -> Outcome:
    """The outcome of a function that returned."""
    try:
        return Outcome(output=output, encoded=encode(output))
    except NotJson as why:
        text = f"the task function's result is not JSON: {why}"
        if inspect.iscoroutine(output):
            output.close()
            text += "; declare the function with `async def`, or await it"
        return Outcome(failure=final(RESULT_NOT_JSON, text))


def final(code: str, message: str) -> dict[str, Any]:
    """The report of a failure that another attempt would only repeat."""
    return {"error": {"code": code, "message": message}, "retryable": False}


def failure(why: BaseException) -> dict[str, Any]:
    """The report of an exception. It is always JSON."""
    if isinstance(why, BpmnError):
        return _thrown(why)
    if isinstance(why, TaskFailed):
        error: dict[str, Any] = {"code": _text(why.code), "message": _text(why.message)}
        if why.data is not None:
            try:
                encode(why.data)
                error["data"] = why.data
            except NotJson as bad:
                error["message"] += f" (its data was left out, it is not JSON: {bad})"
        report: dict[str, Any] = {"error": error}
        if not why.retryable:
            report["retryable"] = False
        if why.retry_after is not None:
            report["retryAfter"] = _text(why.retry_after)
        return report
    message = _text(why)
    if isinstance(why, SystemExit):
        message = f"the task function called sys.exit({message})"
    elif isinstance(why, asyncio.CancelledError):
        message = message or "the task function was cancelled from inside"
    return {"error": {"code": type(why).__name__, "message": message}}


def _thrown(why: BpmnError) -> dict[str, Any]:
    thrown: dict[str, Any] = {"code": _text(why.code)}
    if why.message:
        thrown["message"] = _text(why.message)
    if why.variables is not None:
        try:
            encode(why.variables)
        except NotJson as bad:
            # Without its variables it would not be the error that the process expects.
            code = thrown["code"]
            return final(RESULT_NOT_JSON, f"the variables of BPMN error {code} are not JSON: {bad}")
        thrown["variables"] = why.variables
    return {"bpmnError": thrown}


def _text(value: Any) -> str:
    """A text for messages, even if the value's own methods raise."""
    try:
        return str(value)
    except Exception as why:
        return f"a {type(value).__name__} whose text cannot be had ({type(why).__name__})"


def is_coroutine_function(function: Function) -> bool:
    """Whether calling it returns a coroutine: a function, or an object with ``async __call__``."""
    call = getattr(type(function), "__call__", None)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def takes_task(function: Function) -> bool:
    """Whether a function takes the task as a second argument."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    positional = [it for it in parameters if it.kind in kinds]
    anything = any(it.kind is inspect.Parameter.VAR_POSITIONAL for it in parameters)
    return anything or len(positional) >= 2
