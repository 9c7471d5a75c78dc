"""The CA on disk and the leaves made by it, judged by real clients' verification."""

import json
import os
import pwd
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st

from rerail.proxy import certs
from rerail.proxy.certs import Authority, AuthorityUnusable, OriginFlaw, classify, default_folder
from rerail.proxy.issuing import general_names


def client_trusting(authority: Authority) -> ssl.SSLContext:
    client = ssl.create_default_context(cadata=authority.certificate_pem.decode())
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    return client


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> ssl.SSLObject:
    """Shake hands over two pairs of memory buffers; returns the client's side."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    here = client.wrap_bio(to_client, to_server, server_hostname=name)
    there = server.wrap_bio(to_server, to_client, server_side=True)
    waiting = [here, there]
    while waiting:
        side = waiting.pop(0)
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            waiting.append(side)
    return here


def leaf_seen(authority: Authority, name: str, **options: object) -> x509.Certificate:
    client = ssl.create_default_context(cadata=authority.certificate_pem.decode())
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    server = authority.server_context(name, **options)  # type: ignore[arg-type]
    der = handshake(server, client, name).getpeercert(binary_form=True)
    assert der is not None
    return x509.load_der_x509_certificate(der)


def failure_seen(authority: Authority, name: str, flaw: OriginFlaw) -> OriginFlaw:
    server = authority.server_context(name, mirrored=flaw)
    with pytest.raises(ssl.SSLCertVerificationError) as caught:
        handshake(server, client_trusting(authority), name)
    return classify(caught.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "rerail" / "ca"


@pytest.fixture
def authority(folder: Path) -> Authority:
    return Authority.open_or_create(folder)


class TestOnDisk:
    def test_the_key_is_private_and_so_is_its_folder(self, folder: Path) -> None:
        Authority.open_or_create(folder)
        assert (folder / "authority.pem").stat().st_mode & 0o777 == 0o600
        assert folder.stat().st_mode & 0o777 == 0o700
        assert [path.name for path in folder.iterdir()] == ["authority.pem"]

    def test_opening_again_gives_the_same_authority(self, folder: Path) -> None:
        first = Authority.open_or_create(folder).certificate_pem
        assert Authority.open_or_create(folder).certificate_pem == first
        assert b"PRIVATE KEY" not in first
        assert x509.load_pem_x509_certificate(first).not_valid_before_utc.year == 2000

    def test_many_at_once_end_with_one_authority(self, folder: Path) -> None:
        start = threading.Barrier(8)

        def create() -> bytes:
            start.wait(timeout=30)
            return Authority.open_or_create(folder).certificate_pem

        with ThreadPoolExecutor(8) as pool:
            made = {future.result() for future in [pool.submit(create) for _ in range(8)]}
        assert len(made) == 1
        assert [path.name for path in folder.iterdir()] == ["authority.pem"]

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
    def test_a_key_that_others_can_read_is_refused_with_the_mend(
        self, folder: Path, mode: int
    ) -> None:
        Authority.open_or_create(folder)
        (folder / "authority.pem").chmod(mode)
        with pytest.raises(AuthorityUnusable, match="others can read") as caught:
            Authority.open_or_create(folder)
        assert caught.value.hint is not None
        assert f"rm '{folder}/authority.pem'" in caught.value.hint

    def test_a_folder_that_others_can_write_to_is_refused_with_the_mend(self, folder: Path) -> None:
        Authority.open_or_create(folder)
        folder.chmod(0o770)
        with pytest.raises(AuthorityUnusable, match="others can write") as caught:
            Authority.open_or_create(folder)
        assert caught.value.hint == f"run `chmod 700 '{folder}'`"

    @pytest.mark.parametrize("content", [b"", b"no certificate", b"\x00\xff" * 300])
    def test_a_file_that_is_no_authority_is_refused(self, folder: Path, content: bytes) -> None:
        Authority.open_or_create(folder)
        (folder / "authority.pem").write_bytes(content)
        with pytest.raises(AuthorityUnusable, match="no key and certificate"):
            Authority.open_or_create(folder)

    def test_a_key_of_another_certificate_is_refused(self, folder: Path, tmp_path: Path) -> None:
        Authority.open_or_create(folder)
        other = Authority.open_or_create(tmp_path / "other").certificate_pem
        file = folder / "authority.pem"
        own = file.read_bytes()
        file.write_bytes(own[: own.index(b"-----BEGIN CERTIFICATE")] + other)
        with pytest.raises(AuthorityUnusable, match="belong together"):
            Authority.open_or_create(folder)

    def test_a_place_that_cannot_hold_it_is_refused_with_the_mend(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("in the way")
        with pytest.raises(AuthorityUnusable, match="cannot open") as caught:
            Authority.open_or_create(tmp_path / "file" / "ca")
        assert "XDG_DATA_HOME" in str(caught.value.hint)

    def test_its_folder_follows_the_base_directories(self) -> None:
        assert default_folder({"XDG_DATA_HOME": "/d"}) == Path("/d/rerail/ca")
        home = Path("/h/.local/share/rerail/ca")
        assert default_folder({"HOME": "/h"}) == home
        assert default_folder({"HOME": "/h", "XDG_DATA_HOME": "relative"}) == home
        own = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".local/share/rerail/ca"
        assert default_folder({}) == default_folder({"HOME": ""}) == own

    def test_its_place_stays_the_same_for_a_command_that_changes_its_folder(self) -> None:
        assert default_folder({"HOME": "h"}).is_absolute()

    def test_nobody_else_may_change_a_folder_that_was_made_for_it(self, tmp_path: Path) -> None:
        before = os.umask(0)
        try:
            Authority.open_or_create(tmp_path / "data" / "rerail" / "ca")
        finally:
            os.umask(before)
        for name in ("data", "data/rerail", "data/rerail/ca"):
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o700


class TestLeaves:
    @pytest.mark.parametrize(
        "name", ["api.example.com", "localhost", "127.0.0.1", "::1", "bücher.example", "a_b.test"]
    )
    def test_a_strict_client_accepts_it(self, authority: Authority, name: str) -> None:
        client = client_trusting(authority)
        client.set_alpn_protocols(["h2", "http/1.1"])
        seen = handshake(authority.server_context(name), client, name)
        assert seen.version() == "TLSv1.3"
        assert seen.selected_alpn_protocol() == "http/1.1"

    def test_a_client_of_tls_1_2_is_served_and_an_older_one_is_not(
        self, authority: Authority
    ) -> None:
        server = authority.server_context("a.example")
        client = client_trusting(authority)
        client.maximum_version = ssl.TLSVersion.TLSv1_2
        assert handshake(server, client, "a.example").version() == "TLSv1.2"
        assert server.minimum_version is ssl.TLSVersion.TLSv1_2

    def test_it_begins_years_back_and_ends_within_thirty_days(self, folder: Path) -> None:
        now = datetime(2027, 5, 1, 12, tzinfo=UTC)
        authority = Authority.open_or_create(folder, now=lambda: int(now.timestamp() * 1e9))
        leaf = leaf_seen(authority, "a.example")
        assert leaf.not_valid_before_utc == datetime(2000, 1, 1, tzinfo=UTC)
        assert timedelta(days=20) < leaf.not_valid_after_utc - now <= timedelta(days=30)

    def test_all_names_asked_for_are_on_it(self, authority: Authority) -> None:
        leaf = leaf_seen(authority, "a.example", also=("*.b.example", "10.0.0.1", "a.example"))
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName) == ["a.example", "*.b.example"]
        assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.1"]

    def test_a_context_is_made_once_for_a_name(self, authority: Authority) -> None:
        assert authority.server_context("a.example") is authority.server_context("a.example")
        assert authority.server_context("a.example") is not authority.server_context("b.example")

    def test_a_context_is_made_anew_before_its_leaf_ends(self, folder: Path) -> None:
        now = [10**18]
        authority = Authority.open_or_create(folder, now=lambda: now[0])
        first = authority.server_context("a.example")
        now[0] += 13 * 86_400 * 10**9
        assert authority.server_context("a.example") is first
        now[0] += 2 * 86_400 * 10**9
        assert authority.server_context("a.example") is not first

    def test_the_name_unused_longest_is_forgotten_first(
        self, authority: Authority, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(certs, "CONTEXTS_KEPT", 2)
        a = authority.server_context("a.example")
        b = authority.server_context("b.example")
        assert authority.server_context("a.example") is a
        authority.server_context("c.example")
        assert authority.server_context("a.example") is a
        assert authority.server_context("b.example") is not b

    def test_without_memory_files_a_private_file_serves_and_is_gone(
        self, authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(certs, "_memory_file", lambda: None)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        server = authority.server_context("a.example")
        assert handshake(server, client_trusting(authority), "a.example").cipher()
        assert list(tmp_path.glob("rerail-*")) == []

    @pytest.mark.parametrize("refusal", [AttributeError, OSError])
    def test_a_system_without_memory_files_is_noticed(
        self, monkeypatch: pytest.MonkeyPatch, refusal: type[Exception]
    ) -> None:
        def refuse(*_: object) -> int:
            raise refusal

        monkeypatch.setattr(os, "memfd_create", refuse, raising=False)
        assert certs._memory_file() is None

    def test_a_system_without_proc_is_noticed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Path, "exists", lambda _: False)
        assert certs._memory_file() is None

    @given(st.text(max_size=300))
    def test_any_name_can_be_written(self, name: str) -> None:
        names = general_names([name])
        assert len(names) == 1
        x509.SubjectAlternativeName(names).public_bytes()

    @pytest.mark.parametrize("name", ["", ".", "a" * 300, "a\x00b", "ü" * 80, "[::1", "x y", "%"])
    def test_a_context_can_be_made_for_any_name(self, authority: Authority, name: str) -> None:
        assert authority.server_context(name)


class TestMirroredFlaws:
    @pytest.mark.parametrize(
        ("kind", "code"),
        [
            ("expired", 10),
            ("not_yet_valid", 9),
            ("name", 62),
            ("issuer", 18),
            ("issuer", 19),
            ("issuer", 20),
            ("issuer", 0),
        ],
    )
    def test_the_agent_sees_the_same_kind_of_failure(
        self, authority: Authority, kind: certs.FlawKind, code: int
    ) -> None:
        seen = failure_seen(authority, "api.example.com", OriginFlaw(kind, "text", code))
        assert seen.kind == kind
        assert seen.code == (code or 20)

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("self-signed certificate", 18),
            ("self signed certificate in certificate chain", 19),
            ("unable to get local issuer certificate", 0),
        ],
    )
    def test_a_flaw_on_a_tape_is_known_by_what_was_said(self, text: str, code: int) -> None:
        assert certs.recorded_flaw("issuer", text) == OriginFlaw("issuer", text, code)

    def test_a_wrong_address_is_a_wrong_name(self, authority: Authority) -> None:
        assert failure_seen(authority, "127.0.0.1", OriginFlaw("name", "text")).kind == "name"

    def test_the_origins_names_are_shown_in_place_of_the_one_asked_for(
        self, authority: Authority
    ) -> None:
        origin = leaf_seen(authority, "right.example", also=("*.cdn.example", "10.1.2.3"))
        flaw = OriginFlaw("name", "text", 62, origin.public_bytes(Encoding.DER))
        leaf = leaf_seen(authority, "wrong.example", mirrored=flaw)
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName) == ["right.example", "*.cdn.example"]
        assert failure_seen(authority, "wrong.example", flaw).kind == "name"

    def test_the_origins_dates_are_shown(self, folder: Path) -> None:
        past = Authority.open_or_create(folder, now=lambda: 1_500_000_000 * 10**9)
        origin = leaf_seen(past, "a.example")
        flaw = OriginFlaw("expired", "text", 10, origin.public_bytes(Encoding.DER))
        authority = Authority.open_or_create(folder)
        leaf = leaf_seen(authority, "a.example", mirrored=flaw)
        assert leaf.not_valid_after_utc == origin.not_valid_after_utc
        assert failure_seen(authority, "a.example", flaw).kind == "expired"

    @pytest.mark.parametrize("kind", ["expired", "not_yet_valid"])
    def test_dates_that_are_in_order_are_not_mirrored(
        self, authority: Authority, kind: certs.FlawKind
    ) -> None:
        """An expired intermediate: the leaf's own dates would verify."""
        origin = leaf_seen(authority, "a.example").public_bytes(Encoding.DER)
        assert failure_seen(authority, "a.example", OriginFlaw(kind, "t", 0, origin)).kind == kind

    @pytest.mark.parametrize("kind", ["expired", "not_yet_valid", "name", "issuer"])
    def test_an_unreadable_origin_certificate_does_no_harm(
        self, authority: Authority, kind: certs.FlawKind
    ) -> None:
        flaw = OriginFlaw(kind, "text", 0, b"\x30\x03junk")
        assert failure_seen(authority, "a.example", flaw).kind == kind


