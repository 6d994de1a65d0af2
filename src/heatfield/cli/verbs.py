"""The verbs: for each, its arguments (`add_VERB`) and what it runs and prints (`run_VERB`, the exit code).

The first line of `add_VERB` names the functions of the library that do the work.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from .._base.summary import plural
from ..options import (
    AnyVariant,
    Features,
    Folds,
    Head,
    Local,
    Pattern,
    PointFiles,
    PointTraining,
    PointValidation,
    Prediction,
    Reading,
    Report,
    Retrieval,
    Run,
    Scales,
    Spectrum,
    Threads,
    Tiling,
    Training,
    View,
)
from .parsing import (
    add_options,
    add_out,
    add_paths,
    add_quiet,
    add_tables,
    done_of,
    failed_files,
    file_size,
    given,
    listed,
    say,
)

# --- describe ------------------------------------------------------------------------

_DESCRIBE = (Features, Reading, PointFiles, Run)


def add_describe(parser: argparse.ArgumentParser) -> None:
    """``heatfield describe``: see `describe_files`."""
    from ..workflows.describe import POINT_SUFFIXES

    add_paths(parser)
    add_out(parser, "FILE", "output table: .parquet, .csv or .npz", required=True)
    add_tables(parser, "labels")
    parser.add_argument(
        "--per-point", choices=POINT_SUFFIXES, metavar="FORMAT",
        help=f"also write the signatures of every point, one file per cloud: {', '.join(POINT_SUFFIXES)}",
    )  # fmt: skip
    add_options(parser, *_DESCRIBE)
    add_quiet(parser)


def run_describe(options: argparse.Namespace) -> int:
    """0: all described. 1: some files failed, see NAME.errors.csv."""
    from ..workflows.describe import describe_files
    from ..workflows.files import skeleton_words

    started = time.perf_counter()
    table = describe_files(
        options.paths,
        options.out,
        labels=options.labels,
        per_point=options.per_point,
        **given(options, *_DESCRIBE),
    )
    seconds = time.perf_counter() - started
    files = len(table) + len(table.errors)
    say(options, done_of(len(table), table.errors, "cloud", options.out, table.resumed))
    say(options, f"{seconds:.1f} s, {(files - table.resumed) / seconds:.1f} clouds per second")
    say(options, skeleton_words(table.files, Reading(**table.settings["reading"])))
    if table.empty:
        clouds = plural(table.empty, "cloud")
        say(options, f"features of {clouds} are NaN: fewer than two distinct points")
    return failed_files("describe", table.errors, files, options.out.with_suffix(".errors.csv"))


# --- survey --------------------------------------------------------------------------

_SURVEY = (Features, Spectrum, Tiling, PointFiles, Run)


def add_survey(parser: argparse.ArgumentParser) -> None:
    """``heatfield survey``: see `heatfield.survey`."""
    from .._survey.tiles import LEFT_OUT

    add_paths(parser, "tiles")
    add_out(parser, "FOLDER", "folder for the tiles with signatures", required=True)
    add_options(parser, *_SURVEY, leave_out=LEFT_OUT)
    add_quiet(parser)


def run_survey(options: argparse.Namespace) -> int:
    """0: all tiles written. 1: some could not be read or written, see survey.errors.csv in the folder."""
    from .._survey import ERRORS, survey

    found = survey(options.tiles, options.out, **given(options, *_SURVEY))
    tiles = len(found.tiles)
    done = done_of(tiles - len(found.errors), found.errors, "tile", options.out)
    say(options, f"{plural(found.points, 'point')} of {done}")
    for entry in found.plan:
        say(options, f"scale {entry['scale']} (sqrt(t) = {entry['length']:.4g}): {entry['reason']}")
    return failed_files("survey", found.errors, tiles, options.out / ERRORS)


# --- train ---------------------------------------------------------------------------

_TRAIN = (AnyVariant, Head, Training, Folds, Reading, Run)


def add_train(parser: argparse.ArgumentParser) -> None:
    """``heatfield train``: see `train_files`."""
    parser.add_argument("folder", metavar="FOLDER", help="a folder with one subfolder per class")
    add_out(parser, "MODEL", "folder of the model; an older model in it is replaced", required=True)
    add_tables(parser, "labels", "groups")
    add_options(parser, *_TRAIN)
    add_quiet(parser)


def run_train(options: argparse.Namespace) -> int:
    """0: trained on all files. 1: some could not be read, see MODEL.errors.csv."""
    from ..workflows.files import skeleton_words
    from ..workflows.train import train_files

    model = train_files(
        options.folder,
        options.out,
        labels=options.labels,
        groups=options.groups,
        **given(options, *_TRAIN),
    )
    found = model.cross_validation_
    if found is not None:
        say(options, f"{found}\nfigures -> {options.out}.report.json, {options.out}.confusion.png")
    say(options, model.choice() if hasattr(model, "choice") else "")
    say(options, skeleton_words(model.files_, Reading(**model.notes_["reading"])))
    say(options, f"model -> {options.out}")
    if not options.quiet and model.uncalibrated():
        print(f"heatfield train: {model.uncalibrated()}", file=sys.stderr)
    files = model.n_clouds_ + len(model.errors_)
    return failed_files("train", model.errors_, files, f"{options.out}.errors.csv")


# --- predict -------------------------------------------------------------------------


def add_predict(parser: argparse.ArgumentParser) -> None:
    """``heatfield predict``: see `predict_files`."""
    parser.add_argument("model", metavar="MODEL", help="a model folder written by 'heatfield train'")
    add_paths(parser)
    add_out(parser, "FILE", "output table, a .csv (default: print the labels)")
    add_options(parser, Prediction, Local)
    add_quiet(parser)


def run_predict(options: argparse.Namespace) -> int:
    """0: all classified. 1: some files could not be read."""
    from ..workflows.predict import predict_files

    found = predict_files(options.model, options.paths, options.out, **given(options, Prediction, Local))
    files = len(found) + len(found.errors)
    if options.out is None:
        for line in found.lines():
            print(line)
        return failed_files("predict", found.errors, files)
    say(options, done_of(len(found), found.errors, "file", options.out))
    if not options.quiet and found.uncalibrated:
        print(f"heatfield predict: {found.uncalibrated}", file=sys.stderr)
    odd = sum(bool(note) for note in found.notes)
    if odd:
        words = f"unlike the training set: {odd} of {plural(len(found), 'cloud')}, see the note column"
        print(f"heatfield predict: {words}", file=sys.stderr)
    return failed_files("predict", found.errors, files, options.out.with_suffix(".errors.csv"))


# --- points --------------------------------------------------------------------------

_POINTS = (PointTraining, PointValidation, Reading, Run)


def add_points(parser: argparse.ArgumentParser) -> None:
    """``heatfield points train`` and ``predict``: see `train_points` and `predict_points`."""
    jobs = parser.add_subparsers(dest="job", metavar="JOB", required=True, title="jobs")
    train = jobs.add_parser("train", help="train on files with labelled points")
    add_paths(train)
    add_out(train, "MODEL", "folder of the model; an older model in it is replaced", required=True)
    train.add_argument(
        "--label", metavar="COLUMN", help="column with the labels (default: classification, else label)"
    )
    train.add_argument(
        "--ignore", metavar="A,B", type=lambda text: text.split(","), default=(),
        help="label values to ignore, e.g. 0,1 (unclassified) in LAS",
    )  # fmt: skip
    add_tables(train, "groups")
    add_options(train, *_POINTS, leave_out=["nodes"])
    add_quiet(train)
    predict = jobs.add_parser("predict", help="label every point of files with a trained model")
    predict.add_argument(
        "model", type=Path, metavar="MODEL", help="a model folder written by 'heatfield points train'"
    )
    add_paths(predict)
    add_out(predict, "FOLDER", "folder for the labelled files", required=True)
    predict.add_argument(
        "--format", metavar="FORMAT",
        help="las, laz, ply, parquet, csv or npz (default: that of the file, laz for all others)",
    )  # fmt: skip
    add_options(predict, Run)
    add_quiet(predict)


def run_points(options: argparse.Namespace) -> int:
    """0: done. 1: some files could not be used, see the .errors.csv."""
    return _train_points(options) if options.job == "train" else _predict_points(options)


def _train_points(options: argparse.Namespace) -> int:
    from ..models.points import scores_as_text
    from ..workflows.points import train_points

    model = train_points(
        options.paths, options.out, label=options.label, ignore=options.ignore, groups=options.groups,
        **given(options, *_POINTS),
    )  # fmt: skip
    notes, settings = model.notes_, model.settings_
    classes = ", ".join(map(str, model.classes_.tolist()))
    say(options, f"{plural(notes['files'], 'file')}, {plural(notes['points'], 'point')}, classes {classes}")
    unit = f", {notes['unit']}" if notes["unit"] else ""
    lengths = ", ".join(f"s{a} {length:g}" for a, length in enumerate(settings.lengths))
    say(options, f"lengths √t{unit}: {lengths}; {len(settings.names)} features per point")
    if model.validation_ is not None:
        say(options, scores_as_text(model.validation_))
    elif getattr(options, "folds", PointValidation.folds):
        say(options, "no validation: needs at least two files or groups")
    say(options, f"model -> {options.out}")
    failures = options.out.with_name(options.out.name + ".errors.csv")
    return failed_files("points", model.errors, notes["files"] + len(model.errors), failures)


def _predict_points(options: argparse.Namespace) -> int:
    from ..workflows.points import predict_points

    started = time.perf_counter()
    files = predict_points(
        options.model, options.paths, options.out, format=options.format, **given(options, Run)
    )
    seconds = time.perf_counter() - started
    count = len(files) + len(files.errors)
    say(options, done_of(len(files), files.errors, "file", options.out, files.resumed))
    say(options, f"{plural(files.points, 'point')}, {seconds:.1f} s")
    return failed_files("points", files.errors, count, options.out / "predict.errors.csv")


# --- info ----------------------------------------------------------------------------


def add_info(parser: argparse.ArgumentParser) -> None:
    """``heatfield info``: see `info`."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="files of points")
    add_options(parser, Scales, Reading)


