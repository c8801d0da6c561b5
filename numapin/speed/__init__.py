"""How fast this machine's memory is, from each node to each: what `bench` measured, as matrices."""

from collections.abc import Mapping

from numapin.values import value


@value
class Quantity:
    """What a matrix is of."""

    key: str
    """Its name in a file: stable."""
    name: str
    unit: str
    digits: int = 1


LATENCY = Quantity("latency_ns", "idle memory latency", "ns")
READ = Quantity("read_gb_s", "memory bandwidth, reads", "GB/s")
WRITE = Quantity("write_gb_s", "memory bandwidth, writes", "GB/s")
COPY = Quantity("copy_gb_s", "memory bandwidth, copies (bytes read and written)", "GB/s")
WAKEUP = Quantity("wakeup_us", "wake-up of a sleeping thread, median", "µs", 2)
WAKEUP_P99 = Quantity("wakeup_p99_us", "wake-up of a sleeping thread, P99", "µs")

TO_DEVICE, FROM_DEVICE = "to_device", "from_device"


def copies_of(pci: str) -> Quantity:
    """Copies between host memory and one GPU; its columns are `to_device` and `from_device`."""
    return Quantity(f"gpu_gb_s_{pci}", f"copies of GPU {pci}, from host memory of a node, and to it", "GB/s")


@value
class Cell:
    """One measured number; None, and why, where it could not be had."""

    number: float | None
    why: str = ""


Pair = tuple[str, str]


@value
class Matrix:
    """Numbers by row and column, named as in the kernel's node<N>: `0`, `1`. Rows are CPUs, columns what they use."""

    quantity: Quantity
    cells: Mapping[Pair, Cell]

    @property
    def rows(self) -> tuple[str, ...]:
        """In their order."""
        return tuple(dict.fromkeys(row for row, _ in self.cells))

    @property
    def columns(self) -> tuple[str, ...]:
        """In their order."""
        return tuple(dict.fromkeys(column for _, column in self.cells))

    def number(self, row: str, column: str) -> float | None:
        """None also where the pair was not measured."""
        cell = self.cells.get((row, column))
        return cell.number if cell else None

    def ratio(self, row: str, column: str) -> float | None:
        """How it compares with what the same CPUs have on their own node; None where there is no such number."""
        here, local = self.number(row, column), self.number(row, row)
        return here / local if here is not None and local else None


@value
class Firmware:
    """What the firmware claims of one node, for CPUs of the nodes nearest to it (HMAT); None where it says nothing."""

    latency_ns: int | None
    bandwidth_mb_s: int | None
