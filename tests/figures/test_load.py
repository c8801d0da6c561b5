"""The closed loop: what it asks, what it counts, and how it ends."""

import threading
import time

import pytest

from numapin.errors import CannotRead, UsageError
from numapin.figures.serving import FAILED, ITL, RATE, TTFT, Load, Request, percentile
from numapin.figures.serving import serving as figures
from numapin.load import Asking, Loop
from tests.figures.api import FIRST, GAP, TOKENS, serving


def run(url: str, seconds: float = 1.0, clients: int = 2, model: str | None = None) -> Load:
    loop = Loop(Asking(url, model, clients, tokens=7, words=11))
    time.sleep(seconds)
    return loop.stop()


def test_the_loop_asks_streams_and_asks_again():
    with serving() as (url, asked):
        load = run(url)
    assert load.failed == 0
    assert len(load.requests) >= 4
    assert {(body["model"], body["max_tokens"], body["stream"]) for body in asked} == {("tiny", 7, True)}
    assert {len(body["prompt"].split()) for body in asked} == {11}
    assert len({body["prompt"] for body in asked}) == len(asked)
    for request in load.requests:
        assert len(request.gaps) == TOKENS - 1
        assert request.first >= FIRST
        assert sum(request.gaps) >= GAP * (TOKENS - 1) * 0.9


def test_as_many_ask_at_a_time_as_there_are_clients():
    with serving() as (url, _):
        one, four = run(url, clients=1), run(url, clients=4)
    assert len(four.requests) > 2 * len(one.requests)


@pytest.mark.parametrize("suffix", ["/v1", "/v1/", "/"])
def test_the_url_may_say_v1_or_not(suffix):
    with serving() as (url, asked):
        run(url + suffix, seconds=0.3, model="mine")
    assert {body["model"] for body in asked} == {"mine"}


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://x", "http://", ""])
def test_what_is_no_url_is_a_usage_error(url):
    with pytest.raises(UsageError):
        run(url)


def test_nobody_answering_is_said_before_anything_is_measured():
    with pytest.raises(CannotRead, match=r"nobody answers at http://127\.0\.0\.1:1/v1/models"):
        run("http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("content", "status", "why"),
    [
        (b"the model is not there", 404, "HTTP 404: the model is not there"),
        (b'{"error": {"message": "too long a prompt"}}', 400, "HTTP 400: too long a prompt"),
        (b'data: {"error": {"message": "too long"}}\n\n', 200, "too long"),
        (b"data: [DONE]\n\n", 200, "an answer without a token"),
        (b"data: {nonsense\n\n", 200, "JSONDecodeError"),
    ],
)
def test_a_request_that_fails_is_counted_and_the_first_is_told(content, status, why):
    with serving(content, status) as (url, _):
        load = run(url, seconds=0.3)
    assert load.requests == ()
    assert load.failed >= 1
    assert why in load.why
    found = {one.kind: one for one in figures(load)}
    assert found[TTFT[0]].number is None
    assert why in found[TTFT[0]].why
    assert found[FAILED].number == load.failed


def test_what_is_still_coming_at_the_end_is_cut_off_and_no_failure():
    with serving() as (url, _):
        before = threading.active_count()
        load = run(url, seconds=FIRST / 2)
        assert (load.requests, load.failed) == ((), 0)
    assert threading.active_count() <= before


def test_latencies_are_those_that_were_seen():
    requests = tuple(Request(first / 1000, (first / 2000,)) for first in range(1, 101))
    found = {one.kind: one.number for one in figures(Load(requests, 3, 10.0, "why"))}
    assert [found[kind] for kind in (*TTFT, *ITL)] == pytest.approx([50, 99, 25, 49.5])
    assert found[RATE] == 10
    assert found[FAILED] == 3


def test_one_token_has_no_inter_token_latency():
    found = {one.kind: one for one in figures(Load((Request(0.1, ()),), 0, 1.0))}
    assert (found[ITL[0]].number, found[ITL[0]].why) == (None, "no answer had a second token")


@pytest.mark.parametrize(("part", "expected"), [(0.5, 2), (0.99, 4), (0.01, 1), (0.75, 3), (0.76, 4)])
def test_a_percentile_is_the_nearest_rank(part, expected):
    assert percentile([4, 1, 3, 2], part) == expected
    assert percentile([], part) is None
    assert percentile([7], part) == 7
