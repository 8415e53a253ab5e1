"""Tables of one prompt against plain sums over its maps; hostile texts stay text."""

import io
import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from rich.console import Console
from scipy.stats import entropy

from armillary.errors import RequestError
from armillary.printing import prompt as prompts

TEXTS = ["the", " [red]arm", "illary", " \\x1b[31m"]


def made_up(words=True, blocks=2, heads=3):
    draw = np.random.default_rng(0)
    maps = np.tril(draw.random((blocks, heads, 4, 4)))
    variables = {
        "text": ("position", np.array(TEXTS)),
        "pattern": (("block", "head", "query", "key"), maps / maps.sum(-1, keepdims=True)),
        "allowed": (("block", "query", "key"), np.tri(4, dtype=bool)[None].repeat(blocks, 0)),
        "output_norm": (("block", "head", "query"), draw.random((blocks, heads, 4))),
        "states": (("layer", "position", "d_model"), draw.standard_normal((blocks + 1, 4, 5))),
    }
    if words:
        variables["word_index"] = ("position", np.array([0, 1, 1, 2]))
        variables["word_text"] = ("word", np.array(["the", "[red]armillary", "\\x1b[31m"]))
    return xr.Dataset(variables, attrs={"model": "tiny"})


@pytest.fixture
def prompt():
    return made_up()


def text_of(printed, width=140):
    console = Console(file=io.StringIO(), markup=False, highlight=False, width=width)
    console.print(printed)
    return console.file.getvalue()


def test_the_row_of_a_block_is_the_mean_over_heads_and_queries(prompt):
    row = prompts.layers(prompt).loc[1]
    maps = prompt.pattern.values[1]
    assert row.entropy == pytest.approx(entropy(maps, axis=-1).mean())
    assert row.mass_first == pytest.approx(maps[:, 1:, 0].mean())
    assert row.mass_self == pytest.approx(np.diagonal(maps, axis1=1, axis2=2)[:, 1:].mean())
    best = maps.mean(0) * (1 - np.eye(4))
    best[:, 0] = 0
    assert row.strongest[0]["mass"] == pytest.approx(best.max())


def test_output_weights_are_the_norms_of_what_heads_add(prompt):
    row = prompts.layers(prompt, mean="output").loc[0]
    maps, weight = prompt.pattern.values[0], prompt.output_norm.values[0]
    mean = np.einsum("hqk,hq->qk", maps, weight / weight.sum(0))
    assert row.mass_first == pytest.approx(mean[1:, 0].mean())


def test_one_head_is_that_head_alone(prompt):
    row = prompts.layers(prompt, head=2).loc[0]
    assert row.entropy == pytest.approx(entropy(prompt.pattern.values[0, 2], axis=-1).mean())


def test_words_sum_over_keys_and_average_over_queries(prompt):
    table = prompts.tokens(prompt, 0, head=0, words=True)
    pattern = prompt.pattern.values[0, 0]
    assert table.text.tolist() == ["the", "[red]armillary", "\\x1b[31m"]
    found = {pair["position"]: pair["mass"] for pair in table.strongest[2]}
    assert found[1] == pytest.approx(pattern[3, 1] + pattern[3, 2])
    assert all(sum(pair["mass"] for pair in row) == pytest.approx(1) for row in table.strongest)


def test_no_markup_in_a_token_is_obeyed_and_nothing_controls_the_terminal(prompt):
    tables = prompts.layers(prompt), prompts.tokens(prompt, 0)
    out = "".join(text_of(prompts.printed(prompt, each, "goes \x1b[2J [bold]on[/bold]\n")) for each in tables)
    assert "[red]arm" in out
    assert "\\x1b[31m" in out
    assert "goes \\x1b[2J [bold]on[/bold]\\n" in out
    assert "\x1b" not in out


def test_a_block_takes_one_line_of_a_narrow_terminal(prompt):
    table = prompts.layers(prompt)
    lines = text_of(prompts.printed(prompt, table, None), width=80).splitlines()
    rows = [line for line in lines if line.strip()[:2] in ("0 ", "1 ")]
    best = table.strongest[1][0]
    assert max(map(len, lines)) <= 80
    assert len(rows) == 2
    assert rows[1].rstrip().endswith(f"‘{best['query']}’ → ‘{best['key']}’ {best['mass']:.2f}")


def test_keys_without_attention_are_not_printed(prompt):
    pattern = np.zeros_like(prompt.pattern)
    pattern[..., 0] = 1
    pattern[..., 3, :] = [0.6, 0.396, 0.004, 0]
    shown = prompt.assign(pattern=(prompt.pattern.dims, pattern))
    out = text_of(prompts.printed(shown, prompts.tokens(shown, 0), None))
    assert "‘the’ 0.60, ‘ [red]arm’ 0.40" in out
    assert "0.00, " not in out
    assert "illary’ 0" not in out


def test_json_and_csv_hold_the_same_rows(prompt):
    table = prompts.layers(prompt)
    read = json.loads(prompts.as_json(prompt, table, "x\x07"))
    assert read["tokens"] == TEXTS
    assert read["continuation"] == "x\\x07"
    assert [row["entropy"] for row in read["rows"]] == pytest.approx(table.entropy.tolist())
    rows = pd.read_csv(io.StringIO(prompts.as_csv(table)), index_col="block")
    assert rows.entropy.tolist() == pytest.approx(table.entropy.tolist())
    assert "→" in rows.strongest[0]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda one: prompts.tokens(one, 2), "^expected a layer from 0 to 1, got 2$"),
        (lambda one: prompts.tokens(one, -1), "^expected a layer from 0 to 1, got -1$"),
        (lambda one: prompts.layers(one, head=3), "^expected a head from 0 to 2, got 3$"),
        (
            lambda one: prompts.layers(one, mean="loud"),
            "^expected plain or output for mean, got 'loud': choose plain, output$",
        ),
        (
            lambda one: prompts.layers(made_up(words=False), words=True),
            "^expected a tokenizer, which knows words, got token ids alone: leave words out$",
        ),
    ],
)
def test_what_is_not_there_is_refused_in_one_line(prompt, ask, message):
    with pytest.raises(RequestError, match=message):
        ask(prompt)


def test_a_single_token_has_no_sink_and_no_angles(prompt):
    one = prompt.isel(position=slice(1), query=slice(1), key=slice(1), word=slice(1))
    row = prompts.layers(one).loc[0]
    assert row.entropy == 0
    assert np.isnan([row.mass_first, row.angle_correlation]).all()
    assert "–" in text_of(prompts.printed(one, prompts.layers(one), None))
