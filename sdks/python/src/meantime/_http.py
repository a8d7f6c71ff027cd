"""JSON over HTTP with the standard library: kept-alive connections, one per thread."""

from __future__ import annotations

import email.utils
import http.client
import io
import json
import select
import socket
import ssl
import threading
import time
from typing import Any, Mapping
from urllib.parse import urlencode, urlsplit

from ._json import encode
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
        self._closed = False

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
        repeatable: bool = False,
    ) -> Json:
        """Sends one request and returns the JSON of a 2xx answer, or None when it is empty.

        ``raw`` is sent unchanged, instead of ``body``. ``repeatable`` means that a repetition has
        no second effect: only then is it sent again if a kept connection breaks first.

        Raises :class:`Problem` when the server rejects it, :class:`Unavailable` without an answer.
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
            payload = encode(body)
        if payload is not None:
            sent.setdefault("content-type", "application/json")
        limit = self._timeout if timeout is None else timeout
        status, answered, text = self._send(method, target, payload, sent, limit, repeatable)
        if status >= 500 or status in (408, 429):
            after = _retry_after(answered.get("retry-after"))
            raise Unavailable(f"the server answered {status}", after, unsent=status == 429)
        if status >= 400:
            raise Problem(status, _problem(text))
        try:
            return json.loads(text) if text else None
        except ValueError as why:
            raise Unavailable(f"the answer is not JSON: {why}") from why

    def close(self) -> None:
        """Closes all connections permanently. A request that waits for its answer fails at once."""
        with self._lock:
            self._closed = True
            connections, self._open = self._open, set()
        for connection in connections:
            if isinstance(connection.sock, socket.socket):
                try:
                    connection.sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # The other side has closed it already.
            connection.close()

    def _send(
        self,
        method: str,
        target: str,
        payload: bytes | None,
        headers: Mapping[str, str],
        timeout: float,
        repeatable: bool,
    ) -> tuple[int, Mapping[str, str], bytes]:
        # A kept connection may be closed by the server at any moment: then, and only when nothing
        # was answered, a repeatable request is sent once more on a new one.
        for fresh in (False, True):
            connection, kept = self._connection(fresh, timeout)
            try:
                return _exchange(connection, method, target, payload, headers, timeout)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError) as why:
                self._forget()
                if fresh or not kept or not repeatable:
                    raise Unavailable(f"the connection broke: {why}") from why
            except (OSError, http.client.HTTPException) as why:
                self._forget()
                raise Unavailable(f"the server cannot be reached: {why}") from why
        raise Unavailable("the server cannot be reached")

    def _connection(self, fresh: bool, timeout: float) -> tuple[http.client.HTTPConnection, bool]:
        kept = getattr(self._local, "connection", None)
        if kept is not None and not fresh and _is_open(kept):
            return kept, True
        self._forget()
        if self._secure:
            context = ssl.create_default_context()
            made: http.client.HTTPConnection = http.client.HTTPSConnection(
                self._host, self._port, timeout=timeout, context=context
            )
        else:
            made = http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        try:
            made.connect()
        except OSError as why:
            made.close()
            raise Unavailable(f"the server cannot be reached: {why}", unsent=True) from why
        with self._lock:
            if self._closed:
                made.close()
                raise MeantimeError("the connections to the server were closed")
            self._open.add(made)
        self._local.connection = made
        return made, False

    def _forget(self) -> None:
        kept = getattr(self._local, "connection", None)
        if kept is not None:
            self._local.connection = None
            with self._lock:
                self._open.discard(kept)
            kept.close()


def _exchange(
    connection: http.client.HTTPConnection,
    method: str,
    target: str,
    payload: bytes | None,
    headers: Mapping[str, str],
    timeout: float,
) -> tuple[int, Mapping[str, str], bytes]:
    """One request and its answer, both within the timeout, however slowly the bytes arrive."""
    ends = time.monotonic() + timeout
    connection.timeout = timeout
    if connection.sock is not None:
        connection.sock.settimeout(timeout)
    connection.response_class = lambda sock, **options: _Response(sock, ends, **options)  # type: ignore[assignment]
    try:
        connection.request(method, target, body=payload, headers=dict(headers))
    except (BrokenPipeError, ConnectionResetError):
        # A server that rejects a body may answer and close before all of it was sent.
        try:
            answer = connection.getresponse()
        except (OSError, http.client.HTTPException):
            answer = None
        if answer is None or answer.status < 400:
            raise
    else:
        answer = connection.getresponse()
    text = answer.read()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text


class _Response(http.client.HTTPResponse):
    """An answer with one deadline for all of it. The timeout of a socket alone would start again
    with every byte."""

    def __init__(self, sock: socket.socket, ends: float, **options: Any) -> None:
        super().__init__(sock, **options)
        self.fp.close()
        self.fp = io.BufferedReader(_Until(sock, ends))


class _Until(io.RawIOBase):
    def __init__(self, sock: socket.socket, ends: float) -> None:
        self._sock = sock
        self._ends = ends
        # Keeps the socket open while the answer is read, as `makefile` requires.
        self._file = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)
        return self._file.readinto(buffer)  # type: ignore[attr-defined, no-any-return]

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _is_open(connection: http.client.HTTPConnection) -> bool:
    """Whether a kept connection can be used: if it is readable now, the server has closed it."""
    if connection.sock is None:
        return False
    try:
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(connection.sock, select.POLLIN)
            return not poll.poll(0)
        return not select.select([connection.sock], [], [], 0)[0]
    except (OSError, ValueError):
        return False


def _retry_after(text: str | None) -> float | None:
    """Seconds, from a number of them or from a date."""
    if not text:
        return None
    try:
        return max(0.0, float(text)) if float(text) < float("inf") else None
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _problem(text: bytes) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {"detail": text.decode(errors="replace")[:200]}
