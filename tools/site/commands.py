"""The reference of the command line, read off the parsers themselves."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from heatfield.cli import VERBS, Parser, functions_of


def parser_of(verb: str) -> argparse.ArgumentParser:
    """The parser of one verb, as `heatfield.cli.main` builds it."""
    summary = VERBS[verb]
    parser = Parser(prog=f"heatfield {verb}", description=summary[0].upper() + summary[1:] + ".")
    functions_of(verb)[0](parser)
    return parser


def arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Arguments and options that are shown to the user, ``--help`` left out."""
    for action in parser._actions:
        inner = isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
        if not inner and action.help is not argparse.SUPPRESS:
            yield action


def sub_parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser itself, then those of its own verbs."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from sub_parsers(below)


def page() -> str:
    """All verbs with all options, as Markdown."""
    lines = [
        "# Commands",
        "",
        "Written from the parser of `heatfield`; `heatfield VERB --help` prints the same.",
        "",
    ]
    lines += ["| verb | what it does |", "|---|---|"]
    lines += [f"| [`{verb}`](#command-{verb}) | {_plain(summary)} |" for verb, summary in VERBS.items()]
    lines += [
        "",
        "Exit codes: 0 done; 1 some files failed; 2 nothing could start; 130 stopped by Ctrl-C.",
        "",
    ]
    for verb in VERBS:
        for depth, parser in enumerate(sub_parsers(parser_of(verb))):
            lines += [f"(command-{parser.prog.removeprefix('heatfield ').replace(' ', '-')})="]
            lines += [
                f"{'##' if depth == 0 else '###'} {parser.prog}",
                "",
                _plain(parser.description or ""),
                "",
            ]
            lines += ["```text", parser.format_usage().strip(), "```", ""]
            rows = list(arguments(parser))
            if rows:
                lines += ["| option | meaning | default |", "|---|---|---|", *map(_row, rows), ""]
    return "\n".join(lines)


def _row(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices is not None:
        value = "|".join(map(str, action.choices)) if action.metavar is None else value
    takes = "" if action.nargs == 0 else f" {value}"
    names = ", ".join(action.option_strings) + takes if action.option_strings else value
    default = "" if action.default in (None, False, argparse.SUPPRESS) else f"`{action.default}`"
    needed = "required" if action.required and action.option_strings else default
    return f"| `{names.replace('|', chr(92) + '|')}` | {_plain(_help(action))} | {needed} |"


def _help(action: argparse.Action) -> str:
    """The help with its ``%`` forms filled in, as argparse prints it."""
    return (action.help or "") % {**vars(action), "prog": "heatfield"} if action.help else ""


def _plain(text: str) -> str:
    """Text that Markdown leaves as it is."""
    for character in "\\|*_<>[]`":
        text = text.replace(character, f"\\{character}")
    return text
