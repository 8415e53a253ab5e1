"""Settings of training: presets, what is given in their place, and what is refused in one line."""

import pytest

from armillary.errors import RequestError
from armillary.training.presets import PRESETS, SIZES, settings_of
from armillary.training.settings import Overrides, TrainingSettings, given


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_valid(name, size):
    settings_of(name, size).check()


def test_what_is_given_takes_the_place_of_the_preset():
    settings = settings_of("addition", "paper", digits_to=11, learning_rate=0.5)
    assert (settings.digits_from, settings.digits_to, settings.learning_rate, settings.width) == (5, 11, 0.5, 256)


def test_the_paper_settings_of_addition_are_the_documents():
    found = settings_of("addition", "paper")
    assert (found.layers, found.heads, found.width, found.batch, found.steps) == (4, 4, 256, 64, 10_000)
    assert (found.digits_from, found.digits_to, found.learning_rate, found.weight_decay) == (5, 10, 1e-4, 0.1)
    assert 3 * found.longest + 3 == 33


def test_flags_that_are_not_given_are_left_to_the_preset():
    assert given(Overrides(steps=7, kappa_trace=0.0)) == {"steps": 7, "kappa_trace": 0.0}
    assert given(Overrides()) == {}


REFUSED = {
    "expected digits_from of at most digits_to, got 5 and 4: swap them": {"digits_from": 5, "digits_to": 4},
    "expected kappa_scale as a finite number of at least 0, got -1.0: choose another": {"kappa_scale": -1.0},
    "expected kappa_trace as a finite number of at least 0, got nan: choose another": {"kappa_trace": float("nan")},
    "expected steps as a finite number of at least 1, got 0: choose another": {"steps": 0},
    "expected a value that task takes, got 'adding': did you mean addition?": {"task": "adding"},
    "expected a value that shape takes, got 'rotry': did you mean rotary?": {"shape": "rotry"},
    "expected heldout between 0 and 1, got 1.0: choose a share such as 0.1": {"heldout": 1.0},
    "expected dropout from 0 to below 1, got 1.0: choose another": {"dropout": 1.0},
    "expected sparse from 0 to 1, got 1.5: choose a share such as 0.5": {"sparse": 1.5},
    "expected looks at the geometry for gradient, got geometry_every 0: choose another": {
        "gradient": True,
        "geometry_every": 0,
    },
    "expected beta2 from 0 to below 1, got 1.5: choose another": {"beta2": 1.5},
    "expected a width that 3 heads divide, got 128: choose another": {"heads": 3},
    "expected heads of an even width for rotary positions, got 3: choose another": {
        "heads": 2,
        "width": 6,
        "shape": "rotary",
    },
    "expected at most 17 digits, got 18: choose fewer": {"digits_to": 18},
    "expected tested_to of at least digits_to, 4, got 3: choose 0 or more": {"tested_to": 3},
    "expected save_every as a multiple of log_every, 20, got 30: choose another": {"save_every": 30},
    "expected a setting of a training run, got 'stepz': did you mean steps?": {"stepz": 3},
}


@pytest.mark.parametrize(("message", "wrong"), REFUSED.items())
def test_what_means_nothing_is_refused(message, wrong):
    with pytest.raises(RequestError) as caught:
        TrainingSettings.of({}, **wrong)
    assert str(caught.value) == message


def test_an_unknown_name_or_preset_is_refused():
    with pytest.raises(RequestError) as caught:
        settings_of("shakespear")
    assert str(caught.value) == "expected something to train, got 'shakespear': did you mean shakespeare-chars?"
    with pytest.raises(RequestError) as caught:
        settings_of("addition", "large")
    assert str(caught.value) == "expected the preset quick or paper, got 'large': choose one of these"
