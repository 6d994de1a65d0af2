"""Libraries of the extras (``heatfield[io]`` and so on), imported where they are used."""

from __future__ import annotations

import importlib
from types import ModuleType


def need(
    module: str,
    purpose: str,
    extra: str = "io",
    *,
    name: str | None = None,
    verb: str = "need",
    command: str | None = None,
) -> ModuleType:
    """The module, or an ImportError of one sentence that says what to install.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    module : str
        What to import.
    purpose : str
        What it is for; the subject of the sentence.
    extra : str
        The extra of this library that installs it.
    name : str, optional
        The name of the library; its first package otherwise.
    verb : "need" or "needs"
        Which of the two agrees with the purpose.
    command : str, optional
        What to install it with where it belongs to no extra.

    Returns
    -------
    module : module

    Examples
    --------
    >>> need("json", "Settings").__name__
    'json'
    >>> need("no_such_library.part", "Parquet files")
    Traceback (most recent call last):
    ImportError: Parquet files need no_such_library: pip install 'heatfield[io]'
    """
    package = module.partition(".")[0]
    known = name or package
    try:
        importlib.import_module(package)
        return importlib.import_module(module)
    except ModuleNotFoundError:
        how = command or f"pip install 'heatfield[{extra}]'"
        raise ImportError(f"{purpose} {verb} {known}: {how}", name=module) from None
    except ImportError as error:  # it is there, but broken: installing it once more may not help
        raise ImportError(
            f"{purpose} {verb} {known}, which cannot be imported: {error}", name=module
        ) from error
