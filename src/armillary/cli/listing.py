"""The commands that list what there is: built-in models and corpora, this machine."""

import typer

from armillary.cli.output import console


def models() -> None:
    """List the built-in models."""
    from armillary.models import NAMED

    listed([(row.name, row.size, row.licence, row.description) for row in NAMED.values()])


def corpora() -> None:
    """List the built-in corpora."""
    from armillary.corpora import NAMED

    listed([(name, row.size, row.licence, row.description) for name, row in NAMED.items()])


def info() -> None:
    """Print versions, devices and caches."""
    from armillary.system.surroundings import facts

    for name, value in facts().items():
        typer.echo(f"{name:14} {value}")


def listed(rows: list[tuple[str, str, str, str]]) -> None:
    """A small list as a table."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("name", "size", "licence", "description"):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table)
