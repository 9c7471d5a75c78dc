"""A certificate authority for tests: leafs for any names, good ones and bad ones.

It must not know the authority that rerail itself makes for recording: an origin in a test proves
nothing when it shares its certificates with the program under test.
"""

import ipaddress
import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from rerail.clock import wall_ns

_YEAR = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A certificate with its key, both PEM; `chain_pem` begins with the leaf itself."""

    chain_pem: bytes
    key_pem: bytes

    def server_context(
        self, *, client_authority: bytes | None = None, alpn: tuple[str, ...] = ("http/1.1",)
    ) -> ssl.SSLContext:
        """A server's TLS settings; with `client_authority` (PEM) a client certificate is asked."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            chain, key = self.write(Path(folder))
            context.load_cert_chain(chain, key)
        if alpn:
            context.set_alpn_protocols(list(alpn))
        if client_authority is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=client_authority.decode())
        return context

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write `leaf.pem` and `leaf.key` into the folder; returns both paths."""
        chain, key = folder / "leaf.pem", folder / "leaf.key"
        chain.write_bytes(self.chain_pem)
        key.touch(mode=0o600)
        key.write_bytes(self.key_pem)
        return chain, key


class CertificateAuthority:
    """A root made anew for each test run. `pem` is what a client must trust."""

    def __init__(self, name: str = "rerail test authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = _now()
        builder = _builder(self._name, self._name, self._key, now - _YEAR, now + _YEAR)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        builder = builder.add_extension(_key_usage(signs_certificates=True), True)
        self._certificate = builder.sign(self._key, hashes.SHA256())
        self.pem = self._certificate.public_bytes(serialization.Encoding.PEM)

    def leaf(self, *names: str) -> Leaf:
        """A good certificate for these host names and IP addresses."""
        return self._issue(names, -1, 30)

    def expired_leaf(self, *names: str) -> Leaf:
        """A certificate whose life ended yesterday."""
        return self._issue(names, -30, -1)

    def future_leaf(self, *names: str) -> Leaf:
        """A certificate whose life begins tomorrow."""
        return self._issue(names, 1, 30)

    def client_leaf(self, name: str) -> Leaf:
        """A certificate that a client shows of itself."""
        return self._issue((name,), -1, 30, usage=ExtendedKeyUsageOID.CLIENT_AUTH)

    def self_signed_leaf(self, *names: str) -> Leaf:
        """A certificate that vouches for itself; this authority has no part in it."""
        return self._issue(names, -1, 30, self_signed=True)

    def write(self, path: Path) -> Path:
        """Write the root's certificate as PEM, for SSL_CERT_FILE and its kin."""
        path.write_bytes(self.pem)
        return path

    def client_context(self, *, certificate: Leaf | None = None) -> ssl.SSLContext:
        """A client's TLS settings that trust this authority and nothing else."""
        context = ssl.create_default_context(cadata=self.pem.decode())
        if certificate is not None:
            with tempfile.TemporaryDirectory() as folder:
                context.load_cert_chain(*certificate.write(Path(folder)))
        return context

    def _issue(
        self,
        names: tuple[str, ...],
        first_day: int,
        last_day: int,
        *,
        self_signed: bool = False,
        usage: x509.ObjectIdentifier = ExtendedKeyUsageOID.SERVER_AUTH,
    ) -> Leaf:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
        now = _now()
        issuer, signer = (subject, key) if self_signed else (self._name, self._key)
        life = (now + timedelta(days=first_day), now + timedelta(days=last_day))
        builder = _builder(subject, issuer, key, *life)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        builder = builder.add_extension(_key_usage(signs_certificates=False), True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), False)
        alternatives = x509.SubjectAlternativeName([_general_name(name) for name in names])
        builder = builder.add_extension(alternatives, False)
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
        certificate = builder.add_extension(authority, False).sign(signer, hashes.SHA256())
        return Leaf(certificate.public_bytes(serialization.Encoding.PEM), _key_pem(key))


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    begins: datetime,
    ends: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _now() -> datetime:
    return datetime.fromtimestamp(wall_ns() / 1e9, tz=UTC)
