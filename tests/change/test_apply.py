"""Doing a plan: the order, the modes, reading back, and where it stops. The kernel is a recorded one."""

import errno

import pytest

from numapin.apply import apply, describe_refusal, refusals
from numapin.assignment import Assignment, Permissions
from numapin.ids import CpuSet, NodeSet
from numapin.marker import Marker
from numapin.plan import Plan, PlannedStep
from numapin.policies import MPOL_BIND, MPOL_F_STATIC_NODES, MPOL_LOCAL, MPOL_PREFERRED, MemoryPolicy, Scheduling
from numapin.steps import Execute, PinInterrupt, SetAffinity, SetMemoryPolicy, SetScheduling
from tests.change.fake import FakeKernel

CPUS, NODES, NIC_CPUS = CpuSet.of([0, 1, 2, 3]), NodeSet.of([0]), CpuSet.of([2, 3])
NIC = "mlx5_0 (0000:3c:00.0)"
AFFINITY, MEMORY, FIFO = SetAffinity(CPUS), SetMemoryPolicy("bind", NODES), SetScheduling(1)
FIRST, SECOND = PinInterrupt(100, NIC_CPUS, NIC), PinInterrupt(101, NIC_CPUS, NIC)
MARKER = Marker("single-numa-node", NodeSet.of([0]), CpuSet.of(range(4)), NodeSet.of([0]))
EXEC = Execute("/bin/server", ("server", "a"), MARKER)
ALL = (AFFINITY, MEMORY, FIFO, FIRST, SECOND, EXEC)
CALLS = [
    "set_affinity 0-3",
    "set_memory_policy MPOL_BIND nodes=0",
    "set_scheduling SCHED_FIFO priority=1 reset_on_fork",
    "set_interrupt_affinity 100 2-3",
    "set_interrupt_affinity 101 2-3",
    f"execute /bin/server server a [{MARKER}]",
]
UNBOUND = CALLS[-1].replace("cpus=0-3 mems=0", "cpus= mems=")
"""The marker says only what was bound."""
SETTERS = ("set_affinity", "set_memory_policy", "set_scheduling", "set_interrupt_affinity")


def plan_of(*steps, **modes) -> Plan:
    """A plan; every step is required unless a mode is given for its kind."""
    return Plan(tuple(PlannedStep(step, modes.get(step.kind, "require")) for step in steps))


class Watched:
    """A plan done, with what was told meanwhile."""

    def __init__(self, kernel: FakeKernel, plan: Plan, permissions: Permissions | None = None) -> None:
        self.kernel = kernel
        self.told: list[str] = []
        self.before_exec: list[list[str]] = []
        assignment = Assignment(CPUS, NODES, permissions=permissions or Permissions())
        self.plan = apply(plan, kernel, assignment, self._report, self._before_exec)

    def _report(self, step: PlannedStep) -> None:
        self.told.append(f"{step.step.kind} {step.outcome}")

    def _before_exec(self, plan: Plan) -> None:
        self.before_exec.append([step.outcome for step in plan.steps])
        self.calls_before_exec = list(self.kernel.calls)

    @property
    def outcomes(self) -> list[str]:
        return [step.outcome for step in self.plan.steps]


def test_steps_are_done_in_their_order_and_told_as_they_are_done():
    """exec is told before it is done: afterwards there is nobody to tell."""
    seen = Watched(FakeKernel(), plan_of(*ALL))
    assert seen.kernel.calls == CALLS
    assert seen.told == ["affinity done", "mempolicy done", "scheduler done", "irq done", "irq done", "exec planned"]
    assert seen.before_exec == [["done"] * 5 + ["planned"]]
    assert seen.calls_before_exec == CALLS[:-1]


def test_a_plan_without_a_command_ends_after_its_steps():
    """Nothing to exec: everything that was done comes back."""
    seen = Watched(FakeKernel(), plan_of(AFFINITY, MEMORY))
    assert (seen.outcomes, seen.before_exec) == (["done", "done"], [])


def test_what_is_there_already_is_not_done_again():
    """Each step looks first. An affinity is set all the same: Linux 6.2 keeps what was asked when a cpuset grows."""
    kernel = FakeKernel(cpus=CPUS, policy=MEMORY.policy, fifo=FIFO.scheduling, irqs={100: NIC_CPUS, 101: NIC_CPUS})
    seen = Watched(kernel, plan_of(*ALL))
    assert seen.outcomes[:-1] == ["already"] * 5
    assert kernel.calls == [CALLS[0], CALLS[-1]]


def test_an_affinity_that_is_there_already_needs_no_right_to_be_set():
    kernel = FakeKernel(cpus=CPUS, refuses={"set_affinity": [errno.EPERM]})
    assert Watched(kernel, plan_of(AFFINITY, EXEC)).outcomes == ["already", "done"]


