"""A proxy that injects faults and records what the server really decided."""

from __future__ import annotations

import http.client
import json
import random
import socket
import struct
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

#: Faults before the server has seen the request, and after.
BEFORE = ("500", "502", "503", "429", "closed before", "reset before", "stalled")
AFTER = ("500 after", "closed after", "reset after", "cut off", "nonsense", "slow")

#: The probability of a fault per request. Lower for claims: a lost answer costs a whole lease.
RATE, CLAIM_RATE = 0.35, 0.15


class Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: Any) -> None:
        pass


class Proxy:
    """A proxy in front of a server. The seed decides the sequence of faults; which request gets
    which fault depends on the order of arrival."""

    def __init__(self, upstream: str, seed: int) -> None:
        parts = urlsplit(upstream)
        self._upstream = (parts.hostname or "", parts.port or 80)
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._calm = False
        self.requests = 0
        self.faults: Counter[str] = Counter()
        #: What the server decided about each report and extension, by task and token.
        self.reports: dict[tuple[str, str], list[int]] = {}
        self.extensions: dict[tuple[str, str], list[int]] = {}
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self) -> None:
                proxy._handle(self)

            do_GET = do_POST = handle_one

            def log_message(self, *_: Any) -> None:
                pass

        self._server = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def calm(self) -> None:
        """No faults from now on."""
        self._calm = True

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _fault(self, path: str) -> str | None:
        rate = CLAIM_RATE if path.endswith("/claim") else RATE
        with self._lock:
            self.requests += 1
            if self._calm or self._random.random() >= rate:
                return None
            fault = self._random.choice(BEFORE + AFTER)
            self.faults[fault] += 1
            return fault

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("content-length", "0")))
        fault = self._fault(handler.path)
        if fault in BEFORE:
            self._fail(handler, str(fault))
            return
        status, answer = self._pass_on(handler, body)
        if fault is None or fault == "slow":
            self._answer(handler, status, answer, is_slow=fault == "slow")
        elif fault == "cut off":
            self._answer(handler, status, answer[: len(answer) // 2], length=len(answer) + 1)
            handler.close_connection = True
        elif fault == "nonsense":
            self._answer(handler, 200, b"<html>Welcome</html>")
        else:
            self._fail(handler, fault.removesuffix(" after"))

    def _fail(self, handler: BaseHTTPRequestHandler, fault: str) -> None:
        if fault.isdigit():
            headers = {"retry-after": "0"} if fault == "429" else {}
            self._answer(handler, int(fault), b"<html>Sorry</html>", headers=headers)
            return
        if fault == "stalled":
            time.sleep(0.5)
        if fault.startswith("reset"):
            # Closing with a linger time of zero sends a reset.
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.close_connection = True

    @staticmethod
    def _answer(
        handler: BaseHTTPRequestHandler,
        status: int,
        body: bytes,
        *,
        length: int | None = None,
        headers: dict[str, str] | None = None,
        is_slow: bool = False,
    ) -> None:
        handler.send_response(status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(body) if length is None else length))
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.end_headers()
        pieces = 8 if is_slow else 1
        size = max(1, -(-len(body) // pieces))
        for start in range(0, len(body), size):
            if is_slow:
                time.sleep(0.05)
            handler.wfile.write(body[start : start + size])

    def _pass_on(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[int, bytes]:
        upstream = http.client.HTTPConnection(*self._upstream, timeout=60)
        try:
            names = ("content-type", "accept", "idempotency-key")
            headers = {it: handler.headers[it] for it in names if it in handler.headers}
            upstream.request(handler.command, handler.path, body=body or None, headers=headers)
            answer = upstream.getresponse()
            text = answer.read()
        finally:
            upstream.close()
        self._write_down(handler.path, body, answer.status, text)
        if handler.path.endswith("/claim") and answer.status == 200:
            text = _with_tokens(text)
        return answer.status, text

    def _write_down(self, path: str, body: bytes, status: int, text: bytes) -> None:
        """Records a decision about a task, whether or not the worker gets the answer."""
        parts = path.split("?")[0].split("/")
        if len(parts) < 5 or parts[3] != "tasks":
            return
        with self._lock:
            if parts[4:] == ["complete"]:
                tokens = {it["id"]: it["leaseToken"] for it in json.loads(body)["results"]}
                items = json.loads(text)["results"] if status == 200 else []
                for item in items:
                    key = (item["id"], tokens[item["id"]])
                    self.reports.setdefault(key, []).append(item["status"])
            elif parts[5:] in (["fail"], ["extend"]):
                key = (parts[4], json.loads(body)["leaseToken"])
                noted = self.reports if parts[5] == "fail" else self.extensions
                noted.setdefault(key, []).append(status)


def _with_tokens(text: bytes) -> bytes:
    """Adds the token of the claim to the input: it identifies one execution."""
    claimed = json.loads(text)
    for task in claimed["tasks"]:
        task["headers"] = {**(task.get("headers") or {}), "token": task["leaseToken"]}
    return json.dumps(claimed).encode()
