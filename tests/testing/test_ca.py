import socket
import ssl
from collections.abc import Callable

import pytest

from rerail.testing.ca import CertificateAuthority, Leaf
from rerail.testing.origin import CLOSE, Origin


def reach(origin: Origin, context: ssl.SSLContext, name: str) -> bytes:
    with (
        socket.create_connection(origin.address, 5) as plain,
        context.wrap_socket(plain, server_hostname=name) as secured,
    ):
        return secured.recv(16)


def test_a_good_leaf_is_trusted_for_each_of_its_names(
    authority: CertificateAuthority, start_origin: Callable[..., Origin]
) -> None:
    origin = start_origin([b"hello", CLOSE], tls=authority.leaf("api.example.com", "127.0.0.1"))
    context = authority.client_context()
    assert reach(origin, context, "api.example.com") == b"hello"
    assert reach(origin, context, "127.0.0.1") == b"hello"
    names = [connection.server_name for connection in origin.each_connection]
    assert names == ["api.example.com", None]


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (CertificateAuthority.expired_leaf, "expired"),
        (CertificateAuthority.future_leaf, "not yet valid"),
        (CertificateAuthority.self_signed_leaf, "self-signed"),
    ],
)
def test_a_bad_leaf_is_refused_for_its_own_reason(
    authority: CertificateAuthority,
    start_origin: Callable[..., Origin],
    make: Callable[..., Leaf],
    complaint: str,
) -> None:
    origin = start_origin([b"hello"], tls=make(authority, "api.example.com"))
    with pytest.raises(ssl.SSLCertVerificationError, match=complaint):
        reach(origin, authority.client_context(), "api.example.com")
    origin.wait_until(lambda seen: len(seen.handshake_failures) == 1)


def test_a_leaf_for_another_name_is_refused(
    authority: CertificateAuthority, start_origin: Callable[..., Origin]
) -> None:
    origin = start_origin([b"hello"], tls=authority.leaf("other.example.com"))
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        reach(origin, authority.client_context(), "api.example.com")


def test_a_server_may_ask_for_a_client_certificate(
    authority: CertificateAuthority, start_origin: Callable[..., Origin]
) -> None:
    leaf = authority.leaf("api.example.com")
    origin = start_origin([b"hello"], tls=leaf.server_context(client_authority=authority.pem))
    shown = authority.client_context(certificate=authority.client_leaf("agent"))
    assert reach(origin, shown, "api.example.com") == b"hello"
    with pytest.raises(OSError):
        reach(origin, authority.client_context(), "api.example.com")


def test_the_strictest_verification_accepts_the_authority(
    authority: CertificateAuthority, start_origin: Callable[..., Origin]
) -> None:
    origin = start_origin([b"hello"], tls=authority.leaf("api.example.com"))
    context = authority.client_context()
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    assert reach(origin, context, "api.example.com") == b"hello"
