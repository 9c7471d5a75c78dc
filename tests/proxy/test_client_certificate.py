"""Origins that ask for a client certificate get the one that the recorder was given."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rerail.proxy.reach import UpstreamSettings
from rerail.testing import replies
from rerail.testing.ca import CertificateAuthority
from rerail.testing.origin import Origin
from rerail.testing.replies import serve

NAME = "internal.example.com"


@pytest.mark.parametrize("given", [True, False], ids=["given", "not given"])
def test_an_origin_lets_in_whom_the_recorder_can_vouch_for(
    proxied: Callable[..., Any],
    start_origin: Callable[..., Origin],
    authority: CertificateAuthority,
    authority_file: Path,
    tmp_path: Path,
    given: bool,
) -> None:
    me = authority.client_leaf("me")
    certificate = tmp_path / "me.pem"
    certificate.write_bytes(me.chain_pem + me.key_pem)
    asking = authority.leaf(NAME).server_context(client_authority=authority.pem)
    origin = start_origin(serve(replies.text("let in")), tls=asking)
    settings = UpstreamSettings(
        overrides={(NAME, 443): origin.address},
        trust_file=str(authority_file),
        client_certificate=certificate if given else None,
    )
    proxy = proxied(settings)
    with proxy.secure(proxy.tunnel(NAME, 443), NAME) as agent:
        try:
            agent.sendall(f"GET / HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n\r\n".encode())
            said = proxy.read_all(agent)
        except OSError:
            said = b""
    assert said.endswith(b"let in") == given
