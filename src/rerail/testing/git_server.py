"""Git's smart HTTP protocol, served by git's own `http-backend` from a folder of repositories.

It must not know what git says: it is the CGI seam (RFC 3875) between an origin and that program.
"""

import os
import subprocess
from pathlib import Path
from urllib.parse import unquote

from rerail.testing.connection import Connection, Request
from rerail.testing.replies import Reply, head

IDENTITY = {
    "GIT_AUTHOR_NAME": "Test",
    "GIT_AUTHOR_EMAIL": "test@example.com",
    "GIT_COMMITTER_NAME": "Test",
    "GIT_COMMITTER_EMAIL": "test@example.com",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}


def git_backend(root: Path) -> Reply:
    """Serve every repository below `root`, for reading."""

    def reply(connection: Connection, request: Request) -> None:
        answer = subprocess.run(
            ["git", "http-backend"],
            input=request.read(),
            env=_environment(root, request),
            capture_output=True,
            check=True,
        ).stdout
        fields, _, body = answer.partition(b"\r\n\r\n")
        headers = [_split(line) for line in fields.decode().split("\r\n")]
        status = next((value for name, value in headers if name.lower() == "status"), "200")
        kept = [header for header in headers if header[0].lower() != "status"]
        length = ("Content-Length", str(len(body)))
        connection.send(head(int(status.split()[0]), [*kept, length]) + body)

    return reply


def make_repository(folder: Path, files: dict[str, str]) -> Path:
    """A bare repository with one commit of these files on branch `main`."""
    tree = folder.with_suffix(".tree")
    tree.mkdir(parents=True)
    for name, content in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(content)
    _git(tree, "init", "--quiet", "--initial-branch=main")
    _git(tree, "add", ".")
    _git(tree, "commit", "--quiet", "--message=first")
    _git(tree, "clone", "--quiet", "--bare", ".", str(folder))
    return folder


def _git(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, **IDENTITY}
    subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True)


def _environment(root: Path, request: Request) -> dict[str, str]:
    wanted = {
        "REQUEST_METHOD": request.method,
        "PATH_INFO": unquote(request.path),
        "QUERY_STRING": request.query,
        "CONTENT_TYPE": request.header("content-type") or "",
        "CONTENT_LENGTH": str(len(request.body)),
        "HTTP_CONTENT_ENCODING": request.header("content-encoding") or "",
        "GIT_PROTOCOL": request.header("git-protocol") or "",
        "GIT_PROJECT_ROOT": str(root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "REMOTE_ADDR": "127.0.0.1",
        "PATH": os.environ.get("PATH", os.defpath),
    }
    return {**IDENTITY, **wanted}


def _split(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name, value.strip()
