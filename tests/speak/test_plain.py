"""Command lines that are read without click mean what click makes of them; all others are left to click."""

import pytest

from numapin.cli import plain
from numapin.cli.actions import Entry
from numapin.cli.commands import numapin
from numapin.cli.options import resolve

PLAIN = (
    "check",
    "check --policy restricted --unknown=warn",
    "check --home mlx5_0=1 --home GPU-1=0 --cpus 0-3,8",
    "plan --gpus 0,1 --rt-main 1 vllm serve --port 80",
    "run -- vllm serve -x",
    "run --irq-cpus local --memory-policy preferred -- sh -c exit",
    "run --hot NCCL*=2 --hot=auto --hot-nice ZMQ* --workers off --engine vllm -- vllm serve",
    "keep --pid 1 --hot pt_main_thread --metrics /tmp/numapin.prom",
    "show --format json --nics none",
    "run --keep true",
    "check --narrow",
    "verify --quick --tree --pid 7",
    "measure --pid 7 --save a.json --url http://127.0.0.1:8000",
    "bench --seconds 3 --save=b.json --format json",
)
LEFT = (
    "",
    "--help",
    "check --help",
    "check --polic none",
    "check --policy",
    "check --policy nonsense",
    "check word",
    "run --no-narrow true",
    "run --hot NCCL*=50 true",
    "keep --pid",
    "keep --pid none",
    "verify --quick=1",
    "bench --save",
    "measure --save --pid 7",
    "bench --save --megabytes=7",
    "keep --root / --pid 1",
    "capture -o file",
    "nonsense",
)


@pytest.mark.parametrize("line", PLAIN)
def test_a_plain_line_means_what_click_makes_of_it(line, monkeypatch):
    asked = []
    monkeypatch.setattr(Entry, "perform", lambda entry, *found: asked.append((entry, *found)) or 0)
    numapin.main(line.split(), standalone_mode=False)
    read = plain.parse(line.split())
    assert asked == [(read.entry, resolve(read.given, {}), read.command)]


@pytest.mark.parametrize("line", LEFT)
def test_what_is_not_plain_is_left_to_click(line):
    assert plain.parse(line.split()) is None
