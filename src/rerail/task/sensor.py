"""The sensor: reads inputs and baseline as the contract names them, before anything is started.

What could not be had exactly is a fact on the tape, and nothing starts. An input without a digest
may be another version than the contract says: that is put down, and the run goes on.
"""

import json
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from rerail.errors import UserError
from rerail.tape.plane_records import BaselineLoaded, ObservationRead
from rerail.task.account import Account
from rerail.task.contract import Baseline, Contract, Input, digest_in, is_as_named
from rerail.task.plain_yaml import read_yaml

READ_SIZE: Final = 64 << 20
"""Bytes of one input at most."""

_DOCUMENTS: Final = (".json", ".yaml", ".yml")


class NotAsNamed(UserError):
    """The baseline or an input is not what the contract names: nothing has been started."""


class Loaded(Struct, frozen=True):
    """The baseline's bytes as they were loaded, and the version they say they are."""

    content: bytes
    version: str


def read_inputs(account: Account, contract: Contract, folder: Path, into: Path) -> None:
    """Read every input, put it down, and lay it where the agent finds it. Raises NotAsNamed."""
    for given in contract.inputs:
        found = _read_input(account, given, folder, into)
        (into / given.name).write_bytes(found)


def load_baseline(account: Account, baseline: Baseline, folder: Path) -> Loaded:
    """Load the baseline exactly as it is named. Raises NotAsNamed."""
    content, problem = _read(folder / baseline.path)
    version = version_in(content, baseline.path) or (baseline.version if content else "")
    if not problem and not is_as_named(content, baseline.digest):
        problem = "its digest is another than the contract's"
    if not problem and version != baseline.version:
        problem = f"it is version {version}, and the contract names {baseline.version}"
    account.note(
        BaselineLoaded,
        "sensor",
        name=baseline.name,
        version=version,
        content=account.document(content) if content else None,
        wanted_version=baseline.version,
        wanted_digest=digest_in(baseline.digest),
        source=baseline.path,
        problem=problem,
    )
    if problem:
        raise NotAsNamed(
            f"the baseline `{baseline.name}` cannot be used: {problem}",
            hint="mend `baseline` in the contract, or the file it names",
        )
    return Loaded(content, version)


def version_in(content: bytes, path: str) -> str:
    """The version that a JSON or YAML document says it is, at its top; "" where it says none."""
    if not path.endswith(_DOCUMENTS):
        return ""
    try:
        found: Any = json.loads(content) if path.endswith(".json") else read_yaml(content, path)
    except (ValueError, UserError, RecursionError):
        return ""
    said = found.get("version") if isinstance(found, dict) else None
    return str(said) if isinstance(said, str | int) and not isinstance(said, bool) else ""


def _read_input(account: Account, given: Input, folder: Path, into: Path) -> bytes:
    content, problem = _read(folder / given.path)
    if not problem and not is_as_named(content, given.digest):
        problem = "its digest is another than the contract's"
    version = version_in(content, given.path)
    if not version and given.digest and not problem:
        version = given.version
    account.note(
        ObservationRead,
        "sensor",
        name=given.name,
        version=version,
        wanted_version=given.version,
        wanted_digest=digest_in(given.digest),
        content=account.document(content) if content else None,
        source=given.path,
        path=str(into / given.name),
        problem=problem,
    )
    if problem:
        raise NotAsNamed(
            f"the input `{given.name}` cannot be used: {problem}",
            hint="mend `inputs` in the contract, or the file it names",
        )
    return content


def _read(path: Path) -> tuple[bytes, str]:
    try:
        if path.stat().st_size > READ_SIZE:
            return b"", f"it is larger than {READ_SIZE >> 20} MiB"
        return path.read_bytes(), ""
    except OSError as error:
        return b"", f"it cannot be read: {error.strerror}"
