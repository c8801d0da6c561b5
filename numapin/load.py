"""A simple closed loop of OpenAI-style completions: each client asks, reads the stream, and asks again.

One thread for each client, plain HTTP of the standard library: what it measures is the server, and what it costs should
be small. It is no benchmark of a model; it asks the same of a server before and after.
"""

import http.client
import json
import os
import random
import socket
import threading
import time
from contextlib import suppress
from itertools import pairwise
from typing import Any
from urllib.parse import SplitResult, urlsplit

from numapin.errors import CannotRead, UsageError
from numapin.figures.serving import Load, Request
from numapin.values import value

SECONDS = 60.0
"""The longest silence of a server."""
MOST_SAID = 1 << 16


@value
class Asking:
    """What is asked for, and by how many at a time."""

    url: str
    """Where the API is: `http://127.0.0.1:8000`, with or without /v1."""
    model: str | None
    """None: the first that /v1/models names."""
    clients: int
    tokens: int
    """The most that an answer may have."""
    words: int
    """Of each prompt: numbers at random, so that no prefix of it is cached from before."""


class Loop:
    """Starts asking when it is made. Raises UsageError for a URL that is none, CannotRead where nobody answers."""

    def __init__(self, asking: Asking) -> None:
        self._asking, self._place = asking, _place(asking.url)
        self._model = asking.model or _first_model(self._place)
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._connections: set[http.client.HTTPConnection] = set()
        self._requests: list[Request] = []
        self._failures: list[str] = []
        self._start = time.perf_counter()
        self._threads = [threading.Thread(target=self._ask_again, daemon=True) for _ in range(asking.clients)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> Load:
        """End it: answers that are still coming are cut off and do not count."""
        seconds = time.perf_counter() - self._start
        self._over.set()
        with self._lock:
            for connection in self._connections:
                if connection.sock:
                    with suppress(OSError):
                        connection.sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(SECONDS)
        why = self._failures[0] if self._failures else ""
        return Load(tuple(self._requests), len(self._failures), seconds, why)

    def _ask_again(self) -> None:
        connection = _connect(self._place)
        with self._lock:
            self._connections.add(connection)
        while not self._over.is_set():
            self._ask_once(connection)
        connection.close()

    def _ask_once(self, connection: http.client.HTTPConnection) -> None:
        try:
            found = self._ask(connection)
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            if not self._over.is_set():
                self._failures.append(f"{type(error).__name__}: {error}")
                self._over.wait(0.5)  # a server that is down is not asked a thousand times a second
        else:
            if not self._over.is_set():
                self._requests.append(found)

    def _ask(self, connection: http.client.HTTPConnection) -> Request:
        prompt = " ".join(str(random.randrange(10_000)) for _ in range(self._asking.words))  # noqa: S311 -- no secret
        body = {"model": self._model, "prompt": prompt, "max_tokens": self._asking.tokens, "stream": True}
        begin = time.perf_counter()
        connection.request("POST", f"{self._place.path}/completions", json.dumps(body), _headers())
        response = connection.getresponse()
        if response.status != http.client.OK:
            raise ValueError(f"HTTP {response.status}: {_said(response.read(MOST_SAID))}")
        moments = [begin, *_moments(response)]
        if len(moments) < 2:
            raise ValueError("an answer without a token")
        gaps = tuple(later - earlier for earlier, later in pairwise(moments[1:]))
        return Request(moments[1] - begin, gaps)


def _said(content: bytes) -> str:
    """What the server said of a failure: its message, where it is JSON like OpenAI's."""
    with suppress(ValueError, LookupError, TypeError):
        return str(json.loads(content)["error"]["message"])[:200]
    return content[:200].decode(errors="replace")


def _moments(response: http.client.HTTPResponse) -> list[float]:
    """When each token came, from a stream of server-sent events: lines of `data: {…}`, at last `data: [DONE]`."""
    moments = []
    while line := response.readline():
        content = line.strip().removeprefix(b"data:").strip()
        if not line.startswith(b"data:") or content == b"[DONE]":
            continue
        event = json.loads(content)
        if isinstance(event, dict) and event.get("choices"):
            moments.append(time.perf_counter())
        elif isinstance(event, dict) and "error" in event:
            raise ValueError(f"the server said {event['error']}")
    return moments


def _place(url: str) -> SplitResult:
    """The URL with /v1 as its path."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"--url {url} is no address like http://127.0.0.1:8000")
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith("/v1") else f"{path}/v1")


def _connect(place: SplitResult) -> http.client.HTTPConnection:
    kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
    return kind(place.hostname or "", place.port, timeout=SECONDS)


def _headers() -> dict[str, str]:
    key = os.environ.get("OPENAI_API_KEY")
    return {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})


def _first_model(place: SplitResult) -> str:
    """What the server calls its model. Raises CannotRead where it does not answer, or not like that."""
    connection = _connect(place)
    where = f"{place.geturl()}/models"
    try:
        connection.request("GET", f"{place.path}/models", headers=_headers())
        found: Any = json.loads(connection.getresponse().read())
        return str(found["data"][0]["id"])
    except (OSError, http.client.HTTPException) as error:
        raise CannotRead(f"nobody answers at {where}: {error}", "Is the server up? --url names it.") from None
    except (ValueError, LookupError, TypeError):
        raise CannotRead(f"{where} names no model", "Name it by --model, or look whether --url is right.") from None
    finally:
        connection.close()
