"""Certificates for intercepted TLS: the user's own CA on disk, and a server context per name.

Importing this module, and opening an authority that exists, loads no x509 code: `issuing` is
imported at the first interception. Knows no sockets and nothing of HTTP.

The CA lives in one private file (key and certificate together, so it is there whole or not at
all) and is trusted only by commands that rerail starts. Certificates begin on 2000-01-01, because a
replay's clock is in the past; leaves end within 30 days of now. A beginning that early also keeps
them outside the 825-day limit that Apple's verifier sets for certificates issued since July 2019.
"""

import os
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from msgspec import Struct

from rerail.clock import wall_ns
from rerail.errors import UserError
from rerail.tape.witness import witness_key

if TYPE_CHECKING:
    from rerail.proxy.issuing import Issuer

FlawKind = Literal["expired", "not_yet_valid", "name", "issuer"]

CONTEXTS_KEPT = 256
CONTEXT_LIFE_NS = 14 * 86_400 * 1_000_000_000

# OpenSSL's X509_V_ERR_* numbers (openssl/x509_vfy.h); every other number is a fault of the chain.
_KIND_OF_CODE: dict[int, FlawKind] = {
    9: "not_yet_valid",
    10: "expired",
    62: "name",
    63: "name",
    64: "name",
}


class AuthorityUnusable(UserError):
    """The CA's file cannot be made, cannot be read, or may have been read by others."""


class OriginFlaw(Struct, frozen=True):
    """Why an origin's certificate did not verify, so that the agent can be shown the same fault.

    `code` is OpenSSL's verify code, 0 where it is not known. `certificate` is the
    origin's own certificate (DER) where it could be had: its names and dates are then mirrored.
    """

    kind: FlawKind
    text: str
    code: int = 0
    certificate: bytes = b""


def classify(error: ssl.SSLCertVerificationError, *, certificate: bytes = b"") -> OriginFlaw:
    """Say what is wrong with an origin's certificate, from the error its verification raised."""
    kind = _KIND_OF_CODE.get(error.verify_code, "issuer")
    return OriginFlaw(kind, error.verify_message, error.verify_code, certificate)


def recorded_flaw(kind: FlawKind, text: str) -> OriginFlaw:
    """The flaw that a tape tells of by its kind and by what OpenSSL said."""
    said = text.replace("-", " ")  # OpenSSL 3 writes "self-signed", 1.1 wrote "self signed"
    code = 0
    if said.startswith("self signed certificate"):
        code = 19 if "in certificate chain" in said else 18
    return OriginFlaw(kind, text, code)


def default_folder(environ: Mapping[str, str]) -> Path:
    """Where the user's CA lives: `$XDG_DATA_HOME/rerail/ca` (XDG base directories, 0.8)."""
    data = Path(environ.get("XDG_DATA_HOME", ""))
    if not data.is_absolute():  # "All paths set in these environment variables must be absolute."
        data = _home(environ).absolute() / ".local" / "share"
    return data / "rerail" / "ca"


