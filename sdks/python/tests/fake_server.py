"""A scripted server: gives out tasks and records the requests."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable


#: The same as the real server's.
MAX_BODY_BYTES = 1 << 20

#: No answer: the connection is closed instead.
DROPPED = (0, None)


class Quiet(ThreadingHTTPServer):
    """Ignores clients that disconnect before they are answered."""

    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        pass


class FakeServer:
    """Answers each path with a function of the request's body; see :meth:`on`.

    An answer is a status and JSON, and optional headers; or :data:`DROPPED`. Bytes are sent
    unchanged; a larger ``content-length`` makes the answer a truncated one.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, Any, dict[str, str]]] = []
        self.max_body_bytes = MAX_BODY_BYTES
        self._answers: dict[str, Callable[[Any], Any]] = {}
        self._changed = threading.Condition()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                length = int(self.headers.get("content-length", "0"))
                text = self.rfile.read(length)
                kind = self.headers.get("content-type", "")
                body = json.loads(text) if text and "json" in kind else text.decode() or None
                headers = {name.lower(): value for name, value in self.headers.items()}
                if length > fake.max_body_bytes:
                    status, answer, *more = 413, {"code": "too_large"}
                else:
                    status, answer, *more = fake.take(self.command, self.path, body, headers)
                if status == 0:
                    self.close_connection = True
                    return
                payload = answer if isinstance(answer, bytes) else b""
                if answer is not None and not isinstance(answer, bytes):
                    payload = json.dumps(answer).encode()
                told = {"content-type": "application/json", "content-length": str(len(payload))}
                told.update(*more)
                self.send_response(status)
                for name, value in told.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(payload)
                # Without this a client would wait for the rest of a truncated answer.
                self.close_connection = told["content-length"] != str(len(payload))

            do_GET = do_POST = answer

            def log_message(self, *_: Any) -> None:
                pass

        self._server = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def on(self, path: str, answer: Callable[[Any], Any]) -> None:
        """Answers a path (without its query) with a function."""
        self._answers[path] = answer

    def take(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Any:
        with self._changed:
            self.calls.append((method, path, body, headers))
            self._changed.notify_all()
        answer = self._answers.get(path.split("?")[0])
        try:
            return answer(body) if answer else (404, {"code": "not_found"})
        finally:
            with self._changed:
                self._changed.notify_all()

    def wait_for(self, path: str) -> Any:
        """Waits for the first call of a path and returns its body."""
        with self._changed:
            found = lambda: next((it for it in self.calls if it[1].split("?")[0] == path), None)
            self._changed.wait_for(lambda: found() is not None, timeout=30)
            call = found()
        assert call is not None, f"nobody called {path}: {self.calls}"
        return call[2]

    def wait_until(self, is_so: Callable[[], Any]) -> None:
        """Returns when a condition is true; it is checked after every call."""
        with self._changed:
            assert self._changed.wait_for(is_so, timeout=30), f"it never came: {self.calls}"

    def bodies(self, path: str) -> list[Any]:
        """The bodies of all calls of a path."""
        return [it[2] for it in list(self.calls) if it[1].split("?")[0] == path]

    def results(self) -> dict[str, Any]:
        """The results of all batch reports, by task; a repeated one counts once."""
        reports = self.bodies("/api/v1/tasks/complete")
        return {it["id"]: it for report in reports for it in report["results"]}

    def failures(self) -> dict[str, Any]:
        """The bodies of all single failures, by task."""
        paths = [it for it in list(self.calls) if it[1].endswith("/fail")]
        return {it[1].split("/")[-2]: it[2] for it in paths}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def all_good(body: Any) -> Any:
    """Accepts all results of a report."""
    return 200, {"results": [{"id": it["id"], "status": 200} for it in body["results"]]}


class Tasks:
    """Gives each task to one claim; later claims wait until the end."""

    def __init__(self, *tasks: dict[str, Any]) -> None:
        self._left = list(tasks)
        self._lock = threading.Lock()
        self.over = threading.Event()

    def __call__(self, body: Any) -> tuple[int, Any]:
        with self._lock:
            given, self._left = self._left[: body["max"]], self._left[body["max"] :]
        if not given:
            self.over.wait(timeout=30)
        return 200, {"tasks": given}


def task(number: int, type: str = "work", input: Any = None) -> dict[str, Any]:
    """A task as the server sends it."""
    return {
        "id": f"tk_{number}",
        "type": type,
        "instanceId": "in_1",
        "input": input,
        "attempt": 1,
        "leaseToken": f"1.{number}",
        "leaseUntil": "2026-01-01T00:00:00Z",
        "idempotencyKey": f"key-{number}",
    }
