"""The test that a failed run is kept as, linked to its case; and what that test comes to now.

A test is a program. One that a case from elsewhere names is not run: whoever links one leaves a
keyed hash over it, which only the user, on this machine, can make (`rerail.tape.witness`).
"""

import hashlib
import hmac
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from rerail.cli.screen.complaint import say_aside
from rerail.launch.aside import Aside
from rerail.proxy.certs import Authority, default_folder
from rerail.trace.case import Case
from rerail.trace.check import TestOutcome
from rerail.trace.sources_of_case import entries_of


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
    return _run(path)


def _run(test: Path) -> TestOutcome:
    with tempfile.TemporaryDirectory(prefix="rerail-") as folder, Aside() as aside:
        told = Path(folder, "told.xml")
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        line = shlex.join([*words, f"--junitxml={told}", "--", test.name])
        status = aside.shell(line, test.parent, os.environ).status
        if status not in (0, 1) or not told.is_file():
            return "not run"
        return outcome_of(told.read_text("utf-8"), failed=bool(status))


def outcome_of(told: str, *, failed: bool) -> TestOutcome:
    """What a run of pytest shows, by its account in JUnit's form.

    A test that broke down before its first line, or was skipped, was not run. One that plays a tape
    says what its replay showed; where one fails on anything else, that is not the failure.
    """
    from rerail.testing.plugin import SHOWN

    cases = list(ElementTree.fromstring(told).iter("testcase"))  # noqa: S314 - pytest's own
    if not cases or any(case.find("error") is not None for case in cases):
        return "not run"
    if all(case.find("skipped") is not None for case in cases):
        return "not run"
    found = [
        one.get("value")
        for case in cases
        for one in case.iter("property")
        if one.get("name") == SHOWN
    ]
    if not found:
        return "failed" if failed else "passed"
    if "again" in found:
        return "failed"
    return "shows nothing" if failed or "nothing" in found else "passed"


def _witness(path: str, digest: str) -> str:
    secret = Authority.open_or_create(default_folder(os.environ)).witness_key
    key = hashlib.sha256(b"rerail case\0" + secret).digest()
    return hmac.digest(key, f"{path}\0{digest}".encode(), "sha256").hex()
