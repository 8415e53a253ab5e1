"""Flags are made from the fields of a record: name, type, default, help and choices stand in one place."""

from dataclasses import dataclass

import typer
from typer.testing import CliRunner

from armillary.cli.flags import spread
from armillary.surveys.settings import Settings, setting


@dataclass(frozen=True)
class More(Settings):
    """The settings of a survey, and two more."""

    depth: int = setting(3, "How deep to look.")
    look_twice: bool = setting(False, "Look a second time.")
    side: str = setting("left", "Where to look.", "left", "right")


def command_of(record, seen):
    app = typer.Typer()

    @app.command()
    @spread
    def look(name: str, *, given: record, loud: bool = False) -> None:
        seen.append((name, given, loud))

    return app


def test_a_new_field_is_all_that_a_new_flag_needs():
    app = command_of(More, seen := [])
    done = CliRunner().invoke(app, ["here", "--depth", "5", "--look-twice", "--side", "right", "--seed", "2"])
    assert done.exit_code == 0, done.output
    assert seen == [("here", More(depth=5, look_twice=True, side="right", seed=2), False)]
    flags = {flag.name: flag for flag in typer.main.get_command(app).params}
    assert (flags["depth"].default, flags["depth"].help) == (3, "How deep to look.")
    assert flags["look_twice"].opts == ["--look-twice"]
    assert flags["look_twice"].secondary_opts == []
    assert flags["side"].metavar == "left|right"
    assert next(iter(flags)) == "name"


def test_without_flags_the_record_has_its_defaults():
    app = command_of(More, seen := [])
    assert CliRunner().invoke(app, ["here", "--loud"]).exit_code == 0
    assert seen == [("here", More(), True)]


def test_what_the_record_refuses_is_refused():
    app = command_of(More, seen := [])
    done = CliRunner().invoke(app, ["here", "--side", "rigth"])
    assert str(done.exception) == "expected left or right for --side, got 'rigth': did you mean right?"
    assert seen == []
