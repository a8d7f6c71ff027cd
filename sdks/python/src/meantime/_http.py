"""JSON over HTTP with the standard library: kept-alive connections, one per thread."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from typing import Any, Mapping
from urllib.parse import urlencode, urlsplit

from .errors import MeantimeError, Problem, Unavailable

Json = Any


class Transport:
    """Sends requests to one server. Safe to use from several threads."""

    def __init__(self, url: str, token: str | None = None, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise MeantimeError(f"not the address of a server: {url!r}")
        self._secure = parts.scheme == "https"
        self._host = parts.hostname
        self._port = parts.port or (443 if self._secure else 80)
        self._base = parts.path.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._local = threading.local()
        self._open: set[http.client.HTTPConnection] = set()
        self._lock = threading.Lock()

    def request(
        self,
        method: str,
        path: str,
        body: Json = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        raw: bytes | None = None,
    ) -> Json:
        """Sends one request and gives back the JSON of a 2xx answer, or None when it is empty.

        Raises :class:`Problem` when the server refuses, :class:`Unavailable` when it cannot answer.
        """
        target = self._base + path
        if query:
            given = {key: value for key, value in query.items() if value is not None}
            if given:
                target += "?" + urlencode(given, doseq=True)
        sent = {"accept": "application/json", **(headers or {})}
        if self._token:
            sent["authorization"] = f"Bearer {self._token}"
        payload = raw
        if raw is None and body is not None:
            payload = json.dumps(body, separators=(",", ":")).encode()
            sent.setdefault("content-type", "application/json")
        status, answered, text = self._send(method, target, payload, sent, timeout)
        if status in (429, 502, 503, 504):
            retry = answered.get("retry-after")
            after = float(retry) if retry and retry.isdigit() else None
            raise Unavailable(f"the server answered {status}", after)
        if status >= 400:
            raise Problem(status, _problem(text))
        return json.loads(text) if text else None

    def close(self) -> None:
        """Closes all connections. A request that waits for its answer fails at once."""
        with self._lock:
            connections, self._open = self._open, set()
        for connection in connections:
            if isinstance(connection.sock, socket.socket):
                try:
                    connection.sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # The other side was faster.
            connection.close()

    def _send(
        self,
        method: str,
        target: str,
        payload: bytes | None,
        headers: Mapping[str, str],
        timeout: float | None,
    ) -> tuple[int, Mapping[str, str], bytes]:
        # A connection that was kept may have been closed by the server: then, and only when
        # nothing was answered, the request is sent once more on a new one.
        for fresh in (False, True):
            connection, kept = self._connection(fresh)
            try:
                self._set_timeout(connection, timeout or self._timeout)
                connection.request(method, target, body=payload, headers=dict(headers))
                answer = connection.getresponse()
                text = answer.read()
                names = {name.lower(): value for name, value in answer.getheaders()}
                return answer.status, names, text
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError) as why:
                self._forget()
                if fresh or not kept:
                    raise Unavailable(f"the connection broke: {why}") from why
            except (OSError, http.client.HTTPException) as why:
                self._forget()
                raise Unavailable(f"the server cannot be reached: {why}") from why
        raise Unavailable("the server cannot be reached")

    def _connection(self, fresh: bool) -> tuple[http.client.HTTPConnection, bool]:
        kept = getattr(self._local, "connection", None)
        if kept is not None and not fresh:
            return kept, True
        self._forget()
        if self._secure:
            context = ssl.create_default_context()
            made: http.client.HTTPConnection = http.client.HTTPSConnection(
                self._host, self._port, timeout=self._timeout, context=context
            )
        else:
            made = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        self._local.connection = made
        with self._lock:
            self._open.add(made)
        return made, False

    @staticmethod
    def _set_timeout(connection: http.client.HTTPConnection, seconds: float) -> None:
        connection.timeout = seconds
        if isinstance(connection.sock, socket.socket):
            connection.sock.settimeout(seconds)

    def _forget(self) -> None:
        kept = getattr(self._local, "connection", None)
        if kept is not None:
            self._local.connection = None
            with self._lock:
                self._open.discard(kept)
            kept.close()


def _problem(text: bytes) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {"detail": text.decode(errors="replace")[:200]}
