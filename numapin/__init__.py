"""numapin: verify that a container's CPUs, memory, GPUs and NICs share a NUMA node, bind to it, exec the server."""

__version__ = "0.1.0"
