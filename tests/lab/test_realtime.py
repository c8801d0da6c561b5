"""SCHED_FIFO: the main thread has it, nothing that it starts does, and who may not have it is told why."""

import pytest

from tests.lab.computers import TWO_SOCKETS
from tests.lab.rounds import Round

ROUNDS = (Round(TWO_SOCKETS, ("binding", "realtime", "memory")),)
ORDINARY = ("SCHED_OTHER", 0, False)


def scheduling(thread: dict) -> tuple[str, int, bool]:
    return thread["scheduler"], thread["priority"], thread["reset_on_fork"]


# As root with all capabilities; without CAP_SYS_NICE, but with RLIMIT_RTPRIO.
@pytest.mark.parametrize(("case", "priority"), [("fifo", 1), ("fifo_by_limit", 5)])
def test_the_main_thread_alone_has_it(seen, case, priority):
    main, *others = seen[case]["server"]["threads"]

    assert scheduling(main) == ("SCHED_FIFO", priority, True)
    assert len(others) == 4
    assert {scheduling(thread) for thread in (*others, *seen[case]["child"]["threads"])} == {ORDINARY}


def test_without_the_capability_the_server_starts_without_it(seen):
    """--rt try is the default."""
    case = seen["fifo_refused"]
    assert {scheduling(thread) for thread in case["server"]["threads"]} == {ORDINARY}
    assert "RT_NOT_PERMITTED" in case["said"]
    assert case["server"]["policies"] == ["bind=static:1"]


@pytest.mark.parametrize("case", ["fifo_required", "fifo_above_limit"])
def test_where_it_must_be_the_refusal_is_the_end(seen, case):
    assert seen[case]["status"] == 77
    assert "SCHED_FIFO" in seen[case]["err"]
    assert "Operation not permitted" in seen[case]["err"]
