"""The first table: its numbers are those of the results, and it can be shown in any terminal."""

import io

import numpy as np
import pytest
import tokenizers
import torch
import transformers
import xarray as xr
from rich.console import Console

import armillary as arm
from armillary.printing.layers import caption, printed, table
from armillary.printing.numbers import draws_of
from armillary.printing.panels import estimates
from armillary.results.reading import label_of
from armillary.results.store import Run


@pytest.fixture(scope="module")
def run(tiny_llama):
    return arm.survey(tiny_llama, np.random.default_rng(0).integers(3, 97, (40, 16)), progress=False)


def changed(run, group, **values):
    """The run with other numbers in one group."""
    groups = {name: node.to_dataset().copy(deep=True) for name, node in run.results.children.items()}
    groups[group] = groups[group].assign(values)
    tree = xr.DataTree.from_dict({f"/{name}": dataset for name, dataset in groups.items()})
    tree.attrs.update(run.results.attrs)
    return Run(tree)


def shown(run, width, wide=True):
    out = io.StringIO()
    Console(file=out, width=width, markup=False, highlight=False).print(printed(run, wide=wide))
    return out.getvalue()


def with_outliers(run, texts):
    count = len(texts)
    outliers = run.results["outliers"].to_dataset()
    layers = outliers.sizes["layer"]
    fresh = xr.Dataset(
        {
            **{name: ("outlier", np.arange(count)) for name in ("context", "position", "token")},
            "text": ("outlier", np.array(texts, dtype=str)),
            "ratio": (("outlier", "layer"), np.full((count, layers), 30.0)),
            "median_norm": outliers.median_norm,
        }
    )
    groups = {name: node.to_dataset() for name, node in run.results.children.items()} | {"outliers": fresh}
    tree = xr.DataTree.from_dict({f"/{name}": dataset for name, dataset in groups.items()})
    tree.attrs.update(run.results.attrs)
    return Run(tree)


def test_every_column_is_a_variable_of_the_results(run):
    rows = table(run)
    assert rows.index.name == "layer"
    assert rows.index.tolist() == [0, 1, 2]
    expected = {f"{component}_share": run.results["variance"].share.sel(component=component)
                for component in ("position", "context", "residual")}  # fmt: skip
    for component in ("position", "context"):
        expected[f"{component}_share_floor"] = run.results["variance"].share_floor.sel(component=component)
    for name in ("share_null", "share_corrected", "share_corrected_se"):
        expected[f"position_{name}"] = run.results["position"][name]
    for name in ("rank_stable", "relative_norm"):
        for ending in ("", "_null", "_corrected", "_corrected_se"):
            expected[name + ending] = run.results["position"][name + ending]
    expected |= {name: run.results["norms"][name] for name in ("norm", "norm_se")}
    assert set(rows.columns) == set(expected)
    for name, values in expected.items():
        assert np.array_equal(rows[name], values, equal_nan=True), name


def test_a_change_of_the_results_is_a_change_of_the_table(run):
    other = changed(run, "norms", norm=("layer", np.array([1.0, 2.0, 3.0])))
    assert table(other).norm.tolist() == [1, 2, 3]


@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_table_is_drawn_at_any_width_and_nothing_is_cut(run, width):
    text = shown(run, width)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    assert "…" not in text
    for row in table(run).itertuples():
        assert [f"{row.norm:.1f}", f"{row.norm_se:.1f}"] in [line.split()[-2:] for line in text.splitlines()]
    assert "ready windows: 40 windows of 16 tokens" in " ".join(text.split())


def test_a_wide_table_shows_every_number(run):
    text = shown(run, 200)
    for row in table(run).itertuples():
        for number in (f"{100 * row.position_share:.2f}", f"{100 * row.context_share:.1f}", f"{row.norm:.1f}"):
            assert number in text.split()


def test_a_value_that_is_not_determined_is_a_dash(run):
    empty = ("layer", np.full(3, np.nan))
    names = (
        "rank_stable_corrected",
        "rank_stable_corrected_se",
        "relative_norm_corrected",
        "relative_norm_corrected_se",
    )
    text = shown(changed(run, "position", **dict.fromkeys(names, empty)), 200)
    rows = [line for line in text.splitlines() if line.strip()[:1].isdigit()]
    assert len(rows) == 3
    assert all(line.count("–") == 2 for line in rows)
    assert "nan" not in text.lower()


