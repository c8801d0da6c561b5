"""The environment this process was started with: /proc/self/environ.

Read from the kernel, not from os.environ: Python itself adds LC_CTYPE to that (PEP 538), and a captured machine
has only the file.
"""

from collections.abc import Mapping

from numapin.sources.root import Root

BINDERS: dict[str, tuple[str, ...]] = {
    "NCCL_IGNORE_CPU_AFFINITY": ("", "0"),
    "UCCL_EP_DISABLE_CPU_AFFINITY": ("1",),
    "OMP_PROC_BIND": ("", "false", "FALSE", "0"),
    "KMP_AFFINITY": ("", "disabled", "none"),
    "GOMP_CPU_AFFINITY": ("",),
    "SGLANG_AUTO_NUMA_BIND": ("", "0", "false"),
    "SGLANG_NUMA_BIND_V2": ("", "0", "false"),
    "TLLM_NUMA_AWARE_WORKER_AFFINITY": ("0",),
    "VLLM_CPU_OMP_THREADS_BIND": ("", "nobind"),
}
"""Variables by which an engine or library binds itself, and the values with which it does not.

SGLang, TensorRT-LLM (which even clears a mask that it was given), vLLM's CPU backend; NCCL, which leaves our mask
when told to ignore it; the OpenMP runtimes. A variable that is not set is not reported.
"""


def read_environment(root: Root) -> dict[str, str]:
    """The variables of this process by name."""
    return parse_environment(root.read("/proc/self/environ") or "")


def parse_environment(text: str) -> dict[str, str]:
    """Variables of /proc/<pid>/environ; of a name that is there twice the first counts, as getenv(3) has it."""
    found: dict[str, str] = {}
    for entry in text.split("\0"):
        name, equals, value = entry.partition("=")
        if equals:
            found.setdefault(name, value)
    return found


def binders(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The variables, as NAME=value, that make somebody rebind."""
    return tuple(
        f"{name}={environment[name]}"
        for name, harmless in BINDERS.items()
        if name in environment and environment[name].strip() not in harmless
    )
