"""The command line: each subcommand (`verbs`) calls functions of the library and is loaded on demand."""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, NoReturn

from heatfield import __version__

BENCH = "heatfield_bench"  # of another distribution
_PATIENCE = 1.5  # seconds in which a stopped command may end in order

VERBS = {
    "describe": "compute a table of features, one row per cloud",
    "survey": "compute signatures at every point of a cloud split into tiles",
    "train": "train and cross-validate a classifier of clouds, and save it",
    "predict": "classify files with a trained model",
    "points": "label every point of a cloud: train on labelled points, or predict",
    "info": "show what a file contains and how long describing it would take",
    "view": "write an interactive page of one cloud: rotate it, colour it, step through the scales",
    "report": "write a page about a folder of clouds: map, spectra, classes, neighbours, outliers",
    "bench": "compute the paper's tables and compare them with the published figures",
    "search": "index clouds and find the most similar ones",
    "pattern": "test whether a point pattern is clustered, regular or random, and at which distances",
    "demo": "describe and classify built-in data and draw two pictures",
    "docs": "open the documentation, or print where it is",
}


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence that says how to get help."""

    called: Parser | None = None  # the parser of the verb or of its subcommand

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is; exit code 2."""
        own = self.called or self
        if message.startswith("unrecognized arguments: -"):
            unknown = message.split()[2].partition("=")[0]
            message += _did_you_mean(unknown, own._option_string_actions)
        elif self.below() and "invalid choice: " in message:
            word = message.split("'")[1]
            known = f" (choose from {', '.join(self.below())})"
            message = f"no such verb: {word!r}" + (_did_you_mean(word, self.below()) or known)
        elif self.below() and "are required" in message:
            message = f"a verb is required: {', '.join(self.below())}"
        print(f"{own.prog}: {message}; see '{own.prog} --help'", file=sys.stderr)
        raise SystemExit(2)

    def below(self) -> dict[str, Parser]:
        """The parsers of verbs."""
        actions = [action for action in self._actions if isinstance(action, argparse._SubParsersAction)]
        return actions[0].choices if actions else {}


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, known, 1)
    return f" (did you mean {close[0]}?)" if close else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the command ``heatfield``."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(words)
    except KeyboardInterrupt:
        print("heatfield: stopped", file=sys.stderr)
        return 130
    except (ValueError, OSError, ImportError) as error:
        from ..workflows.files import shown

        print(shown(f"heatfield {words[0]}: {error}"), file=sys.stderr)
        return 2


def _run(words: list[str]) -> int:
    parser = Parser(
        prog="heatfield", description="Heat Field Signatures: multiscale geometry of point clouds."
    )
    parser.add_argument("--version", action="version", version=f"heatfield {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    run: Callable[[argparse.Namespace], int] | None = None
    for verb, summary in VERBS.items():
        sub = verbs.add_parser(verb, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if verb in words[:1]:  # only the verb that was called loads anything
            add_arguments, run = functions_of(verb)
            add_arguments(sub)
            parser.called = next((sub.below()[w] for w in words if w in sub.below()), sub)
    options = parser.parse_args(words)
    if run is None:
        parser.print_help()
        return 0
    os.environ["MPLBACKEND"] = "Agg"  # pictures need no screen
    with prompt_stop(), _spoken_warnings(options.verb):
        return run(options)


def functions_of(verb: str) -> tuple[Callable[[Parser], None], Callable[[argparse.Namespace], int]]:
    """What adds the arguments of a verb to its parser, and what runs it."""
    if verb == "bench":
        if find_spec(BENCH) is None:
            raise ImportError("not installed; pip install heatfield-bench")
        bench = importlib.import_module(f"{BENCH}._command")
        return bench.add_arguments, bench.run
    from . import verbs

    return getattr(verbs, f"add_{verb}"), getattr(verbs, f"run_{verb}")


@contextmanager
def _spoken_warnings(verb: str) -> Iterator[None]:
    """Print the library's warnings as lines of the command."""
    from .._base.check import HeatFieldWarning

    with warnings.catch_warnings():
        plain = warnings.showwarning
        warnings.simplefilter("always", HeatFieldWarning)

        def show(message: Any, category: type[Warning], *rest: Any) -> None:
            if issubclass(category, HeatFieldWarning):
                print(f"heatfield {verb}: {message}", file=sys.stderr)
            else:
                plain(message, category, *rest)

        warnings.showwarning = show  # type: ignore[assignment]
        yield


@contextmanager
def prompt_stop() -> Iterator[None]:
    """End the process if the block is not left within 1.5 seconds of Ctrl-C.

    Python handles Ctrl-C only between its own instructions, so a long call into compiled code (an SVM, a
    decomposition, a transform) would run to its end first. Files are written atomically, so ending the
    process leaves only temporary files, which the next run removes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals belong to the main thread
        return
    import socket

    hears, told = socket.socketpair()
    told.setblocking(False)
    left = threading.Event()

    def watch() -> None:
        while True:
            try:
                word = hears.recv(1)
            except OSError:
                return
            if not word:
                return
            if word[0] == signal.SIGINT and not left.wait(_PATIENCE):
                from .._base.files import remove_unfinished

                remove_unfinished()
                print("\nheatfield: stopped", file=sys.stderr, flush=True)
                os._exit(130)

    before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    watcher = threading.Thread(target=watch, name="heatfield-stop", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        left.set()
        signal.set_wakeup_fd(before)
        told.close()
        watcher.join()
        hears.close()
