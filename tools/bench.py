"""How long numapin takes to start, as a ratio to bare Python on the same machine in the same minute; and to read.

    tools/bench.py           the table
    tools/bench.py --check   exit status 1 where a budget is exceeded
    tools/bench.py --rounds N

`numapin run -- true` with one GPU (the tests' own driver library answers the real pynvml) and one NIC (a function of
this machine, where it has one), and `numapin check` of a large machine beside hwloc's lstopo on the same files.
Programs are timed in turns, so that a busy moment meets all of them; medians are shown.
"""

import argparse
import json
import operator
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
sys.path.insert(0, str(CHECKOUT))

from numapin.ids import CpuSet  # noqa: E402 -- of this checkout
from tests.machines.builder import build_machine  # noqa: E402 -- the tests' helpers lie beside the tools
from tests.nvml.driver import Gpu, answers, build, environment  # noqa: E402

START, JSON_START = 6.0, 10.0
"""How many times as long as bare Python a start may take; with the JSON log."""
GOAL = 3.0
NUMAPIN = str(Path(sys.executable).with_name("numapin"))
NETWORK, DISPLAY = "0x02", "0x03"
"""First digits of the PCI classes that are asked for."""


@dataclass
class Timed:
    """A program and how long its runs took, in milliseconds."""

    name: str
    command: list[str]
    env: dict[str, str]
    statuses: tuple[int, ...] = (0,)
    budget: float | None = None
    """In runs of bare Python."""
    times: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    def run(self) -> None:
        """Once more, from the start of the process to its end."""
        begin = time.perf_counter()
        done = subprocess.run(self.command, env=self.env, capture_output=True, text=True, check=False)
        self.times.append((time.perf_counter() - begin) * 1000)
        if done.returncode not in self.statuses:
            sys.exit(f"bench: {self.name} ended with {done.returncode}: {done.stderr.strip()}")


def in_turns(programs: list[Timed], rounds: int) -> None:
    """Each program once a round, after a round that only warms the caches."""
    for number in range(rounds + 1):
        progress(f"round {number} of {rounds}: {', '.join(program.name for program in programs)}")
        for program in programs:
            program.run()
            if not number:
                program.times.clear()
    progress("")


def progress(text: str) -> None:
    """One line that says what is going on, on a terminal always the same line."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text[:100]}", end="", file=sys.stderr, flush=True)


def functions(code: str) -> Iterator[str]:
    """Addresses of this machine's PCI functions of a class."""
    for place in sorted(Path("/sys/bus/pci/devices").glob("*")):
        if (place / "class").read_text().startswith(code):
            yield place.name


