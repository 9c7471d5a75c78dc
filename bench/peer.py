"""The peer, mitmproxy, in an environment of its own: its pins are not ours to live with."""

import json
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# The last version for Python 3.11; newer Pythons get the newest that is made for them.
_FOR_PYTHON_3_11: Final = "mitmproxy==11.0.2"
_INSTALL_SECONDS: Final = 600


class PeerMissing(Exception):
    """The peer cannot be had here; the message says why."""


@dataclass(frozen=True, slots=True)
class Peer:
    """An installed mitmdump: `program` starts it, `version` is what it says of itself."""

    program: Path
    version: str

    @classmethod
    def install(cls, folder: Path) -> "Peer":
        """Install the peer into `folder` where it is not there yet. Raises PeerMissing."""
        binaries = folder / "bin"
        program = binaries / "mitmdump"
        if not program.exists():
            _install(folder, binaries / "python")
        listed = _run([str(binaries / "python"), "-m", "pip", "list", "--format", "json"])
        versions = {entry["name"]: entry["version"] for entry in json.loads(listed)}
        return cls(program, versions["mitmproxy"])

    def command(self, port: int, state: Path, *options: str) -> list[str]:
        """A quiet mitmdump on a loopback port, with its CA in `state`."""
        return [
            str(self.program),
            "--quiet",
            *("--listen-host", "127.0.0.1", "--listen-port", str(port)),
            *("--set", f"confdir={state}"),
            *options,
        ]

    @staticmethod
    def recording(flows: Path, origin_ca: Path, *, streaming: bool = False) -> list[str]:
        """Options that record: the origin's certificate is checked, as rerail does."""
        options = ["--save-stream-file", str(flows)]
        options += ["--set", f"ssl_verify_upstream_trusted_ca={origin_ca}"]
        # Without this a streamed reply arrives when it is over; with it, its body is not kept.
        return options + (["--set", "stream_large_bodies=1"] if streaming else [])

    @staticmethod
    def replaying(flows: Path) -> list[str]:
        """Options that replay each recorded reply once, unchanged, and ask the origin nothing."""
        settings = {
            "server_replay_extra": "404",
            "server_replay_refresh": "false",
            "keepserving": "true",
            "connection_strategy": "lazy",
        }
        options = ["--server-replay", str(flows)]
        for name, value in settings.items():
            options += ["--set", f"{name}={value}"]
        return options

    @staticmethod
    def environment(port: int, state: Path) -> dict[str, str]:
        """What a client needs to go through the peer."""
        proxy = f"http://127.0.0.1:{port}"
        authority = str(state / "mitmproxy-ca-cert.pem")
        return {"http_proxy": proxy, "https_proxy": proxy, "SSL_CERT_FILE": authority}


def _install(folder: Path, python: Path) -> None:
    wanted = _FOR_PYTHON_3_11 if sys.version_info < (3, 12) else "mitmproxy"
    print(f"installing {wanted} into {folder} (once)", file=sys.stderr)
    venv.create(folder, with_pip=True, clear=True)
    _run([str(python), "-m", "pip", "install", "--quiet", wanted])


def _run(command: list[str]) -> str:
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    try:
        done = subprocess.run(
            command,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
            timeout=_INSTALL_SECONDS,
        )
    except subprocess.CalledProcessError as error:
        last = (error.stderr or error.stdout or "").strip().splitlines()[-1:]
        raise PeerMissing(f"`{' '.join(command[-3:])}` failed: {''.join(last)}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerMissing(str(error)) from error
    return done.stdout
