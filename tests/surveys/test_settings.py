"""Settings are written once: flags, config keys and keywords are made from them, and nonsense is refused in words."""

import inspect
from dataclasses import asdict, dataclass, fields

import pytest
import typer

import armillary
from armillary.cli import app
from armillary.errors import RequestError
from armillary.runs.survey import with_settings
from armillary.surveys.settings import Settings, documented, setting

DEFAULTS = asdict(Settings())
HELP = {each.name: each.metadata["help"] for each in fields(Settings)}
CHOICES = {each.name: each.metadata["choices"] for each in fields(Settings) if each.metadata["choices"]}


def flags():
    return {parameter.name: parameter for parameter in typer.main.get_command(app).commands["survey"].params}


@pytest.mark.parametrize("name", DEFAULTS)
def test_every_setting_is_a_flag_with_the_same_default_and_help(name):
    assert flags()[name].default == DEFAULTS[name]
    assert flags()[name].help == HELP[name]
    assert HELP[name].endswith(".")


@pytest.mark.parametrize("name", DEFAULTS)
def test_every_setting_is_a_keyword_of_survey_with_the_same_default(name):
    keyword = inspect.signature(armillary.survey).parameters[name]
    assert keyword.default == DEFAULTS[name]
    assert keyword.annotation == Settings.__annotations__[name]


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_docstring_of_survey_lists_every_setting(name):
    lines = [line.strip() for line in inspect.getdoc(armillary.survey).splitlines()]
    line = next(line for line in lines if line.startswith(f"{name}: "))
    assert HELP[name] in line
    assert f"default: {DEFAULTS[name]}]" in line


@pytest.mark.parametrize("name", CHOICES)
def test_the_choices_of_a_flag_are_those_of_the_setting(name):
    assert flags()[name].metavar == "|".join(CHOICES[name])
    assert DEFAULTS[name] in CHOICES[name]


def test_the_settings_with_choices_are_these():
    assert set(CHOICES) == {"first", "outliers", "bos", "sites", "covariance", "engine"}


@dataclass(frozen=True)
class More(Settings):
    """The settings of a survey, and one more."""

    side: str = setting("left", "Where to look.", "left", "right")


def test_a_new_field_is_all_that_a_new_keyword_needs():
    @with_settings(More)
    def look(view, **settings):
        """Look."""

    assert inspect.signature(look).parameters["side"].default == "left"
    assert look.__doc__.splitlines()[-1] == "    side: Where to look. [left|right; default: left]"
    assert More.of(side="right", contexts=3) == More(side="right", contexts=3)
    assert "    side: Where to look. [left|right; default: left]" in documented(look, More)
    lines = {line.strip().partition(":")[0] for line in Settings.__doc__.splitlines() if line.startswith("    ")}
    assert lines == {each.name for each in fields(Settings)}


@pytest.mark.parametrize("name", CHOICES)
def test_every_choice_is_taken_and_any_other_word_refused(name):
    for choice in CHOICES[name]:
        assert getattr(Settings.of(**{name: choice}), name) == choice
    meant = f"choose {', '.join(CHOICES[name])}"
    words, flag = " or ".join(CHOICES[name]), f"--{name.replace('_', '-')}"
    with pytest.raises(RequestError, match=rf"^expected {words} for {flag}, got 'sideways': {meant}$"):
        Settings.of(**{name: "sideways"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"contxts": 3}, r"^expected a setting of a survey, got 'contxts': did you mean contexts"),
        ({"xyzzy": 3}, r"^expected a setting of a survey, got 'xyzzy': choose contexts, .*, shard_tokens$"),
        ({"batch": 0}, r"^expected batch of at least 1, got 0: choose a larger one$"),
        ({"batch": -4}, r"^expected batch of at least 1, got -4: choose a larger one$"),
        ({"length": 2}, r"^expected length of at least 3, got 2: choose a larger one$"),
        ({"workers": 0, "engine": "ray"}, r"^expected workers of at least 1, got 0: choose a larger one$"),
        ({"workers": 2}, r"^expected engine=ray with workers, got engine=local: use engine=ray, or omit workers$"),
        (
            {"documents": 3},
            r"^expected --documents with --per-document, got --documents alone: give both or neither$",
        ),
        (
            {"per_document": 3},
            r"^expected --documents with --per-document, got --per-document alone: give both or neither$",
        ),
        ({"max_tokens": 100}, r"^expected max_tokens of at least 128, got 100: choose a larger one$"),
        ({"until_se": 0.0}, r"^expected until_se between 0 and 1, got 0: it is a share, 0.001 is 0.1 %$"),
        (
            {"until_se": 0.1, "shard": "1/2"},
            r"^expected one process that sees all windows with until_se, got a shard",
        ),
        ({"engine": "ray", "shard": "1/2"}, r"^expected engine=local with shard, got engine=ray: give one of them$"),
        *(
            ({"shard": shard}, rf"^expected shard as i/N with i from 1 to N, got '{shard}': the first of four is 1/4$")
            for shard in ("0/4", "5/4", "2", "a/b", "-1/3")
        ),
        ({"length": 1, "first": "keep"}, r"^expected length of at least 2, got 1: choose a larger one$"),
        (
            {"sites": "residual", "covariance": "attention"},
            r"^expected sites=all with covariance=attention, got sites=residual: use sites=all$",
        ),
    ],
)
def test_what_cannot_be_is_refused(given, message):
    with pytest.raises(RequestError, match=message):
        Settings.of(**given)


def test_the_smallest_values_are_taken():
    assert Settings.of(length=3).length == 3
    assert Settings.of(length=2, first="keep").length == 2
    assert Settings.of(batch=1).batch == 1


def test_settings_do_not_change():
    assert Settings.__dataclass_params__.frozen
    assert {field.name for field in fields(Settings)} == set(DEFAULTS)
