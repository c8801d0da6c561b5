"""The keeper's orders, if one is needed at all: from what was asked, what is there, and the engine's profile."""

from collections.abc import Iterator, Mapping

from numapin import hints
from numapin.assignment import Assignment
from numapin.engine import HotRule, Profile, Workers, hot_rules, recognise
from numapin.errors import UsageError
from numapin.orders import HotOrder, Orders, Pinned, Share
from numapin.placement.matching import fits
from numapin.plan import PlannedStep
from numapin.settings import Hot, Mode, Settings
from numapin.shares import share_out
from numapin.steps import PinInterrupt, SetVariable, StartKeeper
from numapin.topology import Topology
from numapin.values import replace, value
from numapin.verdict import Verdict
from numapin.verdict.realtime import LEAST, unsafe

LAUNCHER = "torchrun"
"""The profile that serves where the engine is not known: its launcher's rank variable is everybody's convention."""

NICE = -10
"""What a hot thread gets where no number was given."""


@value
class Server:
    """What is known of the server before it runs."""

    engine: Profile | None
    profiles: Mapping[str, Profile]


def know(settings: Settings, arguments: tuple[str, ...], profiles: Mapping[str, Profile]) -> Server:
    """The engine: as the options name it, else as its command line shows it.

    Raises UsageError for a profile that is not there.
    """
    for option, name in (("--engine", settings.engine), ("--workers", settings.workers)):
        if name not in ("auto", "off"):
            known = ", ".join(sorted(profiles))
            if name not in profiles:
                raise UsageError(f"{option} {name}: there is no such profile. There are {known}", "See --profiles.")
    if settings.engine != "auto":
        return Server(profiles[settings.engine], profiles)
    return Server(recognise(profiles, arguments), profiles)


def with_keeper(
    steps: list[PlannedStep],
    topology: Topology,
    assignment: Assignment,
    settings: Settings,
    verdict: Verdict,
    *,
    arguments: tuple[str, ...],
    profiles: Mapping[str, Profile],
) -> list[PlannedStep]:
    """The steps with the keeper's start among them, before the interrupts, and what its orders need at the end."""
    server = know(settings, arguments, profiles)
    orders = commission(topology, assignment, settings, verdict, server)
    if not orders:
        return steps
    if not verdict.nodes:
        return [*steps, PlannedStep(StartKeeper(orders), "off", "skipped", hint="nothing is bound here")]
    pins = [one for one in steps if one.step.kind == "irq"]
    others = [one for one in steps if one.step.kind != "irq"]
    keeper = _keeper(replace(orders, interrupts=tuple(_kept(pins))), assignment, settings)
    named = [PlannedStep(SetVariable(*one), "try") for one in variables(orders, server.profiles).items()]
    return [*others, keeper, *pins, *named]


def commission(
    topology: Topology, assignment: Assignment, settings: Settings, verdict: Verdict, server: Server
) -> Orders | None:
    """The keeper's orders; None where there is nothing to keep."""
    shares = share_out(topology, assignment, verdict)
    workers = _workers(settings, shares, server)
    hot = tuple(_hot(settings, server))
    if not (hot or workers or settings.keep):
        return None
    return Orders(
        cpus=verdict.cpus,
        hot=hot,
        workers=workers,
        shares=shares if workers else (),
        cores=topology.siblings,
        scheduling=settings.rt != "off",
        unsafe=settings.rt_unsafe,
        binders=assignment.container.binders,
        irq_balancer=assignment.container.irq_balancer,
        rt_hint=hints.for_rt(assignment.permissions, assignment.realtime),
        kernel=assignment.realtime.kernel,
        metrics=settings.metrics,
        log_format=settings.log_format,
    )


def _workers(settings: Settings, shares: tuple[Share, ...], server: Server) -> Workers | None:
    """How workers are known; None where all accelerators are on one node, so that there is nothing to narrow."""
    if settings.workers == "off":
        return None
    if settings.workers != "auto":
        profile: Profile | None = server.profiles[settings.workers]
        if not profile or not profile.workers:
            raise UsageError(f"--workers {settings.workers}: this profile says nothing of worker processes")
    else:
        profile = server.engine if server.engine and server.engine.workers else server.profiles.get(LAUNCHER)
    several = len({share.node for share in shares}) > 1
    return profile.workers if profile and several else None


def _hot(settings: Settings, server: Server) -> Iterator[HotOrder]:
    for wish in settings.hot:
        for rule in _rules(wish, server):
            yield HotOrder(rule, fifo=wish.level or LEAST, asked=wish.pattern)
    for wish in settings.hot_nice:
        for rule in _rules(wish, server):
            yield HotOrder(rule, nice=NICE if wish.level is None else wish.level, asked=wish.pattern)


def _rules(wish: Hot, server: Server) -> tuple[HotRule, ...]:
    """What a pattern stands for: a profile's hot threads where it is one's name, else the threads of that name."""
    if wish.pattern == "auto":
        return hot_rules(server.profiles, server.engine.name) if server.engine else ()
    if wish.pattern in server.profiles:
        return hot_rules(server.profiles, wish.pattern)
    return (HotRule(wish.pattern),)


def variables(orders: Orders, profiles: Mapping[str, Profile]) -> dict[str, str]:
    """What must be in the server's environment for its threads to have the names that are looked for."""
    found: dict[str, str] = {}
    for profile in profiles.values():
        named = any(fits(order.rule.thread, name) for order in orders.hot for name in profile.named)
        found |= profile.variables if named else {}
    return found


def flags(engine: Profile, shares: tuple[Share, ...]) -> tuple[str, ...]:
    """The engine's own options for the same placement, for those who prefer them; none where it has no such options."""
    words = [engine.flags["enable"]] if "enable" in engine.flags else []
    if "nodes" in engine.flags:
        words += [engine.flags["nodes"], *(str(share.node) for share in shares)]
    if "cpus" in engine.flags:
        words += [engine.flags["cpus"], *(str(share.cpus) for share in shares)]
    return tuple(words) if shares else ()


def _kept(pins: list[PlannedStep]) -> Iterator[Pinned]:
    """The interrupts that the plan moves."""
    for pin in pins:
        if isinstance(pin.step, PinInterrupt) and pin.outcome == "planned":
            yield Pinned(pin.step.irq, pin.step.cpus, pin.step.device)


def _keeper(orders: Orders, assignment: Assignment, settings: Settings) -> PlannedStep:
    """Required where anything that it is to do is."""
    if settings.cpu == "off":
        return PlannedStep(StartKeeper(orders), "off", "skipped", hint="--cpu off")
    required = (settings.rt == "require" and orders.hot) or (settings.cpu == "require" and orders.workers)
    mode: Mode = "require" if required else "try"
    danger = None if settings.rt_unsafe or not orders.fifo else unsafe(orders.cpus, assignment.realtime, "hot threads")
    if danger and settings.rt == "require":
        hint = f"{danger}. {hints.UNSAFE}"
        return PlannedStep(StartKeeper(orders), mode, "refused", why="it is not safe here", hint=hint)
    # Hot threads have a CPU of their own all the same; the verdict's RT_UNSAFE has said why they have no more.
    orders = replace(orders, scheduling=orders.scheduling and not danger)
    return PlannedStep(StartKeeper(orders, probe=settings.rt == "require"), mode)
