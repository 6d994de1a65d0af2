"""Files from the net: continued where a download broke off, checked before they count as there."""

from __future__ import annotations

import hashlib
import json
import os
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from heatfield import __version__
from heatfield._base.progress import progress_bar

_PIECE = 2**20
_SECONDS = 30
_SCHEMES = ("https",)


def fetch(url: str, target: Path, checksum: str | None = None) -> Path:
    """Download ``url`` to ``target`` unless it is there; ``checksum`` is "md5:..." or "sha256:...".

    What has arrived is kept in ``target.part``; the next call asks for the rest only. A file with
    another checksum than promised is removed and reported. Certificates are always checked.
    """
    if target.exists():
        return target
    _require_https(url)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": f"heatfield/{__version__}"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with _opener().open(request, timeout=_SECONDS) as reply:
            resumed = reply.status == 206
            total = int(reply.headers.get("Content-Length") or 0) + (have if resumed else 0)
            with open(part, "ab" if resumed else "wb") as file:
                done = have if resumed else 0
                with progress_bar(
                    total=total or None, initial=done, unit="B", unit_scale=True, desc=target.name
                ) as bar:
                    while piece := reply.read(_PIECE):
                        file.write(piece)
                        bar.update(len(piece))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != 416 or not have:  # 416: the part is already the whole
            raise OSError(f"{url}: {error.code} {error.reason}") from None
        total = have
    except (urllib.error.URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise OSError(f"cannot reach {url} ({reason}); what has arrived is kept, try again later") from None
    if total and part.stat().st_size != total:
        raise OSError(
            f"{url} broke off after {part.stat().st_size} of {total} bytes; try again, it goes on from there"
        )
    if checksum is not None:
        kind, _, expected = checksum.partition(":")
        with open(part, "rb") as file:
            found = hashlib.file_digest(file, kind).hexdigest()
        if found != expected.lower():
            part.unlink()
            raise OSError(f"{url}: {kind} is {found}, expected {expected}; the download was removed")
    os.replace(part, target)
    return target


def _require_https(url: str) -> None:
    """A link that a server sent may name a file of this machine."""
    if urllib.parse.urlsplit(url).scheme not in _SCHEMES:
        raise OSError(f"{url!r} is not fetched: only https is")


class _HttpsOnly(urllib.request.HTTPRedirectHandler):
    """Redirections are held to the same rule."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: str) -> Any:
        try:
            _require_https(newurl)
        except OSError:
            fp.close()  # nobody else will: the connection would stay open until it is collected
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_HttpsOnly)


def bare_name(key: str) -> str:
    """The last part of a name that a server sent, so that it cannot leave the folder; OSError for none."""
    name = key.replace("\\", "/").rpartition("/")[2]
    if name in ("", ".", "..") or "\0" in name or ":" in name:
        raise OSError(f"the server names a file {key!r}, which is no file name")
    return name


def fetch_json(url: str) -> Any:
    """A reply in JSON."""
    _require_https(url)
    request = urllib.request.Request(url, headers={"User-Agent": f"heatfield/{__version__}"})
    try:
        with _opener().open(request, timeout=_SECONDS) as reply:
            return json.load(reply)
    except (urllib.error.URLError, OSError, ValueError) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise OSError(f"cannot read {url} ({getattr(error, 'reason', error)})") from None


def fetch_zenodo(
    record: int, names: tuple[str, ...], folder: Path, api: str = "https://zenodo.org/api/records"
) -> None:
    """Files of a Zenodo record that end in one of ``names``, with the checksums that Zenodo states."""
    entries = fetch_json(f"{api}/{record}").get("files", [])
    wanted = [entry for entry in entries if entry["key"].endswith(names)]
    if not wanted:
        raise OSError(f"Zenodo record {record} has no file that ends in {', '.join(names)}")
    for entry in wanted:
        fetch(entry["links"]["self"], folder / bare_name(entry["key"]), entry.get("checksum"))
