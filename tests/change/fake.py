"""A kernel that remembers what it was asked, and refuses or truncates what it is told to."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from numapin.ids import CpuSet, NodeSet
from numapin.policies import MPOL_DEFAULT, MemoryPolicy, Scheduling


@dataclass
class FakeKernel:
    """Starts like a fresh process on an ordinary machine; `refuses` maps a call to the errnos of its first tries."""

    refuses: dict[str, list[int]] = field(default_factory=dict)
    granted_cpus: CpuSet = field(default_factory=lambda: CpuSet.of(range(64)))
    granted_mems: NodeSet = field(default_factory=lambda: NodeSet.of(range(4)))
    cpus: CpuSet = field(default_factory=lambda: CpuSet.of(range(64)))
    policy: MemoryPolicy = field(default_factory=lambda: MemoryPolicy(MPOL_DEFAULT, 0, NodeSet()))
    fifo: Scheduling = field(default_factory=lambda: Scheduling(False, 0, False))
    irqs: dict[int, CpuSet] = field(default_factory=dict)
    stubborn_irqs: bool = False
    """Writes to interrupts succeed and change nothing."""
    variables: dict[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    """The changing calls, in their order, refused ones too."""

    def _change(self, name: str, *values: Any) -> None:
        self.calls.append(" ".join([name, *map(str, values)]))
        self._refuse(name)

    def _refuse(self, name: str) -> None:
        errnos = self.refuses.get(name, [])
        code = errnos.pop(0) if errnos else 0
        if code:
            raise OSError(code, os.strerror(code))

    def affinity(self) -> CpuSet:
        self._refuse("affinity")
        return self.cpus

    def set_affinity(self, cpus: CpuSet) -> None:
        self._change("set_affinity", cpus)
        self.cpus = cpus & self.granted_cpus

    def memory_policy(self) -> MemoryPolicy:
        self._refuse("memory_policy")
        return self.policy

    def set_memory_policy(self, policy: MemoryPolicy) -> None:
        self._change("set_memory_policy", policy)
        self.policy = policy

    def allowed_memory(self) -> NodeSet:
        return self.granted_mems

    def scheduling(self) -> Scheduling:
        self._refuse("scheduling")
        return self.fifo

    def set_scheduling(self, scheduling: Scheduling) -> None:
        self._change("set_scheduling", scheduling)
        self.fifo = scheduling

    def interrupt_affinity(self, irq: int) -> CpuSet:
        self._refuse("interrupt_affinity")
        return self.irqs.get(irq, CpuSet.of(range(64)))

    def set_interrupt_affinity(self, irq: int, cpus: CpuSet) -> None:
        self._change("set_interrupt_affinity", irq, cpus)
        if not self.stubborn_irqs:
            self.irqs[irq] = cpus

    def start_keeper(self, orders: Any) -> str:
        self._change("start_keeper", orders)
        return "done"

    def variable(self, name: str) -> str | None:
        return self.variables.get(name)

    def set_variable(self, name: str, content: str) -> None:
        self._change("set_variable", name, content)
        self.variables[name] = content

    def execute(self, path: str, arguments: Iterable[str], applied: str) -> None:
        self._change("execute", path, *arguments, f"[{applied}]")
