"""Mean attention maps: the heads that differ most."""

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.figures import FIGURES
from armillary.figures.heads.maps import most_unlike
from armillary.figures.kit.fields import MATRICES


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 20), st.integers(0, 99))
def test_maps_are_shown_once_and_a_lone_kind_is_among_them(count, seed):
    maps = np.full((20, 3, 3), 1 / 3)
    lone = seed % 20
    maps[lone] = np.eye(3)
    chosen = most_unlike(maps, count)
    assert len(set(chosen)) == count
    assert lone in chosen


def test_the_heads_that_title_and_caption_name_are_drawn(run_of, changed):
    results = run_of()
    blocks, heads, queries, keys = results["heads"]["map"].shape
    assert blocks * heads > MATRICES
    shape = (blocks * heads, queries, keys)
    maps = 100 * np.random.default_rng(0).random(shape)  # as unlike as they can be, but for these three
    maps[:3] = maps.mean(0)
    maps[1] += 0.1 * np.eye(queries)
    maps[:, range(queries), range(keys)] = maps[0].diagonal()
    maps[1, range(queries), range(keys)] += 0.1
    maps[2, range(queries), range(keys)] -= 0.1
    plain = most_unlike(maps)
    assert not {1, 2} & set(plain)
    some = changed(results, heads__map=(maps / 1000).reshape(results["heads"]["map"].shape))
    figure = FIGURES["head-maps"]
    named = re.findall(r"L\d+H\d+", figure.finding(some) + figure.detail(some))
    assert {f"L{head // heads}H{head % heads}" for head in (1, 2)} == set(named)
    drawn = [trace.name for trace in figure.draw(some).data]
    assert len(set(drawn)) == len(drawn) == MATRICES
    assert set(named) <= set(drawn)
