import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rerail.testing.ca import CertificateAuthority
from rerail.testing.forward_proxy import forward_proxy, relay_to
from rerail.testing.origin import Origin
from rerail.testing.replies import echo, serve

Start = Callable[..., Origin]


def curl(*arguments: str) -> str:
    command = ["curl", "--silent", "--show-error", "--max-time", "10", *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def status(*arguments: str) -> str:
    return curl("--output", "/dev/null", "--write-out", "%{http_code} %{http_connect}", *arguments)


def test_a_plain_request_is_forwarded_without_the_proxys_headers(start_origin: Start) -> None:
    origin = start_origin(serve(echo))
    resolve = {("plain.example", 80): origin.address}
    proxy = start_origin(forward_proxy(credentials=("ada", "secret"), resolve=resolve))
    url = "http://plain.example/a?b=1"
    assert status("--proxy", proxy.url, url) == "407 000"
    told = curl("--proxy", proxy.url, "--proxy-user", "ada:secret", "--data", "x=1", url)
    assert '"target": "/a?b=1"' in told
    assert "roxy" not in told
    assert proxy.requests[-1].target == url


def test_a_tunnel_asks_for_credentials_and_then_carries_tls(
    start_origin: Start, authority: CertificateAuthority, authority_file: Path
) -> None:
    origin = start_origin(serve(echo), tls=authority.leaf("api.example.com"))
    resolve = {("api.example.com", 443): origin.address}
    proxy = start_origin(forward_proxy(credentials=("ada", "secret"), resolve=resolve))
    trust = ("--cacert", str(authority_file), "--proxy", proxy.url)
    told = curl(
        *trust, "--proxy-anyauth", "--proxy-user", "ada:secret", "https://api.example.com/x"
    )
    assert '"target": "/x"' in told
    assert [request.method for request in proxy.requests] == ["CONNECT", "CONNECT"]
    assert proxy.requests[0].header("proxy-authorization") is None


def test_wrong_credentials_are_refused(start_origin: Start) -> None:
    proxy = start_origin(forward_proxy(credentials=("ada", "secret")))
    url = "http://plain.example/"
    assert status("--proxy", proxy.url, "--proxy-user", "ada:wrong", url) == "407 000"


def test_an_origin_that_is_not_there_is_a_bad_gateway(start_origin: Start) -> None:
    gone = Origin([b""])
    gone.close()
    proxy = start_origin(forward_proxy(resolve={("gone.example", 80): gone.address}))
    assert status("--proxy", proxy.url, "http://gone.example/") == "502 000"
    with pytest.raises(subprocess.CalledProcessError):
        curl("--proxy", proxy.url, "--proxytunnel", "http://gone.example/")


def test_a_relay_is_the_tls_end_of_a_plain_server(
    start_origin: Start, authority: CertificateAuthority, authority_file: Path
) -> None:
    plain = start_origin(serve(echo))
    front = start_origin(relay_to(plain.address), tls=authority.leaf("127.0.0.1"))
    assert '"target": "/x"' in curl("--cacert", str(authority_file), front.url + "/x")
    assert plain.connections == 1


def test_a_relay_to_nowhere_just_closes(start_origin: Start) -> None:
    gone = Origin([b""])
    gone.close()
    front = start_origin(relay_to(gone.address))
    with pytest.raises(subprocess.CalledProcessError):
        curl(front.url)
