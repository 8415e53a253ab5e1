"""Settings are written down once: flags, keys and keywords are the same, and nonsense is refused in words."""

import inspect
from dataclasses import asdict, fields

import pytest
import typer

from armillary.cli import app
from armillary.errors import RequestError
from armillary.surveys.settings import CHOICES, Settings

DEFAULTS = asdict(Settings())


def flags():
    return {parameter.name: parameter for parameter in typer.main.get_command(app).commands["survey"].params}


@pytest.mark.parametrize("name", DEFAULTS)
def test_every_setting_is_a_flag_with_the_same_default(name):
    default = flags()[name].default
    assert getattr(default, "value", default) == DEFAULTS[name]


@pytest.mark.parametrize("name", DEFAULTS)
def test_every_setting_is_a_keyword_of_survey_with_the_same_default(name):
    from armillary.runs.survey import survey

    assert inspect.signature(survey).parameters[name].default == DEFAULTS[name]


@pytest.mark.parametrize("name", CHOICES)
def test_the_choices_of_a_flag_are_those_of_the_setting(name):
    assert tuple(choice.value for choice in type(flags()[name].default)) == CHOICES[name]


@pytest.mark.parametrize("name", CHOICES)
def test_every_choice_is_taken_and_any_other_word_refused(name):
    for choice in CHOICES[name]:
        assert getattr(Settings.of(**{name: choice}), name) == choice
    with pytest.raises(RequestError, match=rf"^{name} must be one of .*{CHOICES[name][-1]}, not 'sideways'$"):
        Settings.of(**{name: "sideways"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"contxts": 3}, r"^unknown setting 'contxts': did you mean 'contexts'\?$"),
        ({"xyzzy": 3}, r"^unknown setting 'xyzzy': known are \['batch', .*'sites'\]$"),
        ({"batch": 0}, r"^batch must be at least 1, not 0$"),
        ({"batch": -4}, r"^batch must be at least 1, not -4$"),
        ({"length": 2}, r"^length must be at least 3, not 2$"),
        ({"length": 1, "first": "keep"}, r"^length must be at least 2, not 1$"),
        ({"sites": "residual", "covariance": "attention"}, r"^covariance=attention needs .*: use sites=all$"),
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
