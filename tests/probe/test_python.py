"""The Python probe: aiohttp goes to the recorder, everything else stays as it was."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from rerail.probe import paths

AIOHTTP = """
    import aiohttp, asyncio, sys
    async def main():
        options = eval(sys.argv[2]) if len(sys.argv) > 2 else {}
        async with aiohttp.ClientSession(**options) as session:
            async with session.get(sys.argv[1]) as reply:
                print(await reply.text())
    asyncio.run(main())
"""


def python(program: str, *arguments: str, env: dict[str, str], executable: str = "") -> str:
    words = [executable or sys.executable, "-c", textwrap.dedent(program), *arguments]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def with_probe(folder: Path | None = None) -> dict[str, str]:
    """An environment with the probe, and a folder that it hides something in."""
    path = [str(paths().python), *([str(folder)] if folder else [])]
    nothing_left = {"PYTHONDONTWRITEBYTECODE": "1"}
    return {"PATH": os.environ["PATH"], "PYTHONPATH": ":".join(path), **nothing_left}


@pytest.mark.parametrize("options", ["{}", "{'trust_env': False}", "{'trust_env': True}"])
def test_aiohttp_goes_to_the_recorder(recorder: Any, options: str) -> None:
    pytest.importorskip("aiohttp")
    url = "https://api.example.com/v1"
    assert python(AIOHTTP, url, options, env=recorder.environment) == "told /v1\n"
    assert recorder.asked == [("CONNECT", "api.example.com:443")]


def test_aiohttp_names_its_process(recorder: Any) -> None:
    pytest.importorskip("aiohttp")
    python(AIOHTTP, "https://api.example.com/", env=recorder.environment)
    assert recorder.credentials == {"Basic cDc6dG9rLUVOXzE="}


def test_aiohttp_sends_no_password_from_netrc_that_the_agent_did_not_ask_for(
    recorder: Any, tmp_path: Path
) -> None:
    pytest.importorskip("aiohttp")
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine api.example.com login u password secret\n")
    netrc.chmod(0o600)
    program = AIOHTTP.replace("reply.text()", "asyncio.sleep(0, reply.request_info.headers)")
    shown = python(program, "https://api.example.com/", env=recorder.environment)
    assert "'Authorization'" not in shown
    assert "User-Agent" in shown


def test_a_proxy_that_the_agent_chose_itself_is_used(recorder: Any) -> None:
    pytest.importorskip("aiohttp")
    program = AIOHTTP.replace("get(sys.argv[1])", "get(sys.argv[1], proxy=sys.argv[3])")
    url = f"http://chosen:by-the-agent@127.0.0.1:{recorder.proxy.port}"
    python(program, "https://api.example.com/", "{}", url, env=recorder.environment)
    assert recorder.credentials == {"Basic Y2hvc2VuOmJ5LXRoZS1hZ2VudA=="}


def test_a_connector_over_a_unix_socket_is_left_alone(recorder: Any, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    program = """
        import aiohttp, asyncio, sys
        async def answer(reader, writer):
            head = await reader.readuntil(b"\\r\\n\\r\\n")
            target = head.split()[1]
            length = b"Content-Length: %d" % len(target)
            writer.write(b"HTTP/1.1 200 OK\\r\\n" + length + b"\\r\\n\\r\\n" + target)
            await writer.drain()
            writer.close()
        async def main():
            server = await asyncio.start_unix_server(answer, sys.argv[1])
            connector = aiohttp.UnixConnector(sys.argv[1])
            async with aiohttp.ClientSession(connector=connector) as session:
                async with session.get("http://engine/v1/info") as reply:
                    print(await reply.text())
            server.close()
        asyncio.run(main())
    """
    assert python(program, str(tmp_path / "engine"), env=recorder.environment) == "/v1/info\n"
    assert recorder.asked == []


def test_a_version_of_aiohttp_that_has_changed_is_said_to_be_unrecorded(tmp_path: Path) -> None:
    package = tmp_path / "aiohttp"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "client.py").write_text("class ClientSession: pass\n")
    words = [sys.executable, "-c", "import aiohttp.client; print('went on')"]
    done = subprocess.run(
        words, env=with_probe(tmp_path), capture_output=True, text=True, check=True
    )
    assert done.stdout == "went on\n"
    assert done.stderr.startswith("rerail: aiohttp.client is not recorded:")


def test_the_path_looks_as_it_would_without_the_probe() -> None:
    program = "import sys; print(sys.path)"
    assert python(program, env=with_probe()) == python(program, env={"PATH": os.environ["PATH"]})


def test_the_hidden_sitecustomize_is_run(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.mine = 'ran'\n")
    program = "import sys, sitecustomize; print(sys.mine, sitecustomize.__file__)"
    shown = python(program, env=with_probe(tmp_path))
    assert shown == f"ran {tmp_path}/sitecustomize.py\n"


def test_a_hidden_sitecustomize_that_fails_is_reported_as_ever(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("raise RuntimeError('mine')\n")
    words = [sys.executable, "-c", "print('went on')"]
    done = subprocess.run(
        words, env=with_probe(tmp_path), capture_output=True, text=True, check=True
    )
    assert done.stdout == "went on\n"
    assert "RuntimeError: mine" in done.stderr


def test_a_module_that_a_hidden_sitecustomize_misses_is_reported_as_ever(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import no_such_module\n")
    words = [sys.executable, "-c", "pass"]
    done = subprocess.run(
        words, env=with_probe(tmp_path), capture_output=True, text=True, check=True
    )
    assert "no_such_module" in done.stderr


def test_without_the_recorders_address_nothing_changes(tmp_path: Path) -> None:
    assert python("print('fine')", env=with_probe(tmp_path)) == "fine\n"


def test_a_python_child_of_an_agent_has_the_probe_too() -> None:
    program = """
        import subprocess, sys
        inner = "import sys; print('_rerail_probe' in sys.modules)"
        subprocess.run([sys.executable, "-c", inner], check=True)
    """
    assert python(program, env=with_probe()) == "True\n"


def test_the_probe_imports_nothing_that_python_had_not_loaded() -> None:
    program = "import sys; print(sorted(set(sys.modules) - {'_rerail_probe', 'sitecustomize'}))"
    bare = python(program, env={"PATH": os.environ["PATH"]})
    assert python(program, env=with_probe()) == bare


def other_python(version: str) -> str | None:
    """An interpreter of this version: on PATH, or among those that pyenv keeps."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = [
        *pyenv.glob(f"versions/{version}.*/bin/python"),
        *Path("/usr/bin").glob(f"python{version}"),
    ]
    return str(found[0]) if found else None


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.8", "3.9", "3.10", "3.12", "3.13"])
def test_other_pythons_can_read_the_probe(version: str) -> None:
    executable = other_python(version)
    if executable is None:
        pytest.skip(f"no Python {version} here")
    program = "import sys; print('_rerail_probe' in sys.modules)"
    assert python(program, env=with_probe(), executable=executable) == "True\n"
