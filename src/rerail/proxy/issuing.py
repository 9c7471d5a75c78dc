"""Making X.509 certificates (RFC 5280): the CA itself, leaves, and leaves broken on purpose.

Pure: keys and certificates in memory, the time given. Loads the `cryptography` package, so it is
imported by `certs` at the first interception and nowhere else.
"""

import ipaddress
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from rerail.proxy.certs import OriginFlaw

EARLIEST = datetime(1950, 1, 1, tzinfo=UTC)  # the first year that UTCTime can write
BEGIN = datetime(2000, 1, 1, tzinfo=UTC)
AUTHORITY_END = datetime(2049, 12, 31, tzinfo=UTC)  # the last year that UTCTime can write
LEAF_LIFE = timedelta(days=29)
NOBODY = "another-name.invalid"  # RFC 2606: a name that is nobody's

SELF_SIGNED = 18  # X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT
SELF_SIGNED_IN_CHAIN = 19  # X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN


@dataclass(frozen=True, slots=True)
class Signer:
    """A certificate that signs others, and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def new(cls, name: str) -> Self:
        """A new P-256 key and its self-signed CA certificate."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, "rerail"),
                x509.NameAttribute(NameOID.COMMON_NAME, name),
            ]
        )
        usage = _key_usage(signs_certificates=True)
        certificate = (
            _builder(subject, subject, key.public_key(), BEGIN, AUTHORITY_END)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(certificate, key)


def new_authority_pem(now: int) -> bytes:
    """A new CA as PEM: its private key (PKCS #8), then its certificate. `now` in ns since 1970."""
    # The date and the draw tell two authorities apart in a list of trusted certificates.
    day = datetime.fromtimestamp(now / 1e9, tz=UTC).date()
    signer = Signer.new(f"rerail recording CA {day} {secrets.token_hex(4)}")
    return _key_pem(signer.key) + _pem(signer.certificate)


class Issuer:
    """Makes leaves. All leaves of one process share one key that is never written anywhere."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer
        self._stranger: Signer | None = None
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._key_pem = _key_pem(self._key)

    @classmethod
    def load(cls, private_pem: bytes) -> Self:
        """From the PEM that `new_authority_pem` made."""
        key = serialization.load_pem_private_key(private_pem, password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError(f"the authority's key is {type(key).__name__}, not an EC key")
        return cls(Signer(x509.load_pem_x509_certificate(private_pem), key))

    def leaf_pem(self, names: Iterable[str], flaw: "OriginFlaw | None", now: int) -> bytes:
        """The process's key, a leaf for `names` and what else of the chain is to be sent."""
        today = datetime.fromtimestamp(now // 1_000_000_000, tz=UTC)
        dates = (BEGIN, today + LEAF_LIFE)
        if flaw is None:
            return self._key_pem + _pem(self._leaf(names, *dates, self._signer))
        if flaw.kind == "name":
            return self._key_pem + _pem(self._leaf(_other_names(flaw), *dates, self._signer))
        if flaw.kind == "issuer":
            return self._key_pem + self._untrusted(names, *dates, flaw.code)
        return self._key_pem + _pem(self._leaf(names, *_bad_dates(flaw, today), self._signer))

    def _untrusted(self, names: Iterable[str], begin: datetime, end: datetime, code: int) -> bytes:
        if code == SELF_SIGNED:
            return _pem(self._leaf(names, begin, end, None))
        if self._stranger is None:
            self._stranger = Signer.new("a CA that is not trusted here")
        leaf = _pem(self._leaf(names, begin, end, self._stranger))
        return leaf + (_pem(self._stranger.certificate) if code == SELF_SIGNED_IN_CHAIN else b"")

    def _leaf(
        self, names: Iterable[str], begin: datetime, end: datetime, signer: Signer | None
    ) -> x509.Certificate:
        alternatives = general_names(names)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _common(alternatives))])
        issuer = signer.certificate.subject if signer else subject
        key = signer.key if signer else self._key
        builder = (
            _builder(subject, issuer, self._key.public_key(), begin, end)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()),
                critical=False,
            )
        )
        return builder.sign(key, hashes.SHA256())


def general_names(names: Iterable[str]) -> list[x509.GeneralName]:
    """Names as they stand in a certificate: an IP address, or a DNS name in its ASCII form."""
    found: dict[x509.GeneralName, None] = {}
    for name in names:
        bare = name.strip("[]").partition("%")[0]  # an IPv6 literal; its zone is local to a machine
        try:
            found[x509.IPAddress(ipaddress.ip_address(bare))] = None
        except ValueError:
            found[x509.DNSName(_ascii(name))] = None
    return list(found)


def _ascii(name: str) -> str:
    name = name.rstrip(".").lower()
    if name.isascii():
        return name or NOBODY
    with suppress(UnicodeError):
        return name.encode("idna").decode()
    return NOBODY


def _common(names: list[x509.GeneralName]) -> str:
    text = str(names[0].value)
    return text if len(text) <= 64 else "rerail"  # RFC 5280 appendix A: ub-common-name is 64


def _other_names(flaw: "OriginFlaw") -> list[str]:
    if not flaw.certificate:
        return [NOBODY]
    with suppress(ValueError, x509.ExtensionNotFound):
        origin = x509.load_der_x509_certificate(flaw.certificate)
        names = origin.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
        return [*names.get_values_for_type(x509.DNSName), *addresses] or [NOBODY]
    return [NOBODY]


def _bad_dates(flaw: "OriginFlaw", today: datetime) -> tuple[datetime, datetime]:
    """Dates as wrong as the origin's: its own, else such as are wrong for a replay's clock too.

    The origin's own may be in order: the fault can lie in another certificate of its chain.
    """
    with suppress(ValueError):
        origin = x509.load_der_x509_certificate(flaw.certificate)
        begin, end = origin.not_valid_before_utc, origin.not_valid_after_utc
        wrong = end < today if flaw.kind == "expired" else begin > today
        if wrong and EARLIEST <= begin <= end:
            return begin, end
    if flaw.kind == "expired":
        return BEGIN, BEGIN + LEAF_LIFE
    return AUTHORITY_END - LEAF_LIFE, AUTHORITY_END


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    begin: datetime,
    end: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