def run_info(options: argparse.Namespace) -> int:
    """0: printed. 1: some files cannot be read."""
    from ..io import ReadError
    from ..workflows.files import shown
    from ..workflows.one_file import info

    failed = 0
    for file in options.files:
        try:
            print(info(file, **given(options, Scales, Reading)))
        except ReadError as error:
            print(shown(f"heatfield info: {error}"), file=sys.stderr)
            failed = 1
    return failed


# --- view ----------------------------------------------------------------------------

_VIEW = (Scales, View, Reading, Local)


def add_view(parser: argparse.ArgumentParser) -> None:
    """``heatfield view``: see `view_file`."""
    parser.add_argument("file", metavar="FILE", help="a file of points")
    add_out(parser, "PAGE", "output page", "view.html")
    add_options(parser, *_VIEW)
    add_quiet(parser)


def run_view(options: argparse.Namespace) -> int:
    """0: the page is written."""
    from ..workflows.files import shown, skeleton_words
    from ..workflows.one_file import view_file

    started = time.perf_counter()
    page = view_file(options.file, options.out, **given(options, *_VIEW))
    seconds = time.perf_counter() - started
    say(options, skeleton_words([options.file], Reading(**given(options, Reading))))
    say(options, shown(f"{options.file} -> {page}: {file_size(page)} after {seconds:.1f} s"))
    return 0


