import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.corpora import corpus, groups, windows
from armillary.errors import RequestError


@st.composite
def placed(draw, least=1, most=40):
    counts = draw(st.lists(st.integers(1, 12), min_size=least, max_size=most).filter(lambda each: sum(each) >= 2))
    document = np.repeat(np.arange(len(counts)), counts)
    offset = np.concatenate([np.arange(count) * 10 for count in counts])
    order = np.array(draw(st.permutations(range(len(document)))))
    return document[order], offset[order]


@settings(deadline=None)
@given(placed(), st.integers(4, 20))
def test_every_group_has_windows_and_groups_are_numbered_from_zero(place, n):
    index = groups(place, n).index
    assert index.shape == place[0].shape
    assert np.array_equal(np.unique(index), np.arange(index.max() + 1))
    assert index.max() < n


@settings(deadline=None)
@given(placed(least=4), st.integers(4, 20))
def test_a_document_is_never_split_when_there_are_four_or_more(place, n):
    document, _ = place
    found = groups(place, n)
    for each in np.unique(document):
        assert len(np.unique(found.index[document == each])) == 1
    assert found.index.max() + 1 == min(n, len(np.unique(document)))
    assert found.rule == ("whole documents" if len(np.unique(document)) >= n else "one document each")


@settings(deadline=None)
@given(placed(least=16))
def test_two_groups_differ_by_no_more_than_the_largest_document(place):
    sizes = np.bincount(groups(place).index)
    assert sizes.max() - sizes.min() <= np.bincount(place[0]).max()


@settings(deadline=None)
@given(placed(most=3))
def test_few_documents_are_cut_into_stretches_that_do_not_interleave(place):
    document, offset = place
    found = groups(place)
    assert found.rule == "stretches of documents"
    assert found.index.max() + 1 == min(16, len(document))
    assert np.array_equal(found.index[np.lexsort((offset, document))], np.sort(found.index))
    for each in range(found.index.max() + 1):
        assert len(np.unique(document[found.index == each])) == 1


@settings(deadline=None)
@given(st.integers(2, 200))
def test_stretches_of_one_document_are_even(count):
    sizes = np.bincount(groups((np.zeros(count, int), np.arange(count))).index)
    assert len(sizes) == min(16, count)
    assert sizes.max() - sizes.min() <= 1


@settings(deadline=None)
@given(placed())
def test_groups_do_not_depend_on_chance(place):
    assert np.array_equal(groups(place).index, groups(place).index)


def test_groups_of_windows_are_groups_of_their_places(byte_tokenizer):
    drawn = windows(corpus(["word " * 30] * 20), byte_tokenizer(), contexts=60, length=10)
    assert np.array_equal(groups(drawn).index, groups((drawn.document, drawn.offset)).index)
    assert groups(drawn).index.max() == 15


def test_a_single_window_is_a_group():
    assert groups((np.zeros(1, int), np.zeros(1, int))).index.tolist() == [0]


def test_groups_need_a_window_and_two_groups():
    with pytest.raises(RequestError, match="expected at least 2 groups, got n=1"):
        groups((np.arange(4), np.arange(4)), n=1)
    with pytest.raises(RequestError, match="expected at least 1 window to group, got 0"):
        groups((np.zeros(0, int), np.zeros(0, int)))
