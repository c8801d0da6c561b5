"""Whether `numapin bench` measures what others measure: one CPU, its own memory, in turns, the best of each.

    tools/bench_memory.py              the table
    tools/bench_memory.py --check      exit status 1 where one of our figures is more than 10 % off the best peer's
    tools/bench_memory.py --rounds N --megabytes N

Peers that are installed are run: mbw (MEMCPY; it counts a copied byte once, so twice its figure is ours) and
likwid-bench (load, copy and store, the variants of this CPU). The same buffer for all; ours has huge pages where the
machine gives some. Nothing that Debian installs measures idle latency: docs/proof.md says what it was compared with.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from bench import progress

from numapin.kernel import bench

MIB, GIGA = 1 << 20, 1e9
WITHIN = 0.10
SECONDS = 1.0


@dataclass(frozen=True)
class Peer:
    """A program that measures one of our figures."""

    quantity: str
    name: str
    measure: Callable[[int, int], float]
    """Told a CPU and a size in MiB; GB/s."""


def likwid(test: str) -> Callable[[int, int], float]:
    """likwid-bench -t TEST: MByte/s, of 10^6 bytes."""

    def measure(cpu: int, size: int) -> float:
        words = ("likwid-bench", "-t", test, "-w", f"N:{size}MB:1", "-s", str(round(SECONDS)))
        return number(r"MByte/s:\s+([\d.]+)", cpu, *words) * 1e6 / GIGA

    return measure


def mbw(cpu: int, size: int) -> float:
    """mbw -t0, the average of five: MiB/s of bytes that were copied, each of which was read and written."""
    return number(r"AVG.*Copy: ([\d.]+) MiB/s", cpu, "mbw", "-q", "-t0", "-n", "5", str(size // 2)) * 2 * MIB / GIGA


def number(pattern: str, cpu: int, *words: str) -> float:
    """What a program printed, run on one CPU; 0 where it did not."""
    done = subprocess.run(["taskset", "-c", str(cpu), *words], capture_output=True, text=True, timeout=120, check=False)
    found = re.search(pattern, done.stdout)
    return float(found[1]) if found else 0.0


READS = ("load_sse", "load_avx", "load_avx512")
COPIES = ("copy_sse", "copy_avx", "copy_mem_sse", "copy_mem_avx", "copy_mem_avx512")
STORES = ("store_sse", "store_avx", "store_avx512", "store_mem_sse", "store_mem_avx", "store_mem_avx512")
PEERS = (
    *(Peer("read", f"likwid-bench {test}", likwid(test)) for test in READS),
    *(Peer("copy", f"likwid-bench {test}", likwid(test)) for test in COPIES),
    *(Peer("write", f"likwid-bench {test}", likwid(test)) for test in STORES),
    Peer("copy", "mbw MEMCPY", mbw),
)
OURS = {"read": bench.READ, "copy": bench.COPY, "write": bench.WRITE}


def measure(peers: list[Peer], cpu: int, size: int, rounds: int) -> dict[tuple[str, str], float]:
    """The best of all rounds, by quantity and who measured it."""
    best: dict[tuple[str, str], float] = {}
    for turn in range(rounds):
        progress(f"round {turn + 1} of {rounds}")
        found = {(kind, "numapin"): ours(cpu, size, OURS[kind]) for kind in OURS}
        found |= {(peer.quantity, peer.name): peer.measure(cpu, size) for peer in peers}
        best = {key: max(figure, best.get(key, 0.0)) for key, figure in found.items()}
    progress("")
    return best


def ours(cpu: int, size: int, kind: int) -> float:
    """As `numapin bench` measures it, with one thread; the kernel puts the memory beside the CPU."""
    return bench.bandwidth([cpu], -1, size * MIB, SECONDS, kind) / GIGA


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=512)
    asked = parser.parse_args()
    peers = [peer for peer in PEERS if shutil.which(peer.name.split()[0])]
    cpu = min(os.sched_getaffinity(0))
    best = measure(peers, cpu, asked.megabytes, asked.rounds)
    far = []
    print(f"\nmemory bandwidth of CPU {cpu}, {asked.megabytes} MiB, the best of {asked.rounds} rounds (GB/s)")
    for kind in OURS:
        others = {name: figure for (quantity, name), figure in best.items() if quantity == kind and name != "numapin"}
        top = max(others, key=lambda name: others[name], default="")
        ratio = best[kind, "numapin"] / others[top] if top and others[top] else 0.0
        beside = (
            f"{others[top]:6.1f} {top}: {ratio:.2f} ×" if ratio else "no peer is installed (apt-get install mbw likwid)"
        )
        print(f"  {kind:5}  {best[kind, 'numapin']:6.1f} numapin   {beside}")
        far += [kind] if ratio and ratio < 1 - WITHIN else []
    latency = bench.latency(cpu, -1, asked.megabytes * MIB, SECONDS)
    print(f"  idle latency {latency:.0f} ns; no peer that Debian has measures it")
    return 1 if asked.check and far else 0


if __name__ == "__main__":
    sys.exit(main())
