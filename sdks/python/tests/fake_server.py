"""A server that plays a script: hands out tasks and remembers what it is told."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable


class Quiet(ThreadingHTTPServer):
    """Does not mind clients that leave before they are answered."""

    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        pass


class FakeServer:
    """Answers each path with a function of the request's body; see :meth:`on`."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, Any, dict[str, str]]] = []
        self._answers: dict[str, Callable[[Any], tuple[int, Any]]] = {}
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
                status, answer = fake.take(self.command, self.path, body, headers)
                payload = json.dumps(answer).encode() if answer is not None else b""
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            do_GET = do_POST = answer

            def log_message(self, *_: Any) -> None:
                pass

        self._server = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def on(self, path: str, answer: Callable[[Any], tuple[int, Any]]) -> None:
        """Answers a path (without its query) with a function."""
        self._answers[path] = answer

    def take(self, method: str, path: str, body: Any, headers: dict[str, str]) -> tuple[int, Any]:
        with self._changed:
            self.calls.append((method, path, body, headers))
            self._changed.notify_all()
        answer = self._answers.get(path.split("?")[0])
        return answer(body) if answer else (404, {"code": "not_found"})

    def wait_for(self, path: str) -> Any:
        """The body of the first call of a path, as soon as there is one."""
        with self._changed:
            found = lambda: next((it for it in self.calls if it[1].split("?")[0] == path), None)
            self._changed.wait_for(lambda: found() is not None, timeout=30)
            call = found()
        assert call is not None, f"nobody called {path}: {self.calls}"
        return call[2]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Tasks:
    """Hands out tasks once each, then lets claims wait until the end."""

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
