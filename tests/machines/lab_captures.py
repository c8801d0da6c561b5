"""Captures of the lab's emulated computers, and what numapin said on each, live."""

from pathlib import Path

KEPT = Path(__file__).with_name("lab")
REPORTS = ("check", "plan", "show")
COMPUTERS = ("two-sockets", "memory-node", "sub-nodes", "eight-nodes")
