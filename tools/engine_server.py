"""The real vLLM behind numapin, for engine_proof.py: started, asked, looked at, ended."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import psutil
from demo import NUMAPIN, Wrong

TOP = Path(__file__).parents[1]
SECONDS = 300
IMAGE = """
mount -t tmpfs none /opt/numapin
mkdir /opt/numapin/lib
ln -s {packages}/* /opt/numapin/lib/
ln -sfn {top}/numapin /opt/numapin/lib/numapin
cp {top}/entrypoint /opt/numapin/entrypoint
exec /opt/numapin/entrypoint "$@"
"""
"""What the Dockerfile lays out, in a mount namespace of its own."""


def engine() -> tuple[str, str]:
    """vLLM and its model, as tools/engine tells."""
    done = subprocess.run([TOP / "tools/engine", "--print"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Wrong("the engine is not set up here: run tools/engine")
    found = dict(line.split("=", 1) for line in done.stdout.splitlines())
    return found["vllm"], found["model"]


def free_port() -> int:
    """A port of the loopback interface that nobody has."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        return int(holder.getsockname()[1])


def front() -> list[str]:
    """The words before the server's command: the entry point as PID 1, or numapin itself."""
    if os.geteuid() or not shutil.which("unshare"):
        return [NUMAPIN, "run", "--"]
    script = IMAGE.format(packages=sysconfig.get_paths()["purelib"], top=TOP)
    Path("/opt/numapin").mkdir(parents=True, exist_ok=True)
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-ec", script, "entrypoint"]


class Server:
    """vLLM behind numapin, and what it says, in a file."""

    def __init__(self, command: list[str], environment: dict[str, str], port: int) -> None:
        self.port, self.failures, self.answers = port, 0, 0
        self.log = tempfile.NamedTemporaryFile("w+", prefix="numapin-engine-", suffix=".log", delete=False)  # noqa: SIM115
        environment |= {"NUMAPIN_PYTHON": sys.executable, "NUMAPIN_METRICS": f"{self.log.name}.prom"}
        self.process = subprocess.Popen([*front(), *command], env=environment, stdout=self.log, stderr=self.log)
        self._asking = threading.Thread(target=self._ask, daemon=True)

    @property
    def url(self) -> str:
        """Where its API is."""
        return f"http://127.0.0.1:{self.port}"

    def said(self) -> list[str]:
        """The lines that numapin and its keeper said."""
        return [line for line in Path(self.log.name).read_text(errors="replace").splitlines() if "numapin: " in line]

    def get(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the API."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            headers = {"content-type": "application/json"}
            connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise Wrong(f"{method} {path} answered {answer.status}: {text[:200]!r}")
        return json.loads(text) if text else {}

    def wait(self) -> float:
        """Until it is up; the seconds that took."""
        start = time.monotonic()
        while time.monotonic() - start < SECONDS:
            if self.process.poll() is not None:
                raise Wrong(f"vLLM ended with {self.process.returncode}: {self.log.name}")
            with suppress(OSError, HTTPException, Wrong):
                self.get("GET", "/health")
                self._asking.start()
                return time.monotonic() - start
            if sys.stderr.isatty():
                print(f"\r  waiting for /health: {time.monotonic() - start:3.0f} s", end="", file=sys.stderr)
            time.sleep(0.5)
        raise Wrong(f"vLLM did not come up in {SECONDS} s: {self.log.name}")

    def _ask(self) -> None:
        """Ask for its health all the while."""
        while self.answers >= 0:
            try:
                self.get("GET", "/health")
                self.answers += 1
            except (OSError, HTTPException, Wrong):
                self.failures += 1
            time.sleep(0.1)

    def processes(self) -> list[psutil.Process]:
        """vLLM's, the first one first; the keeper and what is in front of it left out."""
        found = [psutil.Process(self.process.pid), *psutil.Process(self.process.pid).children(recursive=True)]
        return [one for one in found if name(one.pid, one.pid) not in ("unshare", "numapin-keeper")]

    def end(self) -> int:
        """SIGTERM to vLLM; its exit status, which unshare hands on."""
        self.answers, told = -(1 << 60), self.processes()[0]
        told.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def close(self) -> None:
        """Leave nothing behind, whatever happened."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        with suppress(OSError):
            Path("/opt/numapin").rmdir()


def name(pid: int, tid: int) -> str:
    """A thread's name."""
    return Path(f"/proc/{pid}/task/{tid}/comm").read_text().strip()