@pytest.mark.parametrize("place", range(5), ids=[step.kind + str(place) for place, step in enumerate(ALL[:5])])
def test_the_first_required_refusal_ends_it(place):
    """Nothing after it is touched: neither an interrupt nor the server."""
    name = CALLS[place].split()[0]
    before = sum(call.startswith(name) for call in CALLS[:place])
    seen = Watched(FakeKernel(refuses={name: [0] * before + [errno.EACCES]}), plan_of(*ALL))
    assert seen.kernel.calls == CALLS[: place + 1]
    assert seen.outcomes == ["done"] * place + ["refused"] + ["planned"] * (5 - place)
    assert seen.before_exec == []
    assert [step.errno for step in refusals(seen.plan)] == [errno.EACCES]


@pytest.mark.parametrize("code", [errno.EIO, errno.EPERM], ids=["before 6.12", "since 6.12"])
def test_an_interrupt_that_the_kernel_manages_is_skipped_and_no_refusal(code):
    """Only the write tells before 6.12; nobody can do what was asked, so the server starts all the same."""
    seen = Watched(FakeKernel(refuses={"set_interrupt_affinity": [code]}), plan_of(*ALL))
    assert seen.outcomes == ["done"] * 3 + ["skipped", "done", "done"]
    assert (seen.plan.steps[3].errno, seen.plan.steps[3].hint) == (code, "the kernel manages this interrupt itself")


def test_a_refusal_that_is_only_tried_is_told_and_passed():
    """The server starts, and the report has the errno and a hint."""
    refuses = {name: [errno.EPERM] * 2 for name in SETTERS} | {"set_interrupt_affinity": [errno.ENOSPC] * 2}
    modes = dict.fromkeys(("affinity", "mempolicy", "scheduler", "irq"), "try")
    seen = Watched(FakeKernel(refuses=refuses), plan_of(*ALL, **modes))
    assert seen.outcomes == ["refused"] * 5 + ["done"]
    assert seen.kernel.calls[-1] == UNBOUND
    assert refusals(seen.plan) == ()
    assert [step.errno for step in seen.plan.steps[:5]] == [errno.EPERM] * 3 + [errno.ENOSPC] * 2
    assert all(step.hint for step in seen.plan.steps[:5])


def test_a_step_that_was_skipped_stays_skipped():
    """`off`, and interrupts that the kernel manages: no call, not even a look."""
    steps = tuple(PlannedStep(step, "off", "skipped", hint="off") for step in ALL[:5])
    unreadable = {name: [errno.EPERM] * 9 for name in ("affinity", "memory_policy", "scheduling", "interrupt_affinity")}
    seen = Watched(FakeKernel(refuses=unreadable), Plan((*steps, PlannedStep(EXEC, "require"))))
    assert (seen.kernel.calls, seen.outcomes) == ([UNBOUND], ["skipped"] * 5 + ["done"])


def test_an_exec_that_is_refused_comes_back_with_its_errno():
    """ENOEXEC, EACCES: the caller makes 126 or 127 of it."""
    seen = Watched(FakeKernel(refuses={"execute": [errno.ENOEXEC]}), plan_of(*ALL))
    (refused,) = refusals(seen.plan)
    assert (refused.step.kind, refused.errno) == ("exec", errno.ENOEXEC)


def test_an_affinity_that_races_with_a_cpuset_write_is_tried_once_more():
    """A valid mask fails with EINVAL then; a second EINVAL is the kernel's last word."""
    once = Watched(FakeKernel(refuses={"set_affinity": [errno.EINVAL]}), plan_of(AFFINITY))
    twice = Watched(FakeKernel(refuses={"set_affinity": [errno.EINVAL] * 2}), plan_of(AFFINITY))
    other = Watched(FakeKernel(refuses={"set_affinity": [errno.EPERM]}), plan_of(AFFINITY))
    assert (once.outcomes, len(once.kernel.calls)) == (["done"], 2)
    assert (twice.outcomes, len(twice.kernel.calls)) == (["refused"], 2)
    assert (other.outcomes, len(other.kernel.calls)) == (["refused"], 1)


TRUNCATED = {
    "affinity": (FakeKernel(granted_cpus=CpuSet.of([0, 1])), AFFINITY, "0-1"),
    "affinity to nothing": (FakeKernel(granted_cpus=CpuSet()), AFFINITY, "nothing"),
    "memory": (FakeKernel(granted_mems=NodeSet.of([1])), MEMORY, "nothing"),
    "one of two nodes": (FakeKernel(granted_mems=NodeSet.of([1])), SetMemoryPolicy("bind", NodeSet.of([0, 1])), "1"),
    "an interrupt": (FakeKernel(stubborn_irqs=True), FIRST, "0-63"),
}


