"""`numapin capture`: make a capture, or say what one holds."""

import os
from collections import Counter

from numapin.cli import session
from numapin.errors import Exit, UsageError
from numapin.sources.capture import capture as capture_machine
from numapin.sources.capture import write_capture
from numapin.sources.opening import machine_directory
from numapin.sources.redaction import leaks
from numapin.sources.root import read_descriptor
from numapin.sources.textual import FIRST_LINE


def capture(output: str | None, root: str) -> int:
    """Write a capture to a file, or to stdout."""
    text = capture_machine("" if os.path.realpath(root) == "/" else machine_directory(root))
    if output is None:
        session.print_lines([text.rstrip("\n")])
        return Exit.ALIGNED
    try:
        write_capture(text, output)
    except OSError as error:
        raise UsageError(f"the capture cannot be written to {output}: {error.strerror}") from None
    session.print_lines([f"{output}: {len(text.encode())} bytes. numapin capture --check {output} says what is in it"])
    return Exit.ALIGNED


def check(path: str) -> int:
    """What would leave the machine with a capture; 69 where something in it should not."""
    content = read_descriptor(path)
    if content is None or not content.startswith(FIRST_LINE.encode()):
        raise UsageError(f"{path} is not a capture of numapin")
    with open(path, encoding="utf-8", errors="backslashreplace") as file:
        lines = file.read().splitlines()
    records = [line.split(" ")[:2] for line in lines[1:] if line and not line.startswith("\t")]
    tops = Counter("/".join(place.split("/")[:2]) for _, place in records)
    found = list(leaks(lines))
    session.print_lines(
        [
            f"{path} holds {len(records)} records:",
            *(f"  {count:5} of {top}" for top, count in sorted(tops.items())),
            *(f"line {number} should not leave the machine: {why}: {line.strip()}" for number, why, line in found),
            *([] if found else ["nothing in it looks like an address, a serial number or an identifier"]),
        ]
    )
    return Exit.CANNOT_TELL if found else Exit.ALIGNED
