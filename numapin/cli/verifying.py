"""`numapin verify`: read a running server, compare it with its plan, say what has drifted."""

from collections.abc import Iterator

from numapin.cli import session
from numapin.cli.options import Asked
from numapin.errors import CannotRead, Exit
from numapin.marker import Marker
from numapin.proof import prove
from numapin.proof.case import Pin, Running
from numapin.render import proof, text
from numapin.sources.another import AnotherProcess
from numapin.sources.server import Looking, find_servers, read_marker, read_server
from numapin.verdict import Verdict

NO_PLAN = "numapin run starts a server so that it can be verified; without --quick, the verdict of now serves."


def verify_server(asked: Asked) -> int:
    """Prove, report, and give the exit status: 0 aligned, 78 drift, 69 where nobody can tell."""
    pid = asked.pid or find_server()
    marker = read_marker(pid)
    if asked.quick:
        if marker is None:
            raise CannotRead(f"process {pid} was not started by numapin: there is no plan to compare it with", NO_PLAN)
        running = Running(marker, read_server(pid, Looking(threads=False, pages="off")))
        return _report(asked, running, prove(running), planned=True)
    judged = session.read_and_judge(AnotherProcess(pid), asked.settings, to_plan=False)
    expected = marker or marker_of(judged.verdict)
    own = tuple(pins(judged))
    server = read_server(pid, Looking(pages=asked.pages, interrupts=tuple(pin.irq for pin in own)))
    running = Running(expected, server, judged.topology, own, interrupts_matter=asked.settings.irq == "require")
    # Where nobody can say where it belongs, or it does not belong together, that is the answer.
    verdict = prove(running) if marker or not judged.exit else judged.verdict
    return _report(asked, running, verdict, planned=marker is not None)


def find_server() -> int:
    """The server of this container. Raises CannotRead where there is none that numapin started, or several."""
    found = find_servers()
    if len(found) == 1:
        return found[0]
    if found:
        raise CannotRead(
            f"numapin started several processes here: {', '.join(map(str, found))}", "Name one by --pid N."
        )
    raise CannotRead("there is no process here that numapin started", "Name the server by --pid N.")


def marker_of(verdict: Verdict) -> Marker:
    """Where the verdict of now says that a server belongs."""
    return Marker(verdict.policy, verdict.nodes, verdict.cpus, verdict.mems)


def pins(judged: session.Judged) -> Iterator[Pin]:
    """Interrupts of the container's own devices, each with its device's node; on a bare host nobody knows whose."""
    if judged.assignment.container.host_network and not judged.settings.names_interrupts:
        return
    homes = {device.pci: (device.label, home.node) for device, home in judged.verdict.homes.items()}
    for interrupt in judged.assignment.interrupts:
        label, node = homes.get(interrupt.pci, ("", None))
        if node is not None and not interrupt.managed:
            yield Pin(interrupt.irq, label, node)


def _report(asked: Asked, running: Running, verdict: Verdict, *, planned: bool) -> int:
    if asked.format == "json":
        session.print_json(proof.report(running, verdict, planned=planned))
    else:
        session.print_lines(text.verdict_lines(verdict, colour=session.is_colourful()))
        session.print_lines(proof.memory_lines(running.server))
        if asked.tree:
            session.print_lines(proof.tree_lines(running.server))
    if not verdict.errors:
        return Exit.ALIGNED
    return Exit.MISALIGNED if verdict.status == "misaligned" else Exit.CANNOT_TELL
