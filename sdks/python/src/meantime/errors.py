"""The errors of this package, and those that a task function raises to fail a task."""

from __future__ import annotations

from typing import Any


class MeantimeError(Exception):
    """The base class of all errors of this package."""


class Unavailable(MeantimeError):
    """The server cannot be reached, or answers that it is unavailable.

    The request may have taken effect, unless :attr:`unsent` is true; repeat it with the same
    idempotency key.
    """

    def __init__(
        self, message: str, retry_after: float | None = None, *, unsent: bool = False
    ) -> None:
        super().__init__(message)
        #: The server's ``Retry-After`` in seconds, if it sent one.
        self.retry_after = retry_after
        #: Whether the request certainly had no effect: not sent, or rejected before it was read.
        self.unsent = unsent


class NotJson(MeantimeError):
    """A value cannot be sent because it is not JSON; the message contains its path."""


class Problem(MeantimeError):
    """The server rejected a request: an RFC 9457 problem with a stable ``code``."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        self.status = status
        self.code: str = str(body.get("code", "unknown"))
        self.detail: str = str(body.get("detail") or body.get("title") or "")
        self.body = body
        super().__init__(f"{self.code}: {self.detail}" if self.detail else self.code)

    @property
    def diagnostics(self) -> list[dict[str, Any]]:
        """Problems of a definition, when a deployment was rejected."""
        return list(self.body.get("diagnostics", []))


class TaskFailed(MeantimeError):
    """Raise this in a task function to fail the task in a chosen way.

    Any other exception fails it as well, with the exception's type as code, and is retried.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "TASK_FAILED",
        data: Any = None,
        retryable: bool = True,
        retry_after: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.data = data
        self.retryable = retryable
        #: The delay before the next attempt, as an ISO duration such as ``PT30S``.
        self.retry_after = retry_after


class BpmnError(MeantimeError):
    """Raise this in a task function to throw a BPMN error that a boundary event may catch."""

    def __init__(
        self, code: str, message: str = "", variables: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message or code)
        self.code = code
        self.message = message
        self.variables = variables
