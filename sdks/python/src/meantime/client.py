"""Starts workflows and sends them signals and messages."""

from __future__ import annotations

import time
import uuid
from typing import Any, Iterator
from urllib.parse import quote

from ._backoff import Backoff
from ._http import Json, Transport
from .errors import MeantimeError, Unavailable

API = "/api/v1"


class Client:
    """A client of one server. Safe to use from several threads.

    Answers are the JSON of the HTTP API as plain dictionaries and lists.

    When the server fails or cannot be reached, a call is tried up to ``attempts`` times, with
    back-off, if a repetition has no second effect: reads, deployments, cancellations, and starts
    and messages, which carry an idempotency key. Signals have no such key: they are repeated only
    when the first attempt certainly had no effect; otherwise :class:`Unavailable` is raised.
    """

    def __init__(
        self, url: str, *, token: str | None = None, timeout: float = 30.0, attempts: int = 4
    ) -> None:
        if attempts < 1:
            raise MeantimeError("attempts is above zero")
        self._http = Transport(url, token, timeout)
        self._timeout = timeout
        self._attempts = attempts

    def deploy(
        self,
        source: str | bytes,
        *,
        content_type: str = "text/javascript",
        name: str | None = None,
        dry_run: bool = False,
    ) -> Json:
        """Deploys a definition. ``name`` is for a flow whose source has no name."""
        raw = source.encode() if isinstance(source, str) else source
        query = {"name": name, "dryRun": "true" if dry_run else None}
        headers = {"content-type": content_type}
        # Identical content is the same version.
        return self._call(
            "POST", f"{API}/definitions", query=query, headers=headers, raw=raw, repeatable=True
        )

    def start(
        self,
        definition: str,
        input: Json = None,
        *,
        version: int | None = None,
        key: str | None = None,
        deadline: str | None = None,
        tags: list[str] | None = None,
        wait: str | None = None,
        idempotency_key: str | None = None,
    ) -> Json:
        """Starts an instance. ``wait`` is an ISO duration: the answer comes when the instance has
        ended or is idle, or when the time has passed.

        One call starts one instance, even if the request is repeated: without an
        ``idempotency_key`` one is generated. Calls with the same key start one instance."""
        body = {
            "definition": definition,
            "input": input,
            "version": version,
            "key": key,
            "deadline": deadline,
            "tags": tags,
        }
        body = {name: value for name, value in body.items() if value is not None}
        headers = {"idempotency-key": idempotency_key or str(uuid.uuid4())}
        path, query = f"{API}/instances", {"wait": wait}
        return self._call("POST", path, body, query=query, headers=headers, repeatable=True)

    def instance(self, instance: str) -> Json:
        """An instance with its status, variables and what it waits for."""
        return self._call("GET", f"{API}/instances/{_part(instance)}")

    def instances(self, **filters: Any) -> Iterator[Json]:
        """Instances, newest first; filters as in the HTTP API. Reads page after page."""
        return self._pages(f"{API}/instances", filters)

    def history(self, instance: str) -> Iterator[Json]:
        """The history of an instance."""
        return self._pages(f"{API}/instances/{_part(instance)}/history", {})

    def cancel(self, instance: str, reason: str | None = None) -> Json:
        """Cancels an instance. Cancelling an ended instance changes nothing."""
        body = {"reason": reason} if reason else {}
        path = f"{API}/instances/{_part(instance)}/cancel"
        return self._call("POST", path, body, repeatable=True)

    def suspend(
        self, instance: str, reason: str | None = None, timers: str = "freeze"
    ) -> Json:
        """Suspends an instance: its events wait until it is resumed. With `timers="run"` its timers
        and its deadline run on."""
        body = {"timers": timers, **({"reason": reason} if reason else {})}
        path = f"{API}/instances/{_part(instance)}/suspend"
        return self._call("POST", path, body, repeatable=True)

    def resume(self, instance: str, reason: str | None = None) -> Json:
        """Resumes a suspended instance."""
        body = {"reason": reason} if reason else {}
        path = f"{API}/instances/{_part(instance)}/resume"
        return self._call("POST", path, body, repeatable=True)

    def signal(self, instance: str, name: str, payload: Json = None) -> Json:
        """Sends a signal to an instance."""
        path = f"{API}/instances/{_part(instance)}/signals/{_part(name)}"
        return self._call("POST", path, payload)

    def broadcast(self, name: str, payload: Json = None) -> Json:
        """Sends a signal to all instances that wait for it."""
        return self._call("POST", f"{API}/signals/{_part(name)}", payload)

    def publish(
        self,
        name: str,
        payload: Json = None,
        *,
        correlation_key: str | None = None,
        ttl: str | None = None,
        id: str | None = None,
    ) -> Json:
        """Publishes a message. A second one with the same ``id`` is dropped; without an ``id``
        a new one is generated, so that one call publishes one message."""
        body = {
            "name": name,
            "payload": payload,
            "correlationKey": correlation_key,
            "ttl": ttl,
            "id": id or str(uuid.uuid4()),
        }
        body = {key: value for key, value in body.items() if value is not None}
        return self._call("POST", f"{API}/messages", body, repeatable=True)

    def timers(self, **filters: Any) -> Iterator[Json]:
        """Armed timers and deadlines, in due order."""
        return self._pages(f"{API}/timers", filters)

    def why(self, id: str) -> Json:
        """Explains a timer, an occurrence, a task or an instance."""
        return self._call("GET", f"{API}/why/{_part(id)}")

    def advance_clock(self, *, by: str | None = None, to: str | None = None) -> Json:
        """Moves the virtual clock of a server that has one."""
        body = {"by": by} if by else {"to": to}
        return self._call("POST", f"{API}/clock/advance", body, repeatable=by is None)

    def request(self, method: str, path: str, body: Json = None, **query: Any) -> Json:
        """Any other operation of the HTTP API, by its path below ``/api/v1``."""
        return self._call(method, f"{API}{path}", body, query=query)

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(
        self, method: str, path: str, body: Json = None, *, repeatable: bool = False, **options: Any
    ) -> Json:
        repeatable = repeatable or method in ("GET", "PUT", "DELETE")
        backoff = Backoff()
        for left in reversed(range(self._attempts)):
            try:
                return self._http.request(method, path, body, repeatable=repeatable, **options)
            except Unavailable as why:
                too_long = why.retry_after is not None and why.retry_after > self._timeout
                if left == 0 or too_long or not (repeatable or why.unsent):
                    raise
                time.sleep(backoff.next(why.retry_after))
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _pages(self, path: str, filters: dict[str, Any]) -> Iterator[Json]:
        cursor = None
        while True:
            page = self._call("GET", path, query={**filters, "cursor": cursor})
            yield from page["items"]
            cursor = page.get("nextCursor")
            if not cursor:
                return


def _part(text: str) -> str:
    return quote(text, safe="")
