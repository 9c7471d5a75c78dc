"""Which certificates are trusted: by the recorder towards origins, by the agent towards anything.

Knows no sockets and makes no certificate: it finds files, and writes the ones a child is shown.
"""

import hashlib
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from rerail.errors import UserError

SYSTEM_FILES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Alpine, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, RHEL before 9
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  # RHEL
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # macOS, FreeBSD, Alpine
    "/opt/homebrew/etc/openssl@3/cert.pem",
    "/usr/local/etc/openssl@3/cert.pem",
)
"""Where systems keep all their roots in one file, the commonest first."""

ADDED_BY: Final = (
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    "npm_config_cafile",
)
"""Variables of single clients by which a parent may have added a root of its own."""

KEPT_BUNDLES: Final = 8
"""Cached bundles that are left when a new one is made."""

_BEGIN: Final = b"-----BEGIN CERTIFICATE-----"
_END: Final = b"-----END CERTIFICATE-----"


class TrustUnreadable(UserError):
    """A variable of the environment names certificates that cannot be read."""


class TrustedRoots(NamedTuple):
    """The roots that origins are checked against, as OpenSSL takes them: a file and a folder."""

    file: str | None
    folder: str | None


class TrustFiles(Struct, frozen=True):
    """What a child is shown: `bundle` (PEM) in a folder of its own, and wget's start-up file."""

    bundle: Path
    wget: Path

    @property
    def folder(self) -> Path:
        """The folder that holds the bundle and nothing else that is a certificate."""
        return self.bundle.parent


def trusted_roots(environ: Mapping[str, str]) -> TrustedRoots:
    """What a program started in this environment trusts, as OpenSSL decides it.

    `SSL_CERT_FILE` and `SSL_CERT_DIR` each stand in for the default of its kind
    (SSL_CTX_set_default_verify_paths(3)). Raises `TrustUnreadable` where one names nothing.
    """
    defaults = ssl.get_default_verify_paths()
    file, folder = environ.get("SSL_CERT_FILE"), environ.get("SSL_CERT_DIR")
    if file and not Path(file).is_file():
        raise TrustUnreadable(
            f"SSL_CERT_FILE names `{file}`, which is not a file",
            hint="unset SSL_CERT_FILE to trust the system's certificates",
        )
    if not folder and Path(defaults.openssl_capath).is_dir():
        folder = defaults.openssl_capath
    return TrustedRoots(file or _system_file(defaults.openssl_cafile), folder or None)


def _system_file(openssl_default: str) -> str | None:
    for candidate in (openssl_default, *SYSTEM_FILES):
        if Path(candidate).is_file():
            return candidate
    try:
        import certifi
    except ImportError:
        return None
    return certifi.where()


def kept_bundle(cache: Path, certificate_pem: bytes, environ: Mapping[str, str]) -> TrustFiles:
    """The files a child is shown, from `cache` where nothing they are made of has changed since.

    A folder of hundreds of roots is read once. Raises `TrustUnreadable`, OSError.
    """
    digest = hashlib.sha256(certificate_pem)
    for path in (*_sources(environ), _own_wgetrc(environ)):
        if path is not None and (seen := _seen(path)) is not None:
            digest.update(f"{path} {seen.st_mtime_ns} {seen.st_size} {seen.st_ino}\n".encode())
    folder = cache / digest.hexdigest()[:24]
    files = TrustFiles(folder / "trust" / "ca-bundle.pem", folder / "wgetrc")
    if not files.bundle.is_file() or not files.wget.is_file():
        _make(cache, folder, certificate_pem, environ)
    with suppress(OSError):
        os.utime(folder)  # one in use is not among the oldest, which go
    return files


def _make(cache: Path, folder: Path, certificate_pem: bytes, environ: Mapping[str, str]) -> None:
    """Make a cached folder whole under another name, so that nobody sees half of it."""
    import shutil
    import tempfile

    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    for stale in sorted(cache.iterdir(), key=lambda old: old.stat().st_mtime_ns)[:-KEPT_BUNDLES]:
        shutil.rmtree(stale, ignore_errors=True)
    made = Path(tempfile.mkdtemp(dir=cache, prefix=".making-"))
    files = ca_bundle(made, certificate_pem, environ)
    own = files.wget.read_bytes().replace(bytes(made), bytes(folder))
    files.wget.write_bytes(own)
    with suppress(OSError):
        made.rename(folder)
        return
    shutil.rmtree(made, ignore_errors=True)


def _seen(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _sources(environ: Mapping[str, str]) -> list[Path]:
    """All files and folders that a bundle is made of; a changed folder has another time."""
    roots = trusted_roots(environ)
    folders = [Path(name) for name in environ.get("SSL_CERT_DIR", "").split(":") if name]
    named = [Path(environ[name]) for name in ADDED_BY if environ.get(name)]
    return [*([Path(roots.file)] if roots.file else []), *named, *folders]


def ca_bundle(folder: Path, certificate_pem: bytes, environ: Mapping[str, str]) -> TrustFiles:
    """Write the files a child is shown into `folder`: our certificate and all that it trusts now.

    Most variables replace a client's roots instead of adding to them, so the roots of the parent
    are in the bundle too. Raises `TrustUnreadable`, OSError.
    """
    trust = folder / "trust"
    trust.mkdir(mode=0o700, exist_ok=True)
    files = TrustFiles(trust / "ca-bundle.pem", folder / "wgetrc")
    files.bundle.write_bytes(b"".join(_unique([certificate_pem, *_parents_roots(environ)])))
    files.wget.write_bytes(_wget_settings(environ, files.bundle))
    return files


def _parents_roots(environ: Mapping[str, str]) -> Iterator[bytes]:
    for source in _sources(environ):
        for path in sorted(source.iterdir()) if source.is_dir() else [source]:
            if path.is_file():
                yield path.read_bytes()


def _unique(texts: list[bytes]) -> Iterator[bytes]:
    """Each certificate of these PEM texts once, without the remarks that stand between them."""
    seen: set[bytes] = set()
    for text in texts:
        for piece in text.split(_BEGIN)[1:]:
            encoded, end, _ = piece.partition(_END)
            key = b"".join(encoded.split())
            if end and key not in seen:
                seen.add(key)
                yield _BEGIN + encoded + _END + b"\n"


def _wget_settings(environ: Mapping[str, str], bundle: Path) -> bytes:
    """wget takes certificates from no variable, but its start-up file from one (WGETRC)."""
    own = _own_wgetrc(environ)
    kept = own.read_bytes() if own is not None and own.is_file() else b""
    return kept + b"\nca_certificate = " + bytes(bundle) + b"\n"


def _own_wgetrc(environ: Mapping[str, str]) -> Path | None:
    named, home = environ.get("WGETRC"), environ.get("HOME")
    return Path(named) if named else Path(home) / ".wgetrc" if home else None
