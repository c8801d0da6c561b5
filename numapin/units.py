"""Amounts for a person."""

MIB = 1 << 20
GIGA = 1e9


def format_size(size: float) -> str:
    """Bytes in the largest binary unit of which there is one: `18.0 GiB`."""
    for unit, least in (("GiB", 1 << 30), ("MiB", MIB)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size / 1024:.0f} KiB"