def _home(environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME")
    if home:
        return Path(home)
    import pwd

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError as error:
        raise AuthorityUnusable(
            "there is no home folder to keep the certificate authority in",
            hint="set XDG_DATA_HOME to a folder of your own that can be written",
        ) from error


class Authority:
    """A CA that only the commands rerail starts trust, and the server contexts made by it."""

    def __init__(
        self, private_pem: bytes, folder: Path, *, now: Callable[[], int] = wall_ns
    ) -> None:
        """Take the CA's key and certificate as PEM; `now` gives nanoseconds since 1970.

        `folder` is where the CA lives, and where files made of its certificate may be kept.
        """
        self.folder = folder
        self._private_pem = private_pem
        self._now = now
        self._issuer: Issuer | None = None
        self._contexts: dict[tuple[tuple[str, ...], OriginFlaw | None], _Kept] = {}

    @classmethod
    def open_or_create(cls, folder: Path, *, now: Callable[[], int] = wall_ns) -> Self:
        """Open the CA in `folder`, or make it there. Two processes at once end with the same CA.

        Raises `AuthorityUnusable` where the file cannot be made or read, where others can read
        it, and where it holds no key and certificate that belong together.
        """
        file = folder / "authority.pem"
        try:
            if not file.exists():
                _create(file, now())
            private_pem = _read_private(file)
        except OSError as error:
            raise AuthorityUnusable(
                f"cannot open the certificate authority `{file}`: {error.strerror or error}",
                hint="set XDG_DATA_HOME to a folder of your own that can be written",
            ) from error
        return cls(private_pem, folder, now=now)

    @property
    def certificate_pem(self) -> bytes:
        """The CA's certificate, to be trusted by the command."""
        start = self._private_pem.index(b"-----BEGIN CERTIFICATE-----")
        return self._private_pem[start:]

    @property
    def witness_key(self) -> bytes:
        """The key by which this user's own tapes are known on this machine."""
        return witness_key(self._private_pem)

    def server_context(
        self, name: str, *, also: tuple[str, ...] = (), mirrored: OriginFlaw | None = None
    ) -> ssl.SSLContext:
        """A server context whose leaf is for `name` (a DNS name or an IP address) and for `also`.

        ALPN (RFC 7301) offers HTTP/1 alone; TLS 1.2 or newer. With `mirrored`, the leaf has the
        same fault as the origin's certificate. Contexts are kept and given again.
        """
        key = ((name, *also), mirrored)
        kept = self._contexts.pop(key, None)
        if kept is None or self._now() - kept.made > CONTEXT_LIFE_NS:
            kept = _Kept(self._make_context(*key), self._now())
        self._contexts[key] = kept  # the one used last stands last
        while len(self._contexts) > CONTEXTS_KEPT:
            del self._contexts[next(iter(self._contexts))]
        return kept.context

    def _make_context(self, names: tuple[str, ...], flaw: OriginFlaw | None) -> ssl.SSLContext:
        if self._issuer is None:
            from rerail.proxy.issuing import Issuer

            self._issuer = Issuer.load(self._private_pem)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1", "http/1.0"])
        with _as_file(self._issuer.leaf_pem(names, flaw, self._now())) as path:
            context.load_cert_chain(path)
        return context


class _Kept(Struct, frozen=True):
    context: ssl.SSLContext
    made: int


def _create(file: Path, now: int) -> None:
    from rerail.proxy.issuing import new_authority_pem
    from rerail.whole_file import create_whole

    # One after the other: `parents=True` would leave those above to the umask.
    for folder in reversed((file.parent, *file.parent.parents)):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):  # of two processes the first one wins
        create_whole(file, new_authority_pem(now))


def _read_private(file: Path) -> bytes:
    with file.open("rb") as stream:
        mode = os.fstat(stream.fileno()).st_mode
        private_pem = stream.read()
    if mode & 0o077:
        raise AuthorityUnusable(
            f"others can read or change the certificate authority's key `{file}`",
            hint=f"remove it and a new one is made: `rm '{file}'`",
        )
    if file.parent.stat().st_mode & 0o022:
        raise AuthorityUnusable(
            f"others can write to the certificate authority's folder `{file.parent}`",
            hint=f"run `chmod 700 '{file.parent}'`",
        )
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(file)
    except ssl.SSLError as error:
        raise AuthorityUnusable(
            f"`{file}` holds no key and certificate that belong together",
            hint=f"remove it and a new one is made: `rm '{file}'`",
        ) from error
    return private_pem


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """A path from which OpenSSL can read `content`: the ssl module takes keys from files alone.

    On Linux an anonymous file in memory, which has no name on any disk; elsewhere, or where /proc
    is not mounted, a file of mode 0600 that is gone at the end of the block.
    """
    descriptor = _memory_file()
    if descriptor is None:
        import tempfile

        with tempfile.NamedTemporaryFile(prefix="rerail-") as stream:
            stream.write(content)
            stream.flush()
            yield stream.name
        return
    with os.fdopen(descriptor, "wb", buffering=0) as memory:
        memory.write(content)
        yield f"/proc/self/fd/{descriptor}"


def _memory_file() -> int | None:
    try:
        descriptor = os.memfd_create("rerail", os.MFD_CLOEXEC)
    except (AttributeError, OSError):
        return None
    if Path(f"/proc/self/fd/{descriptor}").exists():
        return descriptor
    os.close(descriptor)
    return None
