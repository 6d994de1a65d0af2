"""Generated data keep their bits: results that are kept belong to them."""

import pytest

from heatfield import datasets
from tests.helpers.generated_data import CASES, NEEDS, facts_of, kept, machine, name_of

KEPT = kept()
HERE = machine()


def test_the_cases_are_those_of_the_file():
    names = [name_of(case) for case in CASES]
    assert sorted(names) == sorted(KEPT["cases"]), "run `python -m tools.write_golden`"


def test_every_generator_has_a_case():
    made = {name for name in datasets.__all__ if name.startswith(("make_", "sample_"))}
    assert made == {generator for generator, _ in CASES}


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_generated_data_keep_their_bits(case):
    expected, found = KEPT["cases"][name_of(case)], facts_of(case)
    assert found["numbers"] == expected["numbers"]
    assert found["sums"] == pytest.approx(expected["sums"], rel=1e-9, abs=1e-9)
    if all(HERE[part] == KEPT["machine"][part] for part in NEEDS[case[0]]):
        assert found["hash"] == expected["hash"]
