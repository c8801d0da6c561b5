"""What show, check and plan say of every machine, as files to review: UPDATE_GOLDEN=1 writes them anew.

The captured machines are read from their archives and, to the same outputs, from directories.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from numapin.cli import run
from tests.machines.builder import build_machine
from tests.machines.captured import GPU_HOSTS, HWLOC, archive
from tests.machines.written import OURS, description, options

GOLDEN = Path(__file__).parent / "golden"
COMMANDS = {"show": (), "check": (), "plan": ("--", "vllm", "serve")}
FORMATS = {"txt": "text", "json": "json"}

Say = Callable[..., str]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Say:
    """A command's whole answer: stdout, stderr where there is any, and the exit status."""
    for name in [name for name in os.environ if name.startswith("NUMAPIN_")]:
        monkeypatch.delenv(name)

    def answer(command: str, form: str, root: Path, *asked: str) -> str:
        asked = () if command == "show" else asked
        status = run([command, "--root", str(root), "--format", FORMATS[form], *asked, *COMMANDS[command]])
        said = capsys.readouterr()
        shown = compact(said.out) if form == "json" else said.out
        return (shown + said.err).replace(str(root), "ROOT") + (f"exit {status}\n" if form == "txt" else "")

    return answer


def compact(text: str) -> str:
    """JSON with one line for each object that holds no other."""
    record = json.loads(text)
    return "{\n" + ",\n".join(f"  {json.dumps(key)}: {inline(value)}" for key, value in record.items()) + "\n}\n"


def inline(value: object) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"    {json.dumps(one, ensure_ascii=False)}" for one in value) + "\n  ]"
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"    {json.dumps(key)}: {json.dumps(one)}" for key, one in value.items()) + "\n  }"
    return json.dumps(value)


def answers(say: Say, root: Path, *asked: str) -> Iterator[tuple[str, str]]:
    for command in COMMANDS:
        for form in FORMATS:
            yield f"{command}.{form}", say(command, form, root, *asked)


def compare(name: str, said: dict[str, str]) -> None:
    place = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        place.mkdir(parents=True, exist_ok=True)
        for file, text in said.items():
            (place / file).write_text(text)
    assert said == {file: (place / file).read_text() for file in said}


@pytest.mark.parametrize("name", OURS)
def test_a_written_machine_reads_as_reviewed(name: str, say: Say, tmp_path: Path) -> None:
    root = build_machine(tmp_path / "root", description(name))
    compare(name, dict(answers(say, root, *options(name))))


@pytest.mark.parametrize("name", [*GPU_HOSTS, *HWLOC])
def test_a_captured_machine_reads_as_reviewed_from_a_directory_and_from_its_archive(
    name: str, say: Say, unpacked: Callable[[str], Path]
) -> None:
    said = dict(answers(say, unpacked(name)))
    compare(name, said)
    # Opening an archive is what takes long: the two outputs that hold all that is read stand for the six.
    for file in ("show.json", "plan.json"):
        assert say(*file.split("."), archive(name)) == said[file]


def test_no_golden_output_is_of_a_machine_that_is_gone() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == {*OURS, *GPU_HOSTS, *HWLOC}
