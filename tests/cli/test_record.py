"""`rerail record` where it cannot begin: a status of its own, and nothing left behind."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Rerail = Callable[..., Any]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--bogus", "--", "true"], "--bogus"),
        (["--client-cert", "nowhere.pem", "--", "true"], "nowhere.pem"),
        (["--on-record-failure", "perhaps", "--", "true"], "perhaps"),
        ([], "COMMAND"),
        (["--listen", "8080", "--", "true"], "--upstream"),
        (["--resolve", "api.example.com", "--", "true"], "api.example.com"),
        (["--upstream-proxy", "socks5://127.0.0.1", "--", "true"], "socks5"),
        (["--upstream-proxy", "http://[::1", "--", "true"], "URL of a proxy"),
        (["--upstream-proxy", "http://host:99999", "--", "true"], "URL of a proxy"),
        (["--listen", "99999", "--upstream", "http://host", "--", "true"], "99999"),
        (["--listen", "8080", "--upstream", "http://host:99999", "--", "true"], "99999"),
        (["--listen", "8080", "--upstream", "http://[host", "--", "true"], "[host"),
        (["--client-cert", __file__, "--", "true"], "client certificate"),
        (["--no-workspace", "--also", "/", "--", "true"], "--also"),
    ],
)
def test_wrong_options_are_told_apart_from_an_end_of_the_command(
    rerail: Rerail, words: list[str], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rerail("record", "-o", "run.tape", *words).assert_complaint(125, what)
    assert not list(tmp_path.iterdir())


def test_options_behind_the_dashes_are_a_slip(
    rerail: Rerail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rerail("record", "--", "-o", "x.tape", "true").assert_complaint(127, "`-o`", "before `--`")


def test_a_proxy_whose_password_spoils_its_url_is_refused_without_showing_it(
    rerail: Rerail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://me:h0rse/battery@proxy.example:3128")
    result = rerail("record", "-o", tmp_path / "run.tape", "--", "true")
    result.assert_complaint(125, "URL of a proxy", "%2F")
    assert "h0rse" not in result.err and "battery" not in result.err


def test_a_proxy_that_was_given_stands_for_one_that_cannot_be_used(
    rerail: Rerail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1080")
    given = ["--upstream-proxy", "http://127.0.0.1:9", "-q", "--", "true"]
    assert rerail("record", "-o", tmp_path / "run.tape", *given).status == 0
    rerail("record", "-o", tmp_path / "other.tape", "--", "true").assert_complaint(
        125, "socks5", "--upstream-proxy"
    )


def test_no_tape_is_made_where_temporary_files_cannot_be_written(
    rerail: Rerail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/nowhere")
    monkeypatch.setattr("rerail.launch.run_folder._PLACES", ("/proc",))
    told = rerail("record", "-o", tmp_path / "run.tape", "--", "true")
    told.assert_complaint(125, "no folder for temporary files", "TMPDIR")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_was_removed_is_said(
    rerail: Rerail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    rerail("record", "-o", tmp_path / "run.tape", "--", "true").assert_complaint(
        125, "the current folder is not there"
    )


def test_a_word_of_the_command_is_no_option_of_ours(rerail: Rerail, tmp_path: Path) -> None:
    (tmp_path / "run.tape").touch()
    rerail("record", "-o", tmp_path / "run.tape", "--", "true", "--debug").assert_complaint(
        125, "is there already"
    )


def test_the_commands_status_stands_where_nobody_can_be_told_of_the_tape(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "rerail.cli", "record", "-o", tmp_path / "run.tape", "--"]
    with Path("/dev/full").open("wb") as full:
        assert subprocess.run([*words, "true"], stderr=full, check=False).returncode == 0
    assert (tmp_path / "run.tape").stat().st_size


def test_the_folder_of_a_tape_is_made_and_none_above_it(
    rerail: Rerail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert rerail("record", "-q", "-o", "runs/a.tape", "--", "true").status == 0
    assert (tmp_path / "runs" / "a.tape").exists()
    assert (tmp_path / "runs").stat().st_mode & 0o777 == 0o700
    # git, whose status an agent may put into a prompt, does not see it.
    assert (tmp_path / "runs" / ".gitignore").read_text() == "*\n"


def test_a_folder_that_is_there_stays_as_it_is(
    tmp_path: Path, rerail: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    for tape in ("runs/a.tape", "kept/a.tape"):
        assert rerail("record", "-q", "-o", tape, "--", "true").status == 0
        assert [path.name for path in (tmp_path / tape).parent.iterdir()] == ["a.tape"]
    told = rerail("record", "-o", "no/such/a.tape", "--", "true")
    told.assert_complaint(125, "cannot make the folder `no/such`", "-o TAPE")
    assert not (tmp_path / "no").exists()
