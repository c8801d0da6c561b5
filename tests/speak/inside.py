"""numapin in this process, and machines small enough to say what must come out."""

from pathlib import Path

from numapin.cli import run
from tests.machines.builder import build_machine

TWO_NODES = """
node 0 cpus=0-3 memory=64G distances=10,21 package=0
node 1 cpus=4-7 memory=64G distances=21,10 package=1
"""
ALIGNED = f"{TWO_NODES}\nrdma mlx5_0 pci=0000:3c:00.0 node=0 irqs=100-101\ncontainer cpus=0-3 mems=0"
MISALIGNED = f"{TWO_NODES}\nrdma mlx5_0 pci=0000:9b:00.0 node=1 irqs=100-101\ncontainer cpus=0-3 mems=0"
UNKNOWN = f"{TWO_NODES}\nrdma mlx5_0 pci=0000:3c:00.0\ncontainer cpus=0-3 mems=0"


def machine(directory: Path, text: str) -> str:
    """The root of a machine written in a few lines."""
    return str(build_machine(directory / "root", text))


def status(*words: str) -> int:
    """The exit status of a command line, in this process: what it printed is for capfd."""
    return run(list(words))
