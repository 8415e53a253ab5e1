"""The written schema agrees with the signatures of the measures, and every row says what it is."""

import inspect

import pytest

from armillary.results.labels import axes_of, outputs_of
from armillary.results.schema import GROUPS
from armillary.results.schema.weights import HEAD_MEASURES

MEASURED = [name for name, group in GROUPS.items() if group.measures]


@pytest.mark.parametrize("name", MEASURED)
def test_measures_return_the_variables_of_their_group(name):
    group = GROUPS[name]
    returned = [output for measure in group.measures for output in outputs_of(measure)]
    assert len(returned) == len(set(returned)), "two measures give the same variable"
    assert set(returned) == set(group.variables)


def loop_of(group):
    """The axes that the measures of a group are run along."""
    used = {axis for row in group.variables.values() for axis in row.axes}
    return ("block", "matrix") if "matrix" in used else ("block",) if "block" in used else ("layer",)


def axes_behind(group, name):
    """The axes of what a parameter finds: a variable, one by its group and name, an axis by those, a group's result."""
    for source in (GROUPS[each] for each in group.inputs):
        if name in source.variables:
            return source.variables[name].axes
    for source in group.inputs:
        variables, own = GROUPS[source].variables, name.removeprefix(f"{source}_")
        if own != name and own in variables:
            return variables[own].axes
        if own != name and any(own in row.axes for row in variables.values()):
            return (own,)
    return group.variables[name].axes if name in group.variables else None


@pytest.mark.parametrize("name", MEASURED)
def test_the_axes_are_the_loop_and_what_the_measure_returns(name):
    group = GROUPS[name]
    loop = loop_of(group)
    for measure in group.measures:
        parameters = inspect.signature(measure).parameters.values()
        looped = any(
            loop[0] in set(axes_behind(group, p.name) or ()) - set(axes_of(p.annotation) or ()) for p in parameters
        )
        for output, axes in outputs_of(measure).items():
            assert group.variables[output].axes == ((*loop, *axes) if looped else axes), output


@pytest.mark.parametrize("name", MEASURED)
def test_measures_find_their_parameters_in_the_groups_they_name(name):
    group = GROUPS[name]
    loop = loop_of(group)
    for measure in group.measures:
        for parameter in inspect.signature(measure).parameters.values():
            found = axes_behind(group, parameter.name)
            if found is None and parameter.default is not inspect.Parameter.empty:
                continue
            assert found is not None, parameter.name
            assert set(found) <= {*loop, *(axes_of(parameter.annotation) or ())}, parameter.name


@pytest.mark.parametrize("name", GROUPS)
def test_every_group_and_variable_has_unit_and_text(name):
    group = GROUPS[name]
    assert group.file.endswith(".nc")
    assert len(group.text.split()) > 2
    assert group.variables
    for variable, row in group.variables.items():
        assert row.unit.strip(), variable
        assert len(row.text.split()) > 1, variable
        assert len(set(row.axes)) == len(row.axes), variable


def test_layer_and_block_never_meet_in_one_group():
    for name, group in GROUPS.items():
        used = {axis for row in group.variables.values() for axis in row.axes}
        assert not {"layer", "block"} <= used, name


def test_the_contract_names_that_other_tools_rely_on_are_there():
    promised = {
        "residual": {
            "mean": ("layer", "d_model"),
            "position_basis": ("layer", "position", "d_model"),
            "context_basis": ("layer", "context", "d_model"),
            "first": ("layer", "d_model"),
        },
        "position": {"rank_stable": ("layer",), "relative_norm": ("layer",)},
        "variance": {"share": ("layer", "component")},
    }
    for group, variables in promised.items():
        for name, axes in variables.items():
            assert GROUPS[group].variables[name].axes == axes


def test_every_corrected_value_has_an_error_and_every_error_a_value():
    for name in MEASURED:
        variables = GROUPS[name].variables
        for variable in variables:
            if variable.endswith("_corrected"):
                assert f"{variable}_se" in variables
            if variable.endswith("_se"):
                assert variable.removesuffix("_se") in variables


def test_no_variable_bears_the_name_of_another_axis_of_its_group():
    """Or else xarray makes it a coordinate, and nobody finds it among the data variables."""
    for name, group in GROUPS.items():
        used = {axis for row in group.variables.values() for axis in row.axes}
        for variable, row in group.variables.items():
            assert variable not in used or row.axes == (variable,), f"/{name}/{variable}"


def test_what_is_measured_of_heads_has_the_axes_of_its_row_and_every_row_a_measure():
    returned = {name: axes for measure in HEAD_MEASURES for name, axes in outputs_of(measure).items()}
    rows = GROUPS["weights"].variables | GROUPS["localization"].variables
    assert set(rows) <= set(returned)
    for name, row in rows.items():
        assert row.axes == ("block", "head", *returned[name]), name
    assert set(GROUPS["weights_twin"].variables) == set(GROUPS["weights"].variables)