@pytest.mark.parametrize("what", TRUNCATED)
def test_less_than_was_asked_is_a_refusal_whatever_the_call_returned(what):
    """The kernel truncates silently; the hint says what it kept, the sentence that it was less."""
    kernel, step, kept = TRUNCATED[what]
    (result,) = Watched(kernel, plan_of(step)).plan.steps
    assert (result.outcome, result.errno) == ("refused", None)
    assert result.hint.startswith(f"The kernel kept only {kept}: ")
    assert describe_refusal(result) == f"{step} was refused: less was kept than asked"


def test_a_policy_that_is_there_and_not_allowed_any_more_is_a_refusal():
    """cpuset.mems shrank under a static policy: get_mempolicy still tells the nodes as asked."""
    kernel = FakeKernel(policy=MEMORY.policy, granted_mems=NodeSet.of([1]))
    assert Watched(kernel, plan_of(MEMORY)).outcomes == ["refused"]


def test_scheduling_that_comes_back_different_is_a_refusal():
    """A sandbox that answers 0 and does nothing."""

    class Sandbox(FakeKernel):
        def set_scheduling(self, scheduling: Scheduling) -> None:
            self._change("set_scheduling", scheduling)

    (result,) = Watched(Sandbox(), plan_of(FIFO)).plan.steps
    assert (result.outcome, result.errno) == ("refused", None)
    assert "SCHED_OTHER" in result.hint


@pytest.mark.parametrize(
    ("present", "word", "outcome"),
    [
        (MemoryPolicy(MPOL_BIND, 0, NODES), "bind", "already"),
        (MemoryPolicy(MPOL_BIND, MPOL_F_STATIC_NODES, NODES), "bind", "already"),
        (MemoryPolicy(MPOL_BIND, 0, NodeSet.of([1])), "bind", "refused"),
        (MemoryPolicy(MPOL_BIND, 0, NodeSet.of([0, 1])), "bind", "refused"),
        (MemoryPolicy(MPOL_PREFERRED, 0, NODES), "bind", "refused"),
        (MemoryPolicy(MPOL_PREFERRED, 0, NODES), "preferred", "already"),
        (MemoryPolicy(MPOL_BIND, 0, NODES), "preferred", "already"),
        (MemoryPolicy(3, 0, NODES), "bind", "refused"),
        (MemoryPolicy(MPOL_LOCAL, 0, NodeSet()), "bind", "done"),
    ],
    ids=str,
)
def test_a_policy_that_somebody_set_before_is_kept_or_a_refusal(present, word, outcome):
    """The runtime (OCI linux.memoryPolicy) or a numactl in front: never overwritten in silence."""
    kernel = FakeKernel(policy=present)
    (result,) = Watched(kernel, plan_of(SetMemoryPolicy(word, NODES))).plan.steps
    assert result.outcome == outcome
    assert kernel.calls == ([] if outcome != "done" else ["set_memory_policy MPOL_BIND nodes=0"])
    assert (str(present) in result.hint) is (outcome == "refused")


def test_relative_nodes_are_other_nodes():
    """With MPOL_F_RELATIVE_NODES the mask counts within cpuset.mems: the same bits may be another node."""
    present = MemoryPolicy(MPOL_BIND, 1 << 14, NODES)
    assert Watched(FakeKernel(policy=present), plan_of(MEMORY)).outcomes == ["refused"]


def test_an_earlier_numapins_policy_may_be_replaced():
    """The marker says that it was ours."""
    kernel = FakeKernel(policy=MemoryPolicy(MPOL_BIND, MPOL_F_STATIC_NODES, NodeSet.of([1])))
    assert Watched(kernel, plan_of(SetMemoryPolicy("bind", NODES, ours=True))).outcomes == ["done"]
    assert kernel.policy == MEMORY.policy


def test_a_hidden_policy_is_no_reason_not_to_set_one():
    """get_mempolicy denied once: the call that matters is tried all the same."""
    kernel = FakeKernel(refuses={"memory_policy": [errno.EPERM]})
    assert Watched(kernel, plan_of(MEMORY)).outcomes == ["done"]


def test_a_policy_that_cannot_be_read_back_is_a_refusal():
    """Set, and not proved."""
    kernel = FakeKernel(refuses={"memory_policy": [errno.EPERM] * 2})
    (result,) = Watched(kernel, plan_of(MEMORY)).plan.steps
    assert (result.outcome, result.errno) == ("refused", errno.EPERM)
