"""A short part of the fuzz of saved models, checkpoints, caches and prices (tools/fuzz_models.py)."""

import os
import warnings

import pytest

from tools import fuzz_models

# ``FORGERIES=10000 pytest tests/models/test_forged_models.py`` is a long one.
COUNT = int(os.environ.get("FORGERIES", "400"))


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    pytest.importorskip("torch")
    return fuzz_models.sound_files(tmp_path_factory.mktemp("samples"))


@pytest.mark.filterwarnings("ignore")  # of scikit-learn and numpy, on numbers that are odd
def test_changed_files_are_refused_or_answer_with_numbers(sound, tmp_path):
    reader = fuzz_models.Reader()
    read = {}
    for number in range(COUNT):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                name, accepted = fuzz_models.outcome(number, sound, reader, tmp_path / "m")
            except Exception as error:
                pytest.fail(f"input {number}: {error!r}")
        read.setdefault(name, []).append(accepted)
    assert set(read) == set(sound)
    assert any(map(any, read.values()))
    assert not all(map(all, read.values()))


def test_a_network_that_answers_no_numbers_says_so(tmp_path):
    """Finite weights whose products are not: found by the fuzz."""
    torch = pytest.importorskip("torch")
    clouds, labels = fuzz_models.some_clouds()
    model = fuzz_models.models()["full"]().fit(clouds, labels)
    with torch.no_grad():
        for weight in model.learner_.network.parameters():
            weight.fill_(3e38)
    model.save(tmp_path / "m")
    forged = type(model).load(tmp_path / "m")
    with pytest.raises(ValueError, match=r"non-finite values for 2 of 2 clouds, the first is clouds\[0\]"):
        forged.predict_proba(clouds[:2])
