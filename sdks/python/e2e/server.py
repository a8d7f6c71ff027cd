"""The real server with its own store, for the tests in this directory."""

import json
import os
import subprocess
import tempfile
import threading


class Server:
    def __init__(self):
        self._directory = tempfile.TemporaryDirectory()
        self._address = "127.0.0.1:0"
        self._process = None

    @property
    def url(self):
        return f"http://{self._address}"

    def start(self):
        """Starts it; a second start uses the same port and store."""
        binary = os.environ["MEANTIME_TEST_BINARY"]
        options = ["serve", "--db", "sqlite:state.db", "--listen", self._address]
        self._process = subprocess.Popen(
            [binary, *options],
            cwd=self._directory.name,
            env={**os.environ, "MEANTIME_LOG__FORMAT": "json"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for line in self._process.stderr:
            address = json.loads(line)["fields"].get("address")
            if address:
                self._address = address
                threading.Thread(target=self._drain, args=(self._process,), daemon=True).start()
                return
        raise RuntimeError("the server did not start")

    def kill(self):
        """Kills it."""
        self._process.kill()
        self._process.wait()

    def close(self):
        self.kill()
        self._directory.cleanup()

    @staticmethod
    def _drain(process):
        with process.stderr as lines:
            for _ in lines:
                pass
