"""Runs the cases of guest scripts, in their order, inside an emulated computer: main.py NAME...

A case is a function of tests/lab/guest/NAME.py under `@case`; what it returns, as JSON, is what its test gets. One that
raises or hangs is told so, and the next goes on.
"""

import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path("/run/lab")
SECONDS = 120
"""The longest that a case may take."""

CASES: list[Callable[[], Any]] = []


def case(function: Callable[[], Any]) -> Callable[[], Any]:
    """Mark a function of a guest script as one of its cases."""
    CASES.append(function)
    return function


def kernel() -> str:
    """A case that every round has: the release that really runs."""
    return os.uname().release


def _run(function: Callable[[], Any]) -> dict[str, Any]:
    begin = time.monotonic()
    signal.alarm(SECONDS)
    try:
        told = {"value": function()}
    except Exception:  # noqa: BLE001 -- whatever it is, it is that case's result
        told = {"error": traceback.format_exc()}
    finally:
        signal.alarm(0)
    return {"case": function.__name__, "seconds": round(time.monotonic() - begin, 2), **told}


def _took_too_long(number: int, frame: object) -> None:
    raise TimeoutError(f"the case took longer than {SECONDS} s")


def main(*scripts: str) -> None:
    """Write one JSON object a line, each as soon as its case is over."""
    signal.signal(signal.SIGALRM, _took_too_long)
    for script in scripts:
        importlib.import_module(f"tests.lab.guest.{script}")
    CASES.insert(0, kernel)
    names = [function.__name__ for function in CASES]
    if len(names) != len(set(names)):
        raise ValueError(f"two cases of one name: {names}")
    with (RESULTS / "results").open("a") as out:
        for function in CASES:
            out.write(json.dumps(_run(function)) + "\n")
            out.flush()
    (RESULTS / "finished").touch()


if __name__ == "__main__":
    # Guest scripts import `case` from this module by its name, which must be this very module.
    sys.modules["tests.lab.guest.main"] = sys.modules["__main__"]
    main(*sys.argv[1:])
