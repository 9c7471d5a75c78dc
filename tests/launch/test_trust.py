"""Trust: the parent's own roots, found as OpenSSL finds them, and the bundle a child is shown."""

import ssl
from pathlib import Path

import pytest

from rerail.launch import trust
from rerail.launch.trust import TrustUnreadable, ca_bundle, kept_bundle, trusted_roots
from rerail.testing.ca import CertificateAuthority

OURS = CertificateAuthority("ours").pem
CORPORATE = CertificateAuthority("corporate").pem


def certificates(bundle: Path) -> int:
    return bundle.read_bytes().count(b"-----BEGIN CERTIFICATE-----")


def system_without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(trust, "SYSTEM_FILES", ())
    nowhere = str(tmp_path / "nowhere")
    paths = ssl.DefaultVerifyPaths(None, None, "", nowhere, "", nowhere)
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: paths)


@pytest.fixture
def corporate_file(tmp_path: Path) -> Path:
    (tmp_path / "corporate.pem").write_bytes(CORPORATE)
    return tmp_path / "corporate.pem"


def test_origins_are_checked_against_the_parents_own_file(corporate_file: Path) -> None:
    assert trusted_roots({"SSL_CERT_FILE": str(corporate_file)}).file == str(corporate_file)


def test_the_parents_own_folder_stands_in_for_the_systems(tmp_path: Path) -> None:
    assert trusted_roots({"SSL_CERT_DIR": str(tmp_path)}).folder == str(tmp_path)


def test_a_file_that_is_not_there_is_said_and_not_passed_over() -> None:
    with pytest.raises(TrustUnreadable, match=r"SSL_CERT_FILE names `/nowhere\.pem`") as caught:
        trusted_roots({"SSL_CERT_FILE": "/nowhere.pem"})
    assert "unset SSL_CERT_FILE" in (caught.value.hint or "")


def test_without_variables_the_first_system_file_that_exists_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, corporate_file: Path
) -> None:
    system_without(monkeypatch, tmp_path)
    monkeypatch.setattr(trust, "SYSTEM_FILES", (str(tmp_path / "other"), str(corporate_file)))
    assert trusted_roots({}).file == str(corporate_file)


def test_certifi_is_the_last_resort(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    certifi = pytest.importorskip("certifi")
    system_without(monkeypatch, tmp_path)
    assert trusted_roots({}) == (certifi.where(), None)


def test_the_bundle_has_our_certificate_and_the_parents_roots(
    tmp_path: Path, corporate_file: Path
) -> None:
    files = ca_bundle(tmp_path, OURS, {"SSL_CERT_FILE": str(corporate_file)})
    assert files.bundle.read_bytes() == OURS + CORPORATE


def test_a_root_that_one_client_was_given_stays_trusted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, corporate_file: Path
) -> None:
    system_without(monkeypatch, tmp_path)
    files = ca_bundle(tmp_path, OURS, {"NODE_EXTRA_CA_CERTS": str(corporate_file)})
    assert CORPORATE in files.bundle.read_bytes()


def test_the_certificates_of_a_named_folder_are_in_the_bundle(
    tmp_path: Path, corporate_file: Path
) -> None:
    folder = tmp_path / "certificates"
    folder.mkdir()
    (folder / "a.pem").write_bytes(CORPORATE)
    (folder / "README").write_text("no certificate")
    environ = {"SSL_CERT_FILE": str(corporate_file), "SSL_CERT_DIR": f"{folder}:{tmp_path}/none"}
    assert certificates(ca_bundle(tmp_path, OURS, environ).bundle) == 2


def test_remarks_and_repetitions_are_left_out(tmp_path: Path) -> None:
    noisy = tmp_path / "noisy.pem"
    noisy.write_bytes(b"# corporate\n" + CORPORATE + b"# again\n" + CORPORATE + OURS)
    files = ca_bundle(tmp_path, OURS, {"SSL_CERT_FILE": str(noisy)})
    assert files.bundle.read_bytes() == OURS + CORPORATE


def test_the_bundle_can_be_loaded_whole(tmp_path: Path) -> None:
    files = ca_bundle(tmp_path, OURS, {})
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(files.bundle)
    assert context.cert_store_stats()["x509"] == certificates(files.bundle)


@pytest.mark.parametrize("variable", ["WGETRC", "HOME"])
def test_wgets_own_settings_are_kept(tmp_path: Path, variable: str) -> None:
    own = tmp_path / ".wgetrc"
    own.write_text("tries = 3\n")
    environ = {variable: str(own if variable == "WGETRC" else tmp_path)}
    private = tmp_path / "private"
    private.mkdir()
    lines = ca_bundle(private, OURS, environ).wget.read_text().split("\n")
    assert "tries = 3" in lines
    assert f"ca_certificate = {private}/trust/ca-bundle.pem" in lines


def test_a_bundle_is_kept_while_nothing_it_is_made_of_changes(
    tmp_path: Path, corporate_file: Path
) -> None:
    environ = {"SSL_CERT_FILE": str(corporate_file)}
    first = kept_bundle(tmp_path / "cache", OURS, environ)
    made = first.bundle.stat().st_mtime_ns
    assert kept_bundle(tmp_path / "cache", OURS, environ) == first
    assert first.bundle.stat().st_mtime_ns == made
    assert first.bundle.read_bytes() == OURS + CORPORATE


def test_a_changed_root_or_another_certificate_makes_another_bundle(
    tmp_path: Path, corporate_file: Path
) -> None:
    environ = {"SSL_CERT_FILE": str(corporate_file)}
    first = kept_bundle(tmp_path / "cache", OURS, environ)
    corporate_file.write_bytes(CORPORATE + CertificateAuthority("new").pem)
    second = kept_bundle(tmp_path / "cache", OURS, environ)
    third = kept_bundle(tmp_path / "cache", CORPORATE, environ)
    assert len({first.bundle, second.bundle, third.bundle}) == 3
    assert certificates(second.bundle) == 3


def test_a_kept_start_up_file_of_wget_names_the_place_where_the_bundle_is(tmp_path: Path) -> None:
    files = kept_bundle(tmp_path / "cache", OURS, {})
    assert f"ca_certificate = {files.bundle}\n" in files.wget.read_text()


def test_old_bundles_go_and_nothing_half_made_stays(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for number in range(trust.KEPT_BUNDLES + 3):
        kept_bundle(cache, CertificateAuthority(str(number)).pem, {})
    left = list(cache.iterdir())
    assert len(left) == trust.KEPT_BUNDLES + 1
    assert not [folder for folder in left if folder.name.startswith(".making-")]
