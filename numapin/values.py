"""Frozen dataclasses, made thirty times faster than `dataclasses` makes them.

`dataclasses` compiles the methods of each class from source text: half a millisecond or more for each of our fifty,
which was a third of the time that numapin takes to start. These classes share their methods instead. To a type
checker (PEP 681) and to a reader they are frozen dataclasses with slots; `dataclasses.replace`, `fields` and `asdict`
take them as such.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Callable[[Any], Any]:
        """`typing` has it from Python 3.11 on; it says something to type checkers and does nothing."""
        return lambda decorator: decorator


T = TypeVar("T")


class _Factory:
    """The default of a field that is made anew for each value."""

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make


def field(*, default_factory: Callable[[], T]) -> T:
    """A field whose default is made anew for each value, as `dataclasses.field` has it."""
    return cast("T", _Factory(default_factory))


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[T]) -> type[T]:
    """The class made anew: a slot for each annotated field, and `Shared`'s methods where it has none of its own."""
    own = cls.__annotations__
    inherited: Any = cls
    fields = (*getattr(inherited, "_fields", ()), *own)
    defaults = getattr(inherited, "_defaults", {}) | {name: vars(cls)[name] for name in own if name in vars(cls)}
    kept = {name: entry for name, entry in vars(cls).items() if name not in (*own, "__dict__", "__weakref__")}
    about = {"__slots__": tuple(own), "_fields": fields, "_defaults": defaults, "__dataclass_fields__": _Fields()}
    return cast("type[T]", type(cls.__name__, cls.__bases__, {**SHARED, **kept, **about}))


def replace(this: T, /, **changes: Any) -> T:
    """The same value but for these fields."""
    fields = cast("Any", this)._fields
    return type(this)(**{name: getattr(this, name) for name in fields} | changes)


class _Fields:
    """What the functions of `dataclasses` look for, made when one of them does."""

    def __get__(self, instance: object, owner: Any) -> Any:
        from dataclasses import make_dataclass  # noqa: PLC0415 -- what this module is there to avoid

        made: Any = make_dataclass(owner.__name__, owner._fields)
        return made.__dataclass_fields__


class Shared:
    """The methods that all values have in common."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()
    _defaults: dict[str, Any] = {}  # noqa: RUF012 -- each value class has its own

    def __init__(self, *given: Any, **named: Any) -> None:
        fields = self._fields
        if len(given) > len(fields):
            raise TypeError(f"{type(self).__name__} takes {len(fields)} values, {len(given)} were given")
        put = object.__setattr__
        for name, content in zip(fields, given, strict=False):
            put(self, name, content)
        for name in fields[len(given) :]:
            put(self, name, named.pop(name) if name in named else self._default(name))
        if named:
            raise TypeError(f"{type(self).__name__} has no field, or was given twice, {', '.join(named)}")

    def _default(self, name: str) -> Any:
        if name not in self._defaults:
            raise TypeError(f"{type(self).__name__} lacks a value for {name}")
        default = self._defaults[name]
        return default.make() if type(default) is _Factory else default

    def __setattr__(self, name: str, content: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot change: a value is frozen")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be taken away: a value is frozen")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, name) for name in self._fields)))

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle, which would set the fields one by one."""
        return type(self), tuple(getattr(self, name) for name in self._fields)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._fields)})"


_METHODS = ("__init__", "_default", "__setattr__", "__delattr__", "__eq__", "__hash__", "__reduce__", "__repr__")
SHARED = {name: vars(Shared)[name] for name in _METHODS}
