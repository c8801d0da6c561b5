"""`make engine`: the real vLLM behind numapin's entry point, its hot threads and processes where the plan put them.

As root vLLM is PID 1 of a process namespace of its own, with the entry point where the image has it; anybody else
starts it by `numapin run`, which is what the entry point does. Exit status 1, with a sentence, where anything is not
as it should be.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
from demo import NUMAPIN, Wrong, say
from engine_server import Server, engine, free_port, name

from numapin.ids import CpuSet

SERVE = ["--load-format", "dummy", "--enforce-eager", "--max-model-len", "256", "--served-model-name", "tiny"]
RESET_ON_FORK = 0x40000000
VARIABLES = {
    "NUMAPIN_HOT": "auto",
    "NUMAPIN_HOT_NICE": "zeromq",
    "NUMAPIN_RT": "try",
    "NUMAPIN_IRQ": "off",
    "NUMAPIN_NICS": "none",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "HF_HUB_OFFLINE": "1",
}


def planned(command: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """The plan as a value; best-effort where this machine is misaligned."""
    for policy in ("single-numa-node", "best-effort"):
        environment |= {"NUMAPIN_POLICY": policy, "NUMAPIN_UNKNOWN": "warn"}
        words = [NUMAPIN, "plan", "--format", "json", "--", *command]
        done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode == 0:
            plan: dict[str, Any] = json.loads(done.stdout)
            for step in plan["steps"]:
                say(f"  {step['line']}")
            return plan
    raise Wrong(f"numapin plan ended with {done.returncode}")


def threads(pid: int) -> dict[int, tuple[str, frozenset[int]]]:
    """Name and CPUs of each thread."""
    tids = map(int, os.listdir(f"/proc/{pid}/task"))
    return {tid: (name(pid, tid), frozenset(os.sched_getaffinity(tid))) for tid in tids}


def scheduling(tid: int) -> str:
    """SCHED_FIFO with its priority, or the niceness."""
    if os.sched_getscheduler(tid) & ~RESET_ON_FORK == os.SCHED_FIFO:
        return f"SCHED_FIFO {os.sched_getparam(tid).sched_priority}"
    return f"nice {os.getpriority(os.PRIO_PROCESS, tid)}"


def policy(pid: int) -> str:
    """The memory policy of a process, as the first line of numa_maps tells it."""
    with open(f"/proc/{pid}/numa_maps") as file:
        return file.readline().split()[1]


def is_alone(server: Server) -> bool:
    """Whether the worker's main thread has a CPU that no other may use: a new thread is placed within a second."""
    seen = {tid: (tid == one.pid, *about) for one in server.processes() for tid, about in threads(one.pid).items()}
    workers = [tid for tid, (leads, called, _) in seen.items() if leads and called.startswith("VLLM::Worker")]
    return all(not seen[tid][2] & cpus for tid in workers for other, (*_, cpus) in seen.items() if other != tid)


def compare(server: Server, plan: dict[str, Any]) -> None:
    """Every thread within the plan, the worker's main thread alone on its CPU, every policy that of the plan."""
    allowed = set(CpuSet.parse(plan["cpus"]))
    seen = {one.pid: threads(one.pid) for one in server.processes()}
    every = [(pid, tid, *about) for pid, own in seen.items() for tid, about in own.items()]
    hot = [(pid, tid, cpus) for pid, tid, called, cpus in every if tid == pid and called.startswith("VLLM::Worker")]
    for pid, own in seen.items():
        say(f"  {name(pid, pid)}: memory policy {policy(pid)}, {len(own)} threads")
        for (called, cpus, how), count in Counter((*own[tid], scheduling(tid)) for tid in own).items():
            say(f"    {count:3} x {called:16} CPUs {','.join(map(str, sorted(cpus))):6} {how}")
        # vLLM's CPU backend binds its worker's memory once more, to the node of its CPUs: bind:0.
        if policy(pid).rpartition(":")[2] != plan["mems"] or not policy(pid).startswith("bind"):
            raise Wrong(f"{name(pid, pid)} has the policy {policy(pid)}, the plan says nodes {plan['mems']}")
    if not all(cpus <= allowed for *_, cpus in every):
        raise Wrong(f"a thread may leave CPUs {plan['cpus']}")
    if len(hot) != 1:
        raise Wrong(f"there are {len(hot)} workers, one was expected")
    (pid, tid, own_cpu) = hot[0]
    if len(allowed) > 1 and (len(own_cpu) != 1 or any(own_cpu & cpus for _, other, _, cpus in every if other != tid)):
        raise Wrong(f"the worker's main thread has no CPU of its own: {sorted(own_cpu)}")
    say(f"  the main thread of {name(pid, pid)} has CPU {sorted(own_cpu)} for itself")


def verify(server: Server) -> None:
    """numapin's own word on it, and what a closed loop of completions shows."""
    pid = str(server.processes()[0].pid)
    load = ("--url", server.url, "--tokens", "16", "--prompt-words", "32", "--seconds", "5")
    for words in (("verify", "--tree"), ("measure", *load)):
        say(f"\n$ numapin {' '.join(words)} --pid {pid}")
        command = [NUMAPIN, *words, "--pid", pid, "--policy", "best-effort", "--unknown", "warn", "--nics", "none"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        say("  " + "\n  ".join(done.stdout.splitlines()))
        if done.returncode:
            raise Wrong(f"numapin {words[0]} ended with {done.returncode}")


def until(seen: Any, seconds: float) -> None:
    """Until that is so, or the time is over."""
    end = time.monotonic() + seconds
    while not seen() and time.monotonic() < end:
        time.sleep(0.2)


def prove(server: Server, plan: dict[str, Any]) -> None:
    """Up, asked, placed, asked again, ended."""
    say(f"\n/health answers after {server.wait():.0f} s; ten completions:")
    for number in range(10):
        told = server.get("POST", "/v1/completions", {"model": "tiny", "prompt": f"count {number}", "max_tokens": 16})
        if told["usage"]["completion_tokens"] != 16:
            raise Wrong(f"a completion has {told['usage']['completion_tokens']} tokens")
    until(lambda: any("is hot" in line and "VLLM::Worker" in line for line in server.said()), 10)
    say("  " + "\n  ".join(server.said()) + "\n")
    until(lambda: is_alone(server), 10)
    compare(server, plan)
    verify(server)
    metrics = Path(f"{server.log.name}.prom").read_text()
    say("  " + next(line for line in metrics.splitlines() if line.startswith("numapin_keeper_threads ")))
    until(lambda: server.answers >= 50, 20)
    answers, failures = server.answers, server.failures
    status = server.end()
    say(f"\n/health answered {answers} times and failed {failures} times; SIGTERM: vLLM ended with status {status}")
    if failures or status:
        raise Wrong(f"the API failed {failures} times, and vLLM ended with {status}: {server.log.name}")


def main() -> int:
    """The exit status."""
    server = None
    try:
        vllm, model = engine()
        port = free_port()
        command = [vllm, "serve", model, *SERVE, "--host", "127.0.0.1", "--port", str(port)]
        environment = {**os.environ, **VARIABLES}
        say("$ NUMAPIN_HOT=auto numapin plan -- vllm serve …")
        plan = planned(command, environment)
        server = Server(command, environment, port)
        prove(server, plan)
    except (Wrong, subprocess.TimeoutExpired, OSError, psutil.Error) as wrong:
        print(f"engine: {wrong}", file=sys.stderr)
        return 1
    finally:
        if server:
            server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