# --- report --------------------------------------------------------------------------

_REPORT = (Features, Head, Report, Reading, Run)


def add_report(parser: argparse.ArgumentParser) -> None:
    """``heatfield report``: see `report_files`."""
    parser.add_argument(
        "folder", metavar="FOLDER", help="a folder of clouds; its subfolders, if any, are the classes"
    )
    add_out(parser, "PAGE", "output page", "report.html")
    add_tables(parser, "labels", "groups")
    parser.add_argument(
        "--figures", type=Path, metavar="FOLDER",
        help="also write each figure as figure-NAME.svg: map, spectra, confusion, blocks, scales",
    )  # fmt: skip
    add_options(parser, *_REPORT)
    add_quiet(parser)


def run_report(options: argparse.Namespace) -> int:
    """0: the page is written. 1: written, but some files could not be used."""
    from ..workflows.files import skeleton_words
    from ..workflows.report import report_files

    started = time.perf_counter()
    result = report_files(
        options.folder,
        options.out,
        labels=options.labels,
        groups=options.groups,
        figures=options.figures,
        **given(options, *_REPORT),
    )
    table, errors = result.table, result.errors
    say(options, done_of(len(table), errors, "cloud", result.path, table.resumed))
    say(options, skeleton_words(table.files, Reading(**table.settings["reading"])))
    say(options, f"{file_size(result.path)} after {time.perf_counter() - started:.1f} s")
    if options.figures is not None:
        say(options, f"{plural(len(result.figures), 'figure')} -> {options.figures}")
    return failed_files("report", errors, len(table) + len(errors), f"the end of {result.path}")


