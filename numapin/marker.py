"""What numapin leaves in the server's environment: where it bound it. `verify` and a later numapin read it there."""

from typing import get_args

from numapin.ids import CpuSet, NodeSet, shorten
from numapin.settings import Policy
from numapin.values import value

MARKER = "NUMAPIN_APPLIED"
"""The variable's name."""

_VERSION = "v1"


@value
class Marker:
    """Where a server was bound when it was started."""

    policy: Policy
    nodes: NodeSet
    cpus: CpuSet
    """Empty where the affinity was not set: `--cpu off`, or refused under `--cpu try`."""
    mems: NodeSet
    """Empty where the memory policy was not set."""

    @property
    def memory_nodes(self) -> NodeSet:
        """Where its memory belongs: where it was bound, else on its nodes; empty where it was bound nowhere."""
        return self.mems or self.nodes

    def __str__(self) -> str:
        return f"{_VERSION} policy={self.policy} nodes={self.nodes} cpus={self.cpus} mems={self.mems}"

    @classmethod
    def parse(cls, text: str) -> "Marker":
        """Read the variable's value; words that a later numapin may add are passed over.

        Raises ValueError, naming the text, where it is no such value.
        """
        version, *words = text.split(" ")
        found = dict(word.split("=", 1) for word in words if "=" in word)
        if version != _VERSION or not {"policy", "nodes", "cpus", "mems"} <= found.keys():
            raise ValueError(f"{shorten(text)} is not what numapin leaves there")
        for policy in get_args(Policy):
            if policy == found["policy"]:
                nodes, mems = NodeSet.parse(found["nodes"]), NodeSet.parse(found["mems"])
                return cls(policy, nodes, CpuSet.parse(found["cpus"]), mems)
        raise ValueError(f"{shorten(found['policy'])} is no policy")
