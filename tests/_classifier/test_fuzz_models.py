"""A short part of the fuzz of saved models, checkpoints, caches and prices (tools/fuzz_models.py)."""

import warnings

import pytest

from tools import fuzz_models


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    pytest.importorskip("torch")
    return fuzz_models.sound_files(tmp_path_factory.mktemp("samples"))


@pytest.mark.filterwarnings("ignore")  # of scikit-learn and numpy, on numbers that are odd
def test_changed_files_are_refused_or_answer_with_numbers(sound, tmp_path):
    reader = fuzz_models.Reader()
    read = {}
    for number in range(300):
        name, files, rng = fuzz_models.make(number, sound)
        fuzz_models._write(tmp_path / "m", files)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                accepted = reader.read(name, tmp_path / "m", rng)
            except Exception as error:
                if type(error) is not ValueError:
                    pytest.fail(f"input {number} of {name}: {error!r}")
                accepted = False
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
    with pytest.raises(ValueError, match=r"no finite numbers for 2 of 2 clouds, the first is clouds\[0\]"):
        forged.predict_proba(clouds[:2])