def surroundings(directory: Path) -> tuple[dict[str, str], str]:
    """The environment of a container with one GPU and one NIC, and what of it is real."""
    gpu = next(functions(DISPLAY), "0000:3b:00.0")
    (directory / "answers").write_text(answers([Gpu(uuid="GPU-1", pci=gpu, cpus="0", nodes="0")]))
    inherited = {name: text for name, text in os.environ.items() if not name.startswith(("NUMAPIN_", "PCIDEVICE_"))}
    env = inherited | environment(build(directory).parent, directory / "answers")
    nic = next(functions(NETWORK), None)
    said = f"one GPU (the tests' driver library), one NIC ({nic})" if nic else "one GPU, no NIC: this machine has none"
    if nic:
        env["PCIDEVICE_BENCH_NIC"] = nic
    done = subprocess.run([NUMAPIN, "plan", "--format", "json"], env=env, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    if done.returncode:
        env |= {"NUMAPIN_POLICY": "best-effort", "NUMAPIN_UNKNOWN": "warn"}
        said += f"; {report['verdict']} here, hence --policy best-effort"
    if any(step["kind"] == "irq" for step in report["steps"]):
        env["NUMAPIN_IRQ"] = "off"
        said += "; --irq off, since a benchmark moves no interrupts"
    return env | {"NUMAPIN_MEMORY": "try"}, said


def starts(directory: Path, rounds: int) -> list[Timed]:
    """Bare Python, and numapin's starts beside it."""
    env, said = surroundings(directory)
    # Neither this environment's start-up files nor those of the interpreter below: they would make bare Python slow.
    venv.create(directory / "bare", symlinks=True)
    bare = str(directory / "bare/bin/python")
    print(f"numapin run -- true: {said}; the goal is {GOAL:g} x")
    paths = [str(CHECKOUT), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    image = f"import sys; sys.path[:0] = {paths}; from numapin.cli import main; main()"
    programs = [
        Timed("python3 -I -c pass", [bare, "-I", "-c", "pass"], env),
        Timed("numapin run -- true", [NUMAPIN, "run", "--", "true"], env, budget=START),
        Timed("the same, as the image starts it", [bare, "-ISc", image, "run", "--", "true"], env, budget=START),
        Timed("with --log-format json", [NUMAPIN, "run", "--log-format", "json", "--", "true"], env, budget=JSON_START),
    ]
    in_turns(programs, rounds)
    return programs


LARGE = {"cpus": 1024, "nodes": 8, "gpus": 16, "nics": 32, "interrupts": 64}


def large_machine() -> Iterator[str]:
    """1,024 CPUs on 8 nodes, 16 GPUs and 32 NICs with 64 interrupts each, all of it this container's."""
    share = LARGE["cpus"] // LARGE["nodes"]
    for node in range(LARGE["nodes"]):
        distances = ",".join("10" if other == node else "21" for other in range(LARGE["nodes"]))
        yield f"node {node} cpus={node * share}-{(node + 1) * share - 1} memory=256G distances={distances}"
    for number in range(LARGE["gpus"]):
        yield f"gpu {number:04x}:17:00.0 node={number * LARGE['nodes'] // LARGE['gpus']}"
    for number in range(LARGE["nics"]):
        first = 1000 + number * LARGE["interrupts"]
        node = number * LARGE["nodes"] // LARGE["nics"]
        place = f"pci={number:04x}:3c:00.0 node={node}"
        yield f"rdma mlx5_{number} {place} irqs={first}-{first + LARGE['interrupts'] - 1} netdev=ib{number}"
    yield f"file /sys/devices/system/cpu/possible 0-{LARGE['cpus'] - 1}"
    for cpu in range(LARGE["cpus"]):
        yield from _for_lstopo(cpu, cpu // share, share)


def _for_lstopo(cpu: int, node: int, share: int) -> Iterator[str]:
    """Files of a CPU that hwloc does not do without, and numapin does."""
    place = f"file /sys/devices/system/cpu/cpu{cpu}/topology"
    package = CpuSet.of(range(node * share, (node + 1) * share)).format_mask(LARGE["cpus"])
    alone = CpuSet.of([cpu]).format_mask(LARGE["cpus"])
    yield f"{place}/core_id {cpu % share}"
    for name in ("core_cpus", "thread_siblings"):
        yield f"{place}/{name} {alone}"
    for name in ("package_cpus", "core_siblings"):
        yield f"{place}/{name} {package}"
    if cpu % share == 0:
        yield f"file /sys/devices/system/node/node{node}/cpumap {package}"


def readings(directory: Path, rounds: int) -> list[Timed]:
    """`check` of the large machine, and lstopo on the same files where it is installed."""
    progress("writing the large machine")
    root = build_machine(directory / "large", *large_machine())
    env = {name: text for name, text in os.environ.items() if not name.startswith("NUMAPIN_")}
    check = [NUMAPIN, "check", "--policy", "restricted", "--root", str(root)]
    programs = [Timed("numapin check --root", check, env, statuses=(0, 78))]
    lstopo = shutil.which("lstopo-no-graphics")
    if lstopo:
        hwloc = {"HWLOC_FSROOT": str(root), "HWLOC_THISSYSTEM": "0", "HWLOC_COMPONENTS": "linux,stop"}
        command = [lstopo, "--whole-io", "--of", "console"]
        programs.append(Timed("lstopo", command, env | hwloc))
    print(
        f"\na machine of {LARGE['cpus']:,} CPUs, {LARGE['gpus']} GPUs, {LARGE['nics']} NICs with "
        f"{LARGE['interrupts']} interrupts each"
    )
    in_turns(programs, rounds)
    return programs


def table(programs: list[Timed]) -> list[str]:
    """Print the medians, those with a budget as a ratio to the first; what exceeds its budget comes back."""
    exceeded = []
    for program in programs:
        # Of each round its own ratio: what slows the machine down for a while slows down both.
        ratio = statistics.median(map(operator.truediv, program.times, programs[0].times))
        line = f"  {program.name:34} {program.median:8.1f} ms  ({min(program.times):.1f} to {max(program.times):.1f})"
        if program.budget:
            line += f"  {ratio:5.1f} x, budget {program.budget:g} x"
            if ratio > program.budget:
                exceeded.append(f"{program.name} takes {ratio:.1f} times bare Python, budget {program.budget:g}")
        print(line)
    return exceeded


def main() -> int:
    """Measure, show, and with --check fail where a budget is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit status 1 where a budget is exceeded")
    parser.add_argument("--rounds", type=int, default=21)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        exceeded = table(starts(directory, asked.rounds))
        read = readings(directory, max(3, asked.rounds // 4))
        table(read)
    if len(read) < 2:
        print("  lstopo is not installed: nothing to compare with (package hwloc-nox)")
    elif read[0].median > read[1].median:
        exceeded.append(f"check takes {read[0].median:.0f} ms, lstopo {read[1].median:.0f} ms on the same files")
    for sentence in exceeded:
        print(f"over budget: {sentence}")
    return 1 if exceeded and asked.check else 0


if __name__ == "__main__":
    sys.exit(main())
