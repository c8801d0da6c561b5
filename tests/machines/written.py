"""Our own machines: a few lines of text each, in ours/."""

from pathlib import Path

PLACE = Path(__file__).parent / "ours"
OURS = tuple(sorted(path.stem for path in PLACE.glob("*.machine")))


def description(name: str) -> str:
    """The lines that tests.machines.builder turns into files."""
    return (PLACE / f"{name}.machine").read_text()


def options(name: str) -> list[str]:
    """The options to judge it with: its line `# options: …`."""
    lines = description(name).splitlines()
    return next((line.partition(":")[2].split() for line in lines if line.startswith("# options:")), [])
