"""Flags made from records: every field of a dataclass is a flag, with the help text and the default of the field."""

import inspect
from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any

import typer


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that are records are spread into flags; it is called with the records made of them."""
    own = inspect.signature(command)
    records = {name: each.annotation for name, each in own.parameters.items() if is_dataclass(each.annotation)}

    @wraps(command)
    def from_flags(**given: Any) -> None:
        made = {name: record_of(record, given) for name, record in records.items()}
        command(**made, **given)

    parameters = [
        flag for name, each in own.parameters.items() for flag in (flags(records[name]) if name in records else [each])
    ]
    from_flags.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    from_flags.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": None}
    return from_flags


def record_of(record: Any, given: dict[str, Any]) -> Any:
    """The record, its fields taken out of what was given; refused where the record refuses values."""
    values = {each.name: given.pop(each.name) for each in fields(record)}
    return record.of(**values) if hasattr(record, "of") else record(**values)


def flags(record: Any) -> list[inspect.Parameter]:
    """The parameters of typer that the fields of a record stand for."""
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=Annotated[each.type, option(each)],
        )
        for each in fields(record)
    ]


def option(each: Field[Any]) -> Any:
    """The option of one field: a switch has one name alone, a choice shows its words."""
    switch = [f"--{each.name.replace('_', '-')}"] if each.default is False else []
    return typer.Option(*switch, help=each.metadata["help"], metavar="|".join(each.metadata["choices"]) or None)