# --- search --------------------------------------------------------------------------

_INDEX = (Features, Retrieval, Reading, Run)


def add_search(parser: argparse.ArgumentParser) -> None:
    """``heatfield search``: see `build_index`, `add_to_index`, `remove_from_index`, `query_index`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    files = "files, folders, quoted glob patterns, URLs, or a table of features"

    def action(name: str, words: str) -> argparse.ArgumentParser:
        own = actions.add_parser(name, help=words, description=words[0].upper() + words[1:] + ".")
        if name != "build":
            own.add_argument(
                "index", metavar="INDEX", help="an index folder written by 'heatfield search build'"
            )
        return own

    build = action("build", "index files, or a table written by 'heatfield describe'")
    build.add_argument(
        "paths", nargs="+", metavar="PATH", help=f"{files}; subfolders of a single folder are classes"
    )
    add_out(build, "INDEX", "folder of the index; an older index in it is replaced", required=True)
    build.add_argument("--evaluate", action="store_true", help="print retrieval scores")
    query = action("query", "find the clouds of an index most similar to files")
    add_paths(query)
    query.add_argument("-k", type=int, default=10, metavar="K", help="hits per file (default 10)")
    add_out(query, "FILE", "output table, a .csv (default: print it)")
    query.add_argument("--page", type=Path, metavar="PAGE", help="also write a page with thumbnails, a .html")
    add = action("add", "add files to an index, with the options it was built with")
    add.add_argument("paths", nargs="+", metavar="PATH", help=files)
    add.add_argument("--label", metavar="WORD", help="one class for all added clouds")
    for own in (build, add):
        add_tables(own, "labels")
    remove = action("remove", "remove clouds from an index by name")
    remove.add_argument(
        "names", nargs="+", metavar="NAME", help="names as shown by a query, or quoted glob patterns"
    )
    for own, groups in ((build, _INDEX), (query, (Run,)), (add, (Run,)), (remove, ())):
        add_options(own, *groups)
        add_quiet(own)


def run_search(options: argparse.Namespace) -> int:
    """0: done with all files. 1: some could not be used, see NAME.errors.csv."""
    from ..workflows import search

    if options.action == "query":
        return _query_index(options)
    if options.action == "build":
        done = search.build_index(
            _one(options.paths), options.out, labels=options.labels, **given(options, *_INDEX)
        )
    elif options.action == "add":
        done = search.add_to_index(
            options.index, _one(options.paths), labels=options.labels, label=options.label,
            **given(options, Run),
        )  # fmt: skip
    else:
        done = search.remove_from_index(options.index, options.names)
    folder = Path(options.out if options.action == "build" else options.index)
    words = {"build": "indexed", "add": "added", "remove": "removed"}[options.action]
    say(options, f"{plural(len(done.names), 'cloud')} {words} -> {folder}\n{done.index!r}")
    if options.action == "build" and options.evaluate:
        print(done.index.evaluate())
    if options.action == "add" and None in done.index.labels and {*done.index.labels} != {None}:
        print("heatfield search: some clouds of the index have no class; see --label", file=sys.stderr)
    files = len(done.names) + len(done.errors)
    return failed_files("search", done.errors, files, folder.with_name(folder.name + ".errors.csv"))


def _query_index(options: argparse.Namespace) -> int:
    from ..workflows.files import shown
    from ..workflows.search import query_index

    found = query_index(
        options.index, options.paths, options.out, k=options.k, page=options.page, **given(options, Run)
    )
    files = len(found.files) + len(found.errors)
    if options.out is not None:
        say(options, done_of(len(found.files), found.errors, "file", options.out))
    else:
        print(shown(str(found)))
    if options.page is not None:
        say(options, f"{options.page}: {file_size(options.page)}; open it in a browser")
    listed = None if options.out is None else options.out.with_suffix(".errors.csv")
    return failed_files("search", found.errors, files, listed)


def _one(paths: list[str]) -> str | list[str]:
    return paths[0] if len(paths) == 1 else paths


# --- pattern -------------------------------------------------------------------------

_PATTERN = (Pattern, Reading, Local)


def add_pattern(parser: argparse.ArgumentParser) -> None:
    """``heatfield pattern``: see `pattern_test`."""
    parser.add_argument("file", metavar="FILE", help="a file of points in the plane or in space")
    window = parser.add_mutually_exclusive_group()
    window.add_argument(
        "--window", type=lambda text: listed(text, float), metavar="X0,Y0,X1,Y1",
        help="corners of the observation window, a rectangle or box (default: the bounding box)",
    )  # fmt: skip
    window.add_argument(
        "--polygon", metavar="FILE", help="polygonal window instead: a file with its vertices"
    )
    parser.add_argument(
        "--intensity", metavar="FILE",
        help="null-model intensity: a table x,y,value (nearest-neighbour lookup)",
    )  # fmt: skip
    add_out(parser, "FILE", "write the result to a .json")
    parser.add_argument("--plot", metavar="PICTURE", help="plot the curves to a .png or .svg")
    add_options(parser, *_PATTERN)
    add_quiet(parser)


def run_pattern(options: argparse.Namespace) -> int:
    """0: tested."""
    from ..workflows.pattern import pattern_test

    result = pattern_test(
        options.file,
        options.window or options.polygon,
        intensity=options.intensity,
        out=options.out,
        plot=options.plot,
        **given(options, *_PATTERN),
    )
    say(options, str(result))
    if result.ranges:
        say(options, "a distance is 2√t, twice a length")
    for path in (options.out, options.plot):
        say(options, f"-> {path}" if path else "")
    return 0


# --- demo ----------------------------------------------------------------------------


def add_demo(parser: argparse.ArgumentParser) -> None:
    """``heatfield demo``: see `heatfield.workflows.demo`."""
    add_out(parser, "FOLDER", "folder for pictures and results", "heatfield-demo")
    parser.add_argument("--clouds", type=int, default=60, help="Orbit5k clouds per class (default 60)")
    add_options(parser, Threads)


def run_demo(options: argparse.Namespace) -> int:
    """Describe, classify, draw, and print the paths of the results."""
    from ..workflows.demo import FILES, demo

    found = demo(options.out, clouds=options.clouds, **given(options, Threads))
    orbits, shape = found["orbit5k"], found["mixed_shape"]
    print(f"Orbit5k: {orbits['clouds']} clouds in 5 classes")
    print(f"  {orbits['clouds_per_second']:.0f} clouds per second, {orbits['columns']} numbers each")
    print(f"  accuracy {100 * orbits['accuracy']:.1f} % on three tenths of them (chance: 20 %)")
    print("  with all 5,000 clouds the paper reports 93.2 %")
    print(f"Mixed shape: {shape['points']} points, signatures at 8 scales in {shape['seconds']:.2f} s")
    for part, dimension in shape["median_dimension_at_scale_3"].items():
        print(f"  {part:9s} median heat dimension {dimension:.2f} at scale 3")
    print("Results and pictures:", *(options.out / name for name in FILES), sep="\n  ")
    return 0


# --- docs ----------------------------------------------------------------------------


def add_docs(parser: argparse.ArgumentParser) -> None:
    """``heatfield docs``: open the documentation, or say where it is."""
    parser.add_argument(
        "page", nargs="?", metavar="PAGE",
        help="a name such as HeatField or plot.pipeline, a page such as guide/view, or a word of its name"
        " or title such as columns (default: the start page)",
    )  # fmt: skip
    parser.add_argument(
        "--site", type=Path, metavar="FOLDER", help="folder of the built site (default: that of the clone)"
    )
    parser.add_argument("--where", action="store_true", help="only print the address")


def run_docs(options: argparse.Namespace) -> int:
    """Open the page in the browser and print its address."""
    import webbrowser

    from ..workflows.docs import find_page, find_site

    page = find_page(find_site(options.site), options.page).as_uri()
    print(page)
    if not options.where and not webbrowser.open(page):
        print("could not start a browser; open the address above")
    return 0
