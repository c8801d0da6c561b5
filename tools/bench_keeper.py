"""What the keeper costs once things are quiet: its share of one CPU, and its memory.

    tools/bench_keeper.py             a stand-in for vLLM with 1,000 threads, looked at for 30 seconds
    tools/bench_keeper.py --check     exit status 1 where a budget is exceeded
    tools/bench_keeper.py --threads N --seconds S

The stand-in sleeps, so that what is measured is the keeper's own work. Its CPU time is the kernel's count in
nanoseconds (/proc/<pid>/schedstat), its memory VmRSS.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from bench import progress
from demo import NUMAPIN

from tests.keeper.engine import Engine

RUN = ("run", "--policy", "best-effort", "--unknown", "warn", "--memory", "try", "--irq", "off", "--nics", "none")
HOT = ("--engine", "vllm", "--hot", "NCCL Progress*", "--rt", "off", "--")
QUIET = 40
"""Seconds after which names are read seldom."""
MOST_SHARE, MOST_MIB = 0.002, 20


def cpu_seconds(pid: int) -> float:
    """Time on a CPU."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def memory_mib(pid: int) -> float:
    """Resident memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def wait(seconds: float, text: str) -> None:
    """Wait, with progress on a terminal."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        progress(f"{text}: {left:3.0f} s")
        time.sleep(min(1.0, left))
    progress("")


def measure(threads: int, seconds: float) -> tuple[float, float]:
    """Share of one CPU, and MiB."""
    with Engine("--workers", "2", front=(NUMAPIN, *RUN, *HOT), variables=dict(os.environ)) as engine:
        engine.tell(f"spawn {threads - 20}")
        wait(QUIET, "until it is quiet")
        keeper = engine.keeper()
        if not keeper:
            raise SystemExit(f"bench: there is no keeper: {engine.said()}")
        before, start = cpu_seconds(keeper), time.monotonic()
        wait(seconds, "measuring")
        return (cpu_seconds(keeper) - before) / (time.monotonic() - start), memory_mib(keeper)


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description="What numapin's keeper costs once things are quiet.")
    parser.add_argument("--threads", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--check", action="store_true", help="exit status 1 where a budget is exceeded")
    asked = parser.parse_args()
    share, mib = measure(asked.threads, asked.seconds)
    print(f"keeper beside {asked.threads} threads: {share:.3%} of a CPU (budget {MOST_SHARE:.1%}), ", end="")
    print(f"{mib:.1f} MiB (budget {MOST_MIB})")
    return int(asked.check and (share > MOST_SHARE or mib > MOST_MIB))


if __name__ == "__main__":
    sys.exit(main())
