"""Where checkers are looked for, in which order, and what is said where there is none."""

import platform
import sys
from pathlib import Path

import pytest

from rerail.errors import ToolMissing
from rerail.tools.programs import TYPESCRIPT_VARIABLE, find_ty, find_typescript

MACHINES = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}
MACHINE = MACHINES.get(platform.machine(), platform.machine())
NATIVE = f"node_modules/@typescript/typescript-{sys.platform}-{MACHINE}/lib/tsc"


def installed(place: Path, version: str = "7.0.2") -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\necho Version {version}\n")
    place.chmod(0o755)
    return place


def test_it_is_found_in_the_packages_of_a_folder_above(tmp_path: Path) -> None:
    program = installed(tmp_path / NATIVE)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    found = find_typescript(environment={}, beside=tmp_path / "deep" / "er")
    assert (found.path, found.version) == (program, "7.0.2")


def test_it_is_found_beside_the_real_place_of_a_linked_package(tmp_path: Path) -> None:
    store = tmp_path / "store" / NATIVE
    installed(store)
    package = tmp_path / "store" / "node_modules" / "typescript"
    package.mkdir()
    (tmp_path / "work" / "node_modules").mkdir(parents=True)
    (tmp_path / "work" / "node_modules" / "typescript").symlink_to(package)
    assert find_typescript(environment={}, beside=tmp_path / "work").path == store


def test_the_variable_comes_before_the_packages_and_the_given_path_before_both(
    tmp_path: Path,
) -> None:
    installed(tmp_path / NATIVE, "7.0.1")
    named, given = installed(tmp_path / "named", "7.0.3"), installed(tmp_path / "given", "7.0.4")
    environment = {TYPESCRIPT_VARIABLE: str(named)}
    assert find_typescript(environment=environment, beside=tmp_path).version == "7.0.3"
    assert find_typescript(given, environment=environment, beside=tmp_path).version == "7.0.4"


def test_the_variable_may_name_a_folder(tmp_path: Path) -> None:
    program = installed(tmp_path / "a" / NATIVE)
    environment = {TYPESCRIPT_VARIABLE: str(tmp_path / "a")}
    assert find_typescript(environment=environment, beside=tmp_path).path == program


def test_a_variable_that_leads_nowhere_is_an_error_and_not_passed_over(tmp_path: Path) -> None:
    installed(tmp_path / NATIVE)
    environment = {TYPESCRIPT_VARIABLE: str(tmp_path / "nowhere")}
    with pytest.raises(ToolMissing, match="nowhere"):
        find_typescript(environment=environment, beside=tmp_path)


def test_without_one_the_hint_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing) as caught:
        find_typescript(environment={}, beside=tmp_path)
    assert "npm install typescript" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "script", ["#!/bin/sh\necho hello\n", "#!/bin/sh\nexit 1\n", "#!/no/such\n"]
)
def test_a_program_that_does_not_tell_its_version_is_none(tmp_path: Path, script: str) -> None:
    program = installed(tmp_path / "tsc")
    program.write_text(script)
    with pytest.raises(ToolMissing):
        find_typescript(program, environment={}, beside=tmp_path)


def test_ty_is_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "elsewhere" / "python"))
    program = installed(tmp_path / "ty", "0.0.1")
    assert find_ty(environment={"PATH": str(tmp_path)}).path == program
    with pytest.raises(ToolMissing, match="on PATH"):
        find_ty(environment={"PATH": str(tmp_path / "elsewhere")})
