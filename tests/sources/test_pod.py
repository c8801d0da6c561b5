"""Other processes of a pod, where it shares one process namespace."""

import os
import shutil
import subprocess

import pytest

from numapin.assignment import PodProcess
from numapin.ids import CpuSet
from numapin.sources.pod import read_pod
from numapin.sources.root import LiveRoot
from tests.sources.trees import Tree


def process(pid: int, name: str, cpus: str) -> dict[str, str]:
    return {f"/proc/{pid}/status": f"Name:\t{name}\nCpus_allowed_list:\t{cpus}\n", f"/proc/{pid}/comm": f"{name}\n"}


POD = process(1, "pause", "0-63") | process(7, "istio-proxy", "0-63") | process(19, "vllm", "8-15")


def test_everybody_but_the_sandbox_and_ourselves(tree: Tree) -> None:
    root = tree(POD, {"/proc/self": "19"})
    assert read_pod(root)[0] == (PodProcess(7, "istio-proxy", CpuSet.parse("0-63")),)


def test_the_hosts_process_namespace_is_no_pod(tree: Tree) -> None:
    """Process 2 of a host is the parent of the kernel's threads."""
    found, (note,) = read_pod(tree(POD | process(2, "kthreadd", "0-63"), {"/proc/self": "19"}))
    assert (found, note.code, note.warns) == ((), "POD_HIDDEN", False)


def test_a_process_that_ends_meanwhile_is_passed_over(tree: Tree) -> None:
    assert read_pod(tree({"/proc/7/comm": "gone\n", "/proc/8/status": "", "/proc/x/status": "Name:\tx\n"})) == ((), ())


def test_processes_are_in_the_order_of_their_numbers(tree: Tree) -> None:
    files = process(10, "b", "1") | process(9, "a", "0") | process(100, "c", "2")
    assert [one.pid for one in read_pod(tree(files))[0]] == [9, 10, 100]


def test_the_processes_of_a_namespace_of_their_own() -> None:
    """A real one: a neighbour sleeps on one CPU while its pod is read."""
    if not shutil.which("unshare") or subprocess.run(["unshare", "-pmf", "true"], check=False).returncode:
        reason = "no process namespaces here"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    cpu = max(os.sched_getaffinity(0))
    code = (
        "import os, subprocess, sys\n"
        "from numapin.sources.pod import read_pod\n"
        "from numapin.sources.root import LiveRoot\n"
        f"child = subprocess.Popen(['sleep', '60'], preexec_fn=lambda: os.sched_setaffinity(0, [{cpu}]))\n"
        "print([(one.pid == child.pid, one.name, str(one.cpus)) for one in read_pod(LiveRoot())[0]])\n"
        "child.kill()\n"
    )
    command = ["unshare", "-pf", "--mount-proc", os.sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == f"[(True, 'sleep', '{cpu}')]"


def test_this_machine_is_a_host_or_shows_its_processes() -> None:
    others, notes = read_pod(LiveRoot())
    assert all(one.pid != os.getpid() for one in others)
    if LiveRoot().read("/proc/2/comm") == "kthreadd":
        assert (others, [note.code for note in notes]) == ((), ["POD_HIDDEN"])
