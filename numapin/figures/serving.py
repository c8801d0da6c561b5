"""What a load on the server showed: latencies and throughput."""

from collections.abc import Iterable, Iterator, Sequence

from numapin.figures import Figure, Kind
from numapin.values import value

RATE = Kind("requests_per_second", "completed requests", "1/s", "higher", 2)
TOKENS = Kind("chunks_per_second", "streamed chunks (tokens)", "1/s", "higher")
FAILED = Kind("failed_requests", "failed requests", "", "lower", 0)
TTFT = tuple(Kind(f"ttft_p{part}_ms", f"time to first token P{part}", "ms", "lower") for part in (50, 99))
ITL = tuple(Kind(f"itl_p{part}_ms", f"inter-token latency P{part}", "ms", "lower", 2) for part in (50, 99))
KINDS = (*TTFT, *ITL, RATE, TOKENS, FAILED)

NO_URL = "no load was asked for (--url)"


@value
class Request:
    """One request that came to its end."""

    first: float
    """Seconds from sending it to the first token."""
    gaps: tuple[float, ...]
    """Seconds between one token and the next."""


@value
class Load:
    """All of a closed loop: each client asks again when it was answered."""

    requests: tuple[Request, ...]
    failed: int
    seconds: float
    why: str = ""
    """What the first failure was."""


def serving(load: Load | None) -> Iterator[Figure]:
    """The figures of a load; dashes where there was none, or where nothing was answered."""
    if load is None or not load.requests:
        why = f"no request was answered: {load.why or 'the time was too short'}" if load else NO_URL
        yield from (Figure(kind, None, why) for kind in KINDS if kind is not FAILED or load is None)
        if load:
            yield Figure(FAILED, load.failed)
        return
    yield from _percentiles(TTFT, [one.first for one in load.requests])
    gaps = [gap for one in load.requests for gap in one.gaps]
    yield from _percentiles(ITL, gaps)
    yield Figure(RATE, len(load.requests) / load.seconds)
    yield Figure(TOKENS, (len(load.requests) + len(gaps)) / load.seconds)
    yield Figure(FAILED, load.failed, load.why)


def _percentiles(kinds: Iterable[Kind], seconds: Sequence[float]) -> Iterator[Figure]:
    for kind, part in zip(kinds, (0.50, 0.99), strict=True):
        found = percentile(seconds, part)
        why = "" if found is not None else "no answer had a second token"
        yield Figure(kind, None if found is None else found * 1000, why)


def percentile(numbers: Sequence[float], part: float) -> float | None:
    """The least of the numbers that is no less than that part of them (nearest rank): always one that was seen."""
    if not numbers:
        return None
    ordered = sorted(numbers)
    return ordered[max(0, -int(-len(ordered) * part // 1) - 1)]
