"""Runs numapin with the real pynvml against the tests' own driver library, on this machine or on one of two nodes."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numapin.ids import CpuSet
from numapin.sources.nodes import read_nodes, read_online_cpus
from numapin.sources.root import LiveRoot
from tests.nvml.driver import Gpu, environment

STANDING_IN = """
import json, sys
from numapin.render.report import assigned
from numapin.settings import Settings
from numapin.sources.captured import DirectoryRoot
from numapin.sources.machine import read_machine
from numapin.verdict import judge

class Standing(DirectoryRoot):
    is_live = True  # so that the library is asked, as on the machine itself

topology, assignment = read_machine(Standing(sys.argv[1]), Settings())
verdict = judge(topology, assignment, Settings())
print(json.dumps({
    "assignment": assigned(assignment, verdict.homes), "verdict": verdict.status, "nodes": list(verdict.nodes),
    "reasons": [{"code": r.code, "severity": r.severity, "message": r.message} for r in verdict.reasons]}))
"""


@dataclass(frozen=True)
class Run:
    """What a process said: its exit, the report on its stdout, its stderr."""

    exit: int
    report: dict[str, Any]
    err: str

    @property
    def gpus(self) -> list[dict[str, Any]]:
        """The accelerators of the report."""
        found: list[dict[str, Any]] = self.report["assignment"]["accelerators"]
        return found

    def messages(self, code: str) -> list[str]:
        """The sentences of one reason."""
        return [reason["message"] for reason in self.report["reasons"] if reason["code"] == code]


@dataclass(frozen=True)
class Driver:
    """The library and the file of its answers."""

    shared_object: Path
    file: Path

    def check(self, told: str | bytes, *options: str, **variables: str) -> Run:
        """`numapin check` on this machine."""
        return self._run(["-m", "numapin", "check", "--format", "json", *options], told, variables)

    def standing(self, root: Path, told: str | bytes, **variables: str) -> Run:
        """The same reading and judging with another machine's files under the live library."""
        (root / "proc/self/environ").write_bytes(b"".join(f"{n}={v}\0".encode() for n, v in variables.items()))
        return self._run(["-c", STANDING_IN, str(root)], told, {})

    def _run(self, arguments: list[str], told: str | bytes, variables: dict[str, str]) -> Run:
        self.file.write_bytes(told.encode() if isinstance(told, str) else told)
        clean = {name: value for name, value in os.environ.items() if "VISIBLE_DEVICES" not in name}
        done = subprocess.run(
            [sys.executable, *arguments],
            env=clean | environment(self.shared_object.parent, self.file) | variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) <= 2, done.stderr
        return Run(done.returncode, json.loads(done.stdout or "{}"), done.stderr)


def near() -> str:
    """The CPUs of one node of this machine that this process may use: what a GPU beside them would answer."""
    online = read_online_cpus(LiveRoot())
    allowed = CpuSet.of(os.sched_getaffinity(0))
    return next(str(node.cpus) for node in read_nodes(LiveRoot(), online) if node.cpus & allowed)


def gpu(index: int, **fields: Any) -> Gpu:
    """A GPU that differs from its neighbours in everything that names it."""
    named: dict[str, Any] = {
        "uuid": f"GPU-{chr(97 + index) * 8}-0000",
        "pci": f"0009:{index + 3:02x}:00.0",
        "cpus": near(),
    }
    return Gpu(**(named | fields))