@contextmanager
def serving(context: ssl.SSLContext) -> Iterator[int]:
    """An HTTPS server on loopback that answers every connection with `200` and `ok`."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(10)
                try:
                    with context.wrap_socket(connection, server_side=True) as secure:
                        secure.recv(65536)
                        secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                except OSError:
                    continue

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(timeout=15)


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize(
    ("flaw", "status"),
    [(None, 0), (OriginFlaw("expired", ""), 60), (OriginFlaw("name", ""), 60)],
)
def test_curl_judges_as_it_would_the_origin(
    authority: Authority, tmp_path: Path, flaw: OriginFlaw | None, status: int
) -> None:
    trusted = tmp_path / "ca.pem"
    trusted.write_bytes(authority.certificate_pem)
    with serving(authority.server_context("api.example.com", mirrored=flaw)) as port:
        command = ["curl", "-sS", "--noproxy", "*", "--http1.1", "--cacert", str(trusted)]
        command += ["--resolve", f"api.example.com:{port}:127.0.0.1"]
        command += [f"https://api.example.com:{port}/"]
        done = subprocess.run(command, capture_output=True, timeout=30)
    assert done.returncode == status, done.stderr
    assert done.stdout == (b"" if status else b"ok")


def test_requests_accepts_a_leaf_for_an_address(authority: Authority, tmp_path: Path) -> None:
    import requests

    trusted = tmp_path / "ca.pem"
    trusted.write_bytes(authority.certificate_pem)
    with serving(authority.server_context("127.0.0.1")) as port, requests.Session() as session:
        session.trust_env = False
        reply = session.get(f"https://127.0.0.1:{port}/", verify=str(trusted), timeout=30)
    assert reply.text == "ok"


def test_opening_loads_no_certificate_code(folder: Path) -> None:
    Authority.open_or_create(folder)
    script = (
        "import json, pathlib, sys\n"
        "from rerail.proxy.certs import Authority\n"
        f"Authority.open_or_create(pathlib.Path({str(folder)!r})).certificate_pem\n"
        "print(json.dumps([name for name in sys.modules if 'cryptography' in name]))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert json.loads(done.stdout) == []
