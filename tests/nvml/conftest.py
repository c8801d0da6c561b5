"""Asks the real pynvml, in a process of its own each time, since it keeps the library it has opened."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.nvml.driver import build, environment

PRELUDE = """
import ctypes, json, os, sys
import pynvml as n

def code(call, *args):
    try:
        call(*args)
    except n.NVMLError as error:
        return error.value
    return 0

def words(array):
    return [word for word in array]

def handles():
    return [n.nvmlDeviceGetHandleByIndex(i) for i in range(n.nvmlDeviceGetCount())]
"""

Ask = Callable[..., Any]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library, compiled once."""
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def ask(library: Path, tmp_path: Path) -> Ask:
    """Run a script with pynvml as `n` against these answers; the value of its `result` comes back."""

    def run(told: str | bytes | Path, script: str) -> Any:
        file = told if isinstance(told, Path) else tmp_path / "answers"
        if not isinstance(told, Path):
            file.write_bytes(told.encode() if isinstance(told, str) else told)
        source = f"{PRELUDE}\n{script}\njson.dump(result, sys.stdout)"
        done = subprocess.run(
            [sys.executable, "-c", source],
            env=os.environ | environment(library.parent, file),
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
