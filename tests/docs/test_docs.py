"""The pages say what the tables in the code say."""

import re
from pathlib import Path

from numapin.cli.table import EVERY
from numapin.errors import Exit
from numapin.reasons import MEANINGS

TOP = Path(__file__).parents[2]


def test_the_page_of_reasons_is_the_table_of_reasons() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", (TOP / "docs/reasons.md").read_text(), re.MULTILINE)
    assert rows == [(code, meaning) for code, (_, meaning) in MEANINGS.items()]


def test_the_readme_has_every_option_and_no_other() -> None:
    table = (
        (TOP / "README.md").read_text().partition("| option | values | default |")[2].partition("| exit status |")[0]
    )
    named = set(
        re.findall(r"`--([a-z-]+)`", "".join(line.split("|")[1] for line in table.splitlines() if "|" in line[1:]))
    )
    assert named - {"no-narrow"} == {option.name for option in EVERY}


def test_the_readme_has_every_exit_status() -> None:
    table = (TOP / "README.md").read_text().partition("| exit status |")[2].partition("\n\n")[0]
    assert {int(status) for status in re.findall(r"\b(\d+)(?=[, |])", table)} >= {int(status) for status in Exit}


def test_the_readme_opens_with_its_two_commands() -> None:
    commands = re.findall(r"^    (make \w+)", (TOP / "README.md").read_text(), re.MULTILINE)
    assert commands[:2] == ["make run", "make test"]
