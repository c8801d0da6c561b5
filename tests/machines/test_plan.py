"""A dry run's lines are the run's lines: plan against what apply reports and asks of a kernel, on every machine."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from numapin.apply import apply
from numapin.cli import run
from numapin.cli.session import read_and_judge
from numapin.ids import CpuSet, NodeSet
from numapin.orders import Orders
from numapin.plan import Command, PlannedStep
from numapin.policies import MemoryPolicy, Scheduling
from numapin.render import text
from numapin.settings import Settings
from numapin.sources.opening import open_root
from tests.machines.builder import build_machine
from tests.machines.captured import GPU_HOSTS, HWLOC
from tests.machines.written import OURS, description

COMMAND = ("vllm", "serve", "a model")
POLICIES = {2: "MPOL_BIND", 5: "MPOL_PREFERRED_MANY"}
STATIC_NODES = 1 << 15


@dataclass
class Recorder:
    """A kernel on which nothing is set yet, that keeps all it is asked and writes down each change as a plan's line."""

    lines: list[str] = field(default_factory=list)
    cpus: CpuSet = field(default_factory=CpuSet)
    policy: MemoryPolicy = field(default_factory=lambda: MemoryPolicy(0, 0, NodeSet()))
    irqs: dict[int, CpuSet] = field(default_factory=dict)

    def affinity(self) -> CpuSet:
        return self.cpus

    def set_affinity(self, cpus: CpuSet) -> None:
        self.cpus = cpus
        self.lines.append(f"sched_setaffinity cpus={cpus}")

    def memory_policy(self) -> MemoryPolicy:
        return self.policy

    def set_memory_policy(self, policy: MemoryPolicy) -> None:
        self.policy = policy
        flags = {STATIC_NODES: "|MPOL_F_STATIC_NODES"}[policy.flags]
        self.lines.append(f"set_mempolicy {POLICIES[policy.mode]}{flags} nodes={policy.nodes}")

    def allowed_memory(self) -> NodeSet:
        return NodeSet.of(range(300))

    def scheduling(self) -> Scheduling:
        raise AssertionError("nobody asked for real-time scheduling")

    def set_scheduling(self, scheduling: Scheduling) -> None:
        raise AssertionError(f"nobody asked for {scheduling}")

    def interrupt_affinity(self, irq: int) -> CpuSet:
        return self.irqs.get(irq, CpuSet())

    def set_interrupt_affinity(self, irq: int, cpus: CpuSet) -> None:
        self.irqs[irq] = cpus
        self.lines.append(f"write /proc/irq/{irq}/smp_affinity_list {cpus}")

    def start_keeper(self, orders: Orders) -> str:
        self.lines.append(f"start keeper: {orders}")
        return "done"

    def variable(self, _: str) -> None:
        return None

    def set_variable(self, name: str, content: str) -> None:
        self.lines.append(f"setenv {name}={content}")

    def execute(self, path: str, arguments: tuple[str, ...], applied: str) -> None:
        assert applied.startswith("v1 ")
        self.lines.append(shlex.join(["execve", path, *arguments[1:]]))


@pytest.fixture(params=[*OURS, *GPU_HOSTS, *HWLOC])
def root(request: pytest.FixtureRequest, unpacked: Callable[[str], Path], tmp_path: Path) -> Path:
    name: str = request.param
    return build_machine(tmp_path / "root", description(name)) if name in OURS else unpacked(name)


PREFERRED = ("--policy", "restricted", "--memory-policy", "preferred")


@pytest.mark.parametrize(
    ("asked", "settings"),
    [
        ((), Settings()),
        (PREFERRED, Settings(policy="restricted", memory_policy="preferred")),
        (("--irq", "off"), Settings(irq="off")),
    ],
    ids=["defaults", "preferred", "no-irq"],
)
def test_the_lines_of_a_plan_are_the_lines_of_a_run_and_what_the_kernel_is_asked(
    root: Path, asked: tuple[str, ...], settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["plan", "--root", str(root), *asked, "--", *COMMAND])
    planned = capsys.readouterr().out.partition("plan:\n")[2].splitlines()
    judged = read_and_judge(open_root(str(root)), settings)
    plan = judged.plan(Command(COMMAND[0], COMMAND))
    kernel, reported = Recorder(), list[PlannedStep]()
    apply(plan, kernel, judged.assignment, reported.append, lambda _: None)
    assert planned[-1] == "  execve vllm serve 'a model'"
    assert planned == [f"  {text.outcome(step)}" for step in reported]
    assert kernel.lines == [line.strip().partition("  # ")[0] for line in planned if "(skipped: " not in line]
