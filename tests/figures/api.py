"""An OpenAI-style server that answers at its own pace. Stands for vLLM where latencies must be known beforehand."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

FIRST, GAP, TOKENS = 0.05, 0.02, 5


class Api(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    answer: Any = None
    """Told each body; what it returns is sent instead of tokens."""
    asked: ClassVar[list[dict]] = []

    def log_message(self, *_: object) -> None:
        """Be silent."""

    def do_GET(self) -> None:
        self._send(b'{"data": [{"id": "tiny"}]}' if self.path == "/v1/models" else b"[]")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(body)
        other = type(self).answer
        if other:
            self._send(*other)
            return
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        time.sleep(FIRST)
        for number in range(TOKENS):
            time.sleep(GAP if number else 0)
            self._chunk(f'data: {{"choices": [{{"text": " {number}"}}]}}\n\n')
        self._chunk('data: {"choices": [], "usage": {}}\n\n')
        self._chunk("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, text: str) -> None:
        self.wfile.write(f"{len(text):x}\r\n{text}\r\n".encode())
        self.wfile.flush()

    def _send(self, content: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def serving(*other: Any, kind: type[Api] = Api) -> Iterator[tuple[str, list[dict]]]:
    """Its URL, and the bodies that it was asked with; `other`: what it says instead of tokens, and the status."""
    kind = type("Serving", (kind,), {"answer": other or None, "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", kind.asked
    finally:
        server.shutdown()
        server.server_close()
