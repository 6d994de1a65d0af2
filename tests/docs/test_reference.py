"""The generated reference is complete: public names, verbs with their options, columns."""

import contextlib
import csv
import importlib
import io
import re

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import VERBS, main
from heatfield.features.blocks import explain
from heatfield.workflows.describe import BESIDE
from heatfield_bench._methods import SETS
from tools.site import api, columns_page, commands, paper, public


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """All pages of the API, by name."""
    return {path.stem: path.read_text() for path in api.write(tmp_path_factory.mktemp("api"))}


def test_every_name_of_heatfield_has_a_page(pages):
    modules = public.modules()
    for name in hf.__all__:
        if name.startswith("__"):
            continue
        if f"heatfield.{name}" in modules:
            assert f".. module:: heatfield.{name}\n" in pages[f"heatfield.{name}"]
            continue
        page = public.page_of(public.Name("heatfield", name, getattr(hf, name)))
        assert f"heatfield.{name}\n" in pages[page]
        assert f":doc:`{name} <{page}>`" in pages["index"]
        assert f":doc:`{name} <{page}>`" in pages["heatfield"]


def test_every_name_of_every_package_has_a_page(pages):
    found = list(public.all_names())
    assert len(found) >= 99
    for one in found:
        assert f".. auto{one.kind}:: {one.full}\n" in pages[public.page_of(one)] or one.kind == "data"
        assert f"<{public.page_of(one)}>`" in pages["index"]
    assert len({name.lower() for name in pages}) == 1 + len(public.modules()) + len(found)


def test_every_verb_and_option_is_in_the_reference():
    """Against what the commands themselves print, not against the parsers that the page is made from."""
    page = commands.page()
    for verb in VERBS:
        text = page.split(f"(command-{verb})=")[1].split("\n(command-")[0]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), pytest.raises(SystemExit):
            main([verb, "--help"])
        options = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", printed.getvalue())) - {"--help"}
        rows = set(re.findall(r"--[a-z][\w-]*", " ".join(re.findall(r"^\| `([^`]*)` \|", text, re.M))))
        assert rows <= options, verb
        mentioned = options - rows  # an option may be named in the help of another verb's option
        assert not {
            o for o in mentioned if re.search(rf"^\s+(-\w[^\n]*, )?{o}\b", printed.getvalue(), re.M)
        }, verb
        assert f"[`{verb}`](#command-{verb})" in page


@pytest.mark.parametrize("n", [1, 2, 3, 4, 11])
@pytest.mark.parametrize("variant", ["simple", "desc", "joint", "oriented"])
def test_every_column_is_explained(variant, n):
    layout = columns_page.layout_of(variant, n)
    for block, place in layout.columns.items():
        for name in layout.names[place]:
            found = explain(name)
            assert found.block == block, name
            assert all((found.channel, found.statistic, found.scale, found.unit, found.high)), name


def test_describe_and_site_explain_columns_alike(tmp_path):
    """The dictionary beside a table of `describe`, row by row, against the page."""
    hf.write_points(tmp_path / "cloud.csv", np.random.default_rng(0).random((20, 3)))
    words = ["describe", str(tmp_path / "cloud.csv"), "-o", str(tmp_path / "t.csv"), "--variant", "oriented"]
    assert main([*words, "--n-jobs", "1", "--quiet"]) == 0
    with open(tmp_path / "t.columns.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    page = columns_page.page()
    beside = dict(re.findall(r"^\| `(\w+)`(?: … `_s7`)? \| ([^|]+) \|$", page, re.M))
    sections = {part.split(")=")[0]: part for part in page.split("\n(columns-")[1:]}
    assert {row["block"] for row in rows} == {"", *columns_page.layout_of("oriented").columns}
    for row in rows:
        if not row["block"]:
            name = re.sub(r"^length_s\d$", "length_s0", row["column"])
            assert beside[name] == row["meaning"]
            continue
        section = sections[row["block"]]
        assert f"`{row['column']}`" in section
        assert section.split("\n\n")[1].lower() == f"{row['meaning']}.".lower()
        found = explain(row["column"])
        assert found.block == row["block"]
        assert re.findall(r"\d+", found.scale.split(";")[0]) == row["scales"].split()


def test_dictionary_rows_are_as_wide_as_headings():
    """A bar within a cell, as in |grad u|, shifts the columns behind it."""
    width, checked = 0, 0
    for line in columns_page.page().splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        if cells and width:
            assert cells == width, line
            checked += 1
        width = cells
    assert checked > 100


@pytest.mark.parametrize("n", [2, 3])
def test_columns_of_tables_and_points_are_explained(n):
    page = columns_page.page()
    points = np.random.default_rng(0).random((30, n))
    s = hf.signatures(points, lengths=[0.1, 0.2], with_directions=True)
    wanted = [name for name in hf.io.channel_names() if name != "local_type"]
    for name in (*s.get_feature_names_out(wanted), "local_type_s0"):
        found = columns_page.explain_point(name)
        assert all(found), name
        assert f"`{re.sub('_s1$', '_s0', name)}`" in page, name
    assert {f"`{name}`" for name in BESIDE} <= set(re.findall(r"`\w+`", page))
    with pytest.raises(ValueError, match="'normal'"):
        columns_page.explain_point("normal_s0")


@pytest.mark.parametrize(
    "name", ["coupling_spectrum2_s3", "dimension_p95_s3", "hds_share_d1_s0", "dimension"]
)
def test_a_name_that_is_no_column_is_refused(name):
    with pytest.raises(ValueError, match=re.escape(repr(name))):
        explain(name)


def test_paper_page_names_things_that_exist():
    page = paper.page()
    sections = ["3.1", "3.2", "3.3", "3.4", "3.5", "A.1", "A.2", "A.3", "A.4", "A.5", "C.4", "D.1", "D.3"]
    for section in sections:
        assert re.search(rf"^\| (?:[^|]*, )?{re.escape(section)}[ ,]", page, re.M), section
    for kind, target in re.findall(r"\{py:(\w+)\}`(?:[^`<]*<)?([\w.]+)>?`", page):
        library, *parts = target.split(".")
        value = importlib.import_module(library)
        for part in parts:
            value = getattr(value, part)
        assert value is not None, (kind, target)
    for table in range(1, 10):
        assert f"Table {table}" in page, table
    for verb in re.findall(r"`heatfield (\w+)", page):
        assert verb in VERBS


def test_paper_page_has_every_table_row_and_figure():
    page = paper.page()
    for name in ("Figure 1", "Figure 2", "Theorem 1", "Table 6", "Table 7"):
        assert f"| {name}, " in page, name
    for number, (name, _) in paper.TABLES.items():
        text = page.split(f"## Table {number}: ")[1].split("\n## ")[0]
        assert f"`heatfield bench {name}`" in text
        for row, figures in paper.published(name).items():
            line = next(line for line in text.split("\n") if line.startswith(f"| {row} |"))
            cells = [cell.strip() for cell in line.split("|")[2:-1]]
            assert [float(re.split(r"[; ]", cell)[0]) for cell in cells] == list(figures.values()), row
    beside = {"speed_up", "before_rotation", "boundary_f1"}
    assert {name for name, _ in paper.TABLES.values()} == set(SETS) - beside


def test_paper_page_reads_our_figures_from_files(monkeypatch, tmp_path):
    before = paper.page()
    monkeypatch.setattr(paper, "RECORDS", tmp_path)
    after = paper.page()
    assert "**" in before.split("## Table 1")[1].split("## Table 2")[0]
    assert "**" not in after.split("## Table 1")[1]
