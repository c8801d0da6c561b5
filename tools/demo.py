"""The main job for real, on this machine: `numapin run` binds a small HTTP server, which then says where it is.

tools/demo.py          the demonstration; exit status 1, with a sentence, where anything is not as it should be
tools/demo.py serve    the server
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import FrameType
from typing import Any

NUMAPIN = str(Path(sys.executable).with_name("numapin"))
ANNOUNCES = "serving on 127.0.0.1:"
MISALIGNED, CANNOT_TELL, REFUSED = 78, 69, 77
SECONDS = 20


class Wrong(Exception):
    """Something is not as it should be; the text is the sentence that says so."""


class WhereAmI(BaseHTTPRequestHandler):
    """Answers every request with what the kernel says of this process."""

    def do_GET(self) -> None:
        """The process, its CPUs, and the memory policy of its mappings."""
        body = json.dumps(whereabouts()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """No log: the demonstration shows the answer."""


def whereabouts() -> dict[str, Any]:
    """What /proc/self shows: Cpus_allowed_list of status, and the policy in the first line of numa_maps."""
    status = Path("/proc/self/status").read_text()
    maps = Path("/proc/self/numa_maps")
    return {
        "pid": os.getpid(),
        "cpus": next(line.split()[1] for line in status.splitlines() if line.startswith("Cpus_allowed_list")),
        "policy": maps.read_text().splitlines()[0].split(" ", 1)[1].split(" file=")[0] if maps.exists() else None,
        "marker": os.environ.get("NUMAPIN_APPLIED"),
    }


def serve() -> None:
    """Serve on a free port of the loopback interface until SIGTERM, then end with status 0."""

    def stop(*_: int | FrameType | None) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, stop)
    server = HTTPServer(("127.0.0.1", 0), WhereAmI)
    print(f"{ANNOUNCES}{server.server_port}", flush=True)
    server.serve_forever()


def demonstrate() -> None:
    """Judge, plan, run, ask, end; raises Wrong where what is seen is not what was said."""
    options = choose_options()
    say("\n$ numapin plan" + "".join(f" {option}" for option in options))
    plan = planned(options)
    command = [NUMAPIN, "run", *options, "--", sys.executable, __file__, "serve"]
    say(f"\n$ numapin run{''.join(f' {option}' for option in options)} -- python {os.path.basename(__file__)} serve")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            answer = ask(port_of(process))
            say(f"\n$ curl http://127.0.0.1/\n{json.dumps(answer, indent=2)}")
            compare(answer, plan, process.pid)
            process.terminate()
            status = process.wait(SECONDS)
        finally:
            process.kill()
    if status:
        raise Wrong(f"the server ended with {status} after SIGTERM, not with its own 0")
    say(f"\nSIGTERM to process {process.pid}: the server ended with its own exit status, {status}.")
    memory = f"its memory on nodes {plan['mems']}" if memory_is_required(plan) else "its memory left to the kernel"
    say(f"It ran where the plan put it: on CPUs {plan['cpus']}, {memory}, in the very process that numapin was.")


def choose_options() -> list[str]:
    """None on an aligned machine; on others what it takes to go on, with the reason told."""
    say("$ numapin check")
    done = subprocess.run([NUMAPIN, "check"], stdout=subprocess.PIPE, text=True, check=False)
    say(done.stdout.rstrip())
    options = []
    if done.returncode in (MISALIGNED, CANNOT_TELL):
        options = ["--policy", "best-effort", "--unknown", "warn"]
        say(f"\nHere `numapin run` would stop, as it should. To show the rest all the same: {' '.join(options)},")
        say("which makes warnings of these reasons and binds to the node that holds most.")
    elif done.returncode:
        raise Wrong(f"numapin check ended with {done.returncode}")
    trial = [NUMAPIN, "run", *options, "--irq", "off", "--", "true"]
    tried = subprocess.run(trial, stderr=subprocess.PIPE, text=True, check=False)
    if tried.returncode == REFUSED:
        say(f"\n{tried.stderr.rstrip()}")
        say("\nMemory cannot be bound here. To show the rest all the same: --memory try.")
        options += ["--memory", "try"]
    return options


def planned(options: list[str]) -> dict[str, Any]:
    """The plan, shown as text; as a value for the comparison."""
    command = [NUMAPIN, "plan", *options]
    say(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.rstrip())
    done = subprocess.run([*command, "--format", "json"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Wrong(f"numapin plan ended with {done.returncode}")
    report: dict[str, Any] = json.loads(done.stdout)
    if not report["nodes"]:
        raise Wrong("nothing can be bound on this machine: it shows no NUMA node")
    return report


def port_of(process: subprocess.Popen[str]) -> int:
    """Show what numapin and the server say, until the server announces its port."""
    for line in lines_of(process):
        say(line)
        if line.startswith(ANNOUNCES):
            return int(line.removeprefix(ANNOUNCES))
    raise Wrong(f"the server did not start: `numapin run` ended with {process.wait(SECONDS)}")


def lines_of(process: subprocess.Popen[str]) -> Iterator[str]:
    """The lines of its output, as they come."""
    assert process.stdout is not None  # noqa: S101 -- for mypy: it was asked for
    return (line.rstrip("\n") for line in process.stdout)


def ask(port: int) -> dict[str, Any]:
    """The server's answer, over loopback and no proxy."""
    connection = HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", "/")
        answer: dict[str, Any] = json.loads(connection.getresponse().read())
    except OSError as error:
        raise Wrong(f"the server does not answer on port {port}: {error}") from None
    finally:
        connection.close()
    return answer


def compare(answer: dict[str, Any], plan: dict[str, Any], pid: int) -> None:
    """The server's own words against the plan; its memory only where the kernel lets it be bound."""
    if answer["pid"] != pid:
        raise Wrong(f"the server is process {answer['pid']}, numapin was process {pid}: they should be one")
    if answer["cpus"] != plan["cpus"]:
        raise Wrong(f"the server runs on CPUs {answer['cpus']}, the plan says {plan['cpus']}")
    if memory_is_required(plan) and not str(answer["policy"]).endswith(f":{plan['mems']}"):
        raise Wrong(f"the server's memory policy is {answer['policy']}, the plan says nodes {plan['mems']}")


def memory_is_required(plan: dict[str, Any]) -> bool:
    """Whether a server that started is bound to the plan's memory for sure."""
    return any(step["kind"] == "mempolicy" and step["mode"] == "require" for step in plan["steps"])


def say(text: str) -> None:
    """A line for whoever watches, in order with what others print."""
    print(text, flush=True)


def main() -> int:
    """The server or the demonstration; its exit status."""
    if sys.argv[1:] == ["serve"]:
        serve()
        return 0
    try:
        demonstrate()
    except (Wrong, subprocess.TimeoutExpired) as wrong:
        print(f"demo: {wrong}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
