"""What can go wrong, and what a task function raises to say how it failed."""

from __future__ import annotations

from typing import Any


class MeantimeError(Exception):
    """Everything this package raises."""


class Unavailable(MeantimeError):
    """The server cannot be reached, or asks to come back later.

    Whether a request took effect is not known, unless :attr:`unsent` says so; repeat it with the
    same idempotency key.
    """

    def __init__(
        self, message: str, retry_after: float | None = None, *, unsent: bool = False
    ) -> None:
        super().__init__(message)
        #: How many seconds the server asks to wait, if it said so.
        self.retry_after = retry_after
        #: Whether the request certainly had no effect: it was not sent, or refused unread.
        self.unsent = unsent


class NotJson(MeantimeError):
    """A value cannot be sent because it is not JSON; the message says where it is."""


class Problem(MeantimeError):
    """The server refused a request: an RFC 9457 problem with a stable ``code``."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        self.status = status
        self.code: str = str(body.get("code", "unknown"))
        self.detail: str = str(body.get("detail") or body.get("title") or "")
        self.body = body
        super().__init__(f"{self.code}: {self.detail}" if self.detail else self.code)

    @property
    def diagnostics(self) -> list[dict[str, Any]]:
        """Problems of a definition, when a deployment was refused."""
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
        #: How long to wait before the next attempt, as an ISO duration such as ``PT30S``.
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
