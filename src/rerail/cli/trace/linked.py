"""The test that a failed run is kept as, linked to its case; and what that test comes to now.

A test is a program. One that a case from elsewhere names is not run: whoever links one leaves a
keyed hash over it, which only the user, on this machine, can make (`rerail.tape.witness`).
"""

import hashlib
import hmac
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rerail.cli.complaint import say_aside
from rerail.launch.aside import Aside
from rerail.proxy.certs import Authority, default_folder
from rerail.trace.case import Case
from rerail.trace.check import TestOutcome
from rerail.trace.sources_of_case import entries_of

_OUTCOMES: Final[Mapping[int, TestOutcome]] = {0: "passed", 1: "failed"}
"""By the status of pytest; any other says that it could not be run."""


def linked_test(test: Path, case: Case) -> dict[str, Any]:
    """The record that links a pytest file to a case."""
    tapes = [entry.tape_id for entry in entries_of(case) if entry.tape_id]
    path, digest = str(test.absolute()), hashlib.sha256(test.read_bytes()).hexdigest()
    return {"path": path, "sha256": digest, "tapes": tapes, "witness": _witness(path, digest)}


def outcome(case: Case) -> TestOutcome:
    """What the linked test comes to; `not run` where it is gone, was changed, or is not ours."""
    linked = case.last("test")
    path = Path(str(linked.body["path"])) if linked else None
    if linked is None or path is None or not path.is_file():
        return "not run"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != linked.body.get("sha256"):
        say_aside(f"rerail: {path} is not the test that was linked; link it anew with --test")
        return "not run"
    if not hmac.compare_digest(str(linked.body.get("witness")), _witness(str(path), digest)):
        say_aside(f"rerail: {path} was not linked by you on this machine, and is not run")
        say_aside("hint: look at it, and link it with --test")
        return "not run"
    line = shlex.join([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", path.name])
    with Aside() as aside:
        status = aside.shell(line, path.parent, os.environ).status
    return _OUTCOMES.get(status, "not run")


def _witness(path: str, digest: str) -> str:
    secret = Authority.open_or_create(default_folder(os.environ)).witness_key
    key = hashlib.sha256(b"rerail case\0" + secret).digest()
    return hmac.digest(key, f"{path}\0{digest}".encode(), "sha256").hex()
