"""Starts workflows and talks to them."""

from __future__ import annotations

from typing import Any, Iterator
from urllib.parse import quote

from ._http import Json, Transport

API = "/api/v1"


class Client:
    """A client of one server. Safe to use from several threads.

    Answers are the JSON of the HTTP API as plain dictionaries and lists.
    """

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 30.0) -> None:
        self._http = Transport(url, token, timeout)

    def deploy(
        self,
        source: str | bytes,
        *,
        content_type: str = "text/javascript",
        name: str | None = None,
        dry_run: bool = False,
    ) -> Json:
        """Deploys a definition. ``name`` names a flow that does not name itself."""
        raw = source.encode() if isinstance(source, str) else source
        query = {"name": name, "dryRun": "true" if dry_run else None}
        headers = {"content-type": content_type}
        return self._http.request(
            "POST", f"{API}/definitions", query=query, headers=headers, raw=raw
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
        ended or needs something from outside, or when the time is over."""
        body = {
            "definition": definition,
            "input": input,
            "version": version,
            "key": key,
            "deadline": deadline,
            "tags": tags,
        }
        body = {name: value for name, value in body.items() if value is not None}
        headers = {"idempotency-key": idempotency_key} if idempotency_key else None
        return self._http.request(
            "POST", f"{API}/instances", body, query={"wait": wait}, headers=headers
        )

    def instance(self, instance: str) -> Json:
        """An instance with its status, variables and what it waits for."""
        return self._http.request("GET", f"{API}/instances/{_part(instance)}")

    def instances(self, **filters: Any) -> Iterator[Json]:
        """Instances, newest first; filters as in the HTTP API. Reads page after page."""
        return self._pages(f"{API}/instances", filters)

    def history(self, instance: str) -> Iterator[Json]:
        """What happened to an instance."""
        return self._pages(f"{API}/instances/{_part(instance)}/history", {})

    def cancel(self, instance: str, reason: str | None = None) -> Json:
        """Ends an instance. Cancelling what is over changes nothing."""
        body = {"reason": reason} if reason else {}
        return self._http.request("POST", f"{API}/instances/{_part(instance)}/cancel", body)

    def signal(self, instance: str, name: str, payload: Json = None) -> Json:
        """Sends a signal to an instance."""
        path = f"{API}/instances/{_part(instance)}/signals/{_part(name)}"
        return self._http.request("POST", path, payload)

    def broadcast(self, name: str, payload: Json = None) -> Json:
        """Sends a signal to everyone who waits for it."""
        return self._http.request("POST", f"{API}/signals/{_part(name)}", payload)

    def publish(
        self,
        name: str,
        payload: Json = None,
        *,
        correlation_key: str | None = None,
        ttl: str | None = None,
        id: str | None = None,
    ) -> Json:
        """Publishes a message. A second one with the same ``id`` is dropped."""
        body = {
            "name": name,
            "payload": payload,
            "correlationKey": correlation_key,
            "ttl": ttl,
            "id": id,
        }
        body = {key: value for key, value in body.items() if value is not None}
        return self._http.request("POST", f"{API}/messages", body)

    def timers(self, **filters: Any) -> Iterator[Json]:
        """Armed timers and deadlines, in due order."""
        return self._pages(f"{API}/timers", filters)

    def why(self, id: str) -> Json:
        """Explains a timer, an occurrence, a task or an instance."""
        return self._http.request("GET", f"{API}/why/{_part(id)}")

    def advance_clock(self, *, by: str | None = None, to: str | None = None) -> Json:
        """Moves a virtual clock; only servers that have one know this."""
        body = {"by": by} if by else {"to": to}
        return self._http.request("POST", f"{API}/clock/advance", body)

    def request(self, method: str, path: str, body: Json = None, **query: Any) -> Json:
        """Any other operation of the HTTP API, by its path below ``/api/v1``."""
        return self._http.request(method, f"{API}{path}", body, query=query)

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _pages(self, path: str, filters: dict[str, Any]) -> Iterator[Json]:
        cursor = None
        while True:
            page = self._http.request("GET", path, query={**filters, "cursor": cursor})
            yield from page["items"]
            cursor = page.get("nextCursor")
            if not cursor:
                return


def _part(text: str) -> str:
    return quote(text, safe="")