def test_an_error_stands_in_a_column_of_its_own_and_only_beside_a_number():
    nan = float("nan")
    value, error = estimates("share %", [1.234, nan, -0.5], [0.056, 0.1, nan], 2)
    assert value.cells == ["1.23", "–", "-0.50"]
    assert (error.heading, error.cells) == ("SE", ["0.06", "–", "–"])
    assert [column.heading for column in estimates("share %", [1.0, 2.0], [nan, nan], 2)] == ["share %"]


def test_the_caption_names_outlier_tokens_escaped(run):
    assert "massive" not in caption(run)
    hostile = ["\\x00", "\\x00", "\\u202e", "[bold]a[/bold]", "<script>", "é", "\\x00"]
    words = caption(with_outliers(run, hostile))
    assert "7 tokens of massive norm were left out: " in words
    assert "×3" in words
    assert words.endswith(", ….")
    assert all(line.isprintable() for line in words.splitlines())
    text = shown(with_outliers(run, hostile[:4]), 200)
    assert "[bold]a[/bold]" in text
    assert "\u202e" not in text


def test_the_caption_shows_a_token_as_the_file_holds_it(run):
    assert "'\\x00' ×1" in caption(with_outliers(run, ["\\x00"]))


def test_kept_outliers_are_said_to_be_kept(run):
    one = with_outliers(run, ["the"])
    one.results.attrs["outliers"] = "keep"
    assert "1 token of massive norm was kept: 'the' ×1." in caption(one)


def test_massive_tokens_of_a_real_pass_are_named():
    vocabulary = {chr(97 + i): i for i in range(20)} | {"\u202e": 20}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="a"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="a")
    config = transformers.LlamaConfig(
        vocab_size=21, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    model = transformers.LlamaForCausalLM(config)
    with torch.no_grad():
        model.model.embed_tokens.weight[20] *= 1e4
    tokens = np.random.default_rng(0).integers(0, 20, (12, 10))
    tokens[5, 4] = 20
    surveyed = arm.survey(arm.load(model, tokenizer=tokenizer), tokens, progress=False)
    assert surveyed.results["outliers"].text.values.tolist() == ["\\u202e"]
    assert "1 token of massive norm was left out" in caption(surveyed)


def test_the_headings_are_the_words_of_the_field(run):
    heads = shown(run, 200).splitlines()[1:3]
    words = " ".join(heads[1].split())
    assert words.startswith("layer position % SE plug-in null context % null residual % ")
    assert words.count("plug-in") == 3
    assert words.count("null") == 4
    labels = [label_of(f"position/{name}_corrected") for name in ("rank_stable", "relative_norm")]
    assert " ".join(heads[0].split()).startswith(" ".join(label.split()[0] for label in labels))
    assert heads[1].split()[-2:] == [label_of("norms/norm").split()[-1], "SE"]


def test_the_caption_says_what_errors_dashes_and_nulls_are(run):
    lines = caption(run, wide=True).splitlines()
    assert lines[0].startswith(f"SE: standard error over {draws_of(run.provenance['groups'])}. ")
    assert lines[0].endswith("–: not estimable, position is within 3 SE of 0.")
    assert lines[1] == (
        "plug-in: the documents' own formula, with its small-sample bias. "
        "null: circularly shifted windows (context: permutation null)."
    )
    assert draws_of("16 groups, whole documents") == "16 groups of whole documents"


def test_the_first_table_is_one_panel_of_80_columns_and_says_what_adds_the_rest(run):
    lines = shown(run, 80, wide=False).splitlines()
    words = " ".join(lines[2].split())
    assert words == "layer position % SE context % null rank norm SE"
    assert sum(line.strip().startswith("layer") for line in lines) == 1
    assert max(map(len, lines)) <= 80
    assert "--wide adds plug-in estimates and the other nulls." in " ".join(" ".join(lines).split())


def test_a_run_without_layers_is_refused_with_the_command_that_adds_them(run):
    alone = Run(xr.DataTree.from_dict({"/norms": run.results["norms"].to_dataset()}))
    with pytest.raises(
        arm.RequestError,
        match=r"^expected a run with /variance, got one without: `armillary survey` makes a run with it$",
    ):
        table(alone)
