"""Origins as options name them: read, or refused with the form that is meant."""

import pytest

from rerail.cli.origins import origin_map, reach, resolve_map
from rerail.errors import UsageProblem

PORT = {8080: ("https", "api.example.com", 443)}


@pytest.mark.parametrize(
    ("text", "origin", "address"),
    [
        ("a.test:443=127.0.0.1:8443", ("a.test", 443), ("127.0.0.1", 8443)),
        ("a.test:443:127.0.0.1", ("a.test", 443), ("127.0.0.1", 443)),  # as curl has it
        ("a.test:443=[::1]:8443", ("a.test", 443), ("::1", 8443)),
    ],
)
def test_an_origin_is_led_elsewhere(
    text: str, origin: tuple[str, int], address: tuple[str, int]
) -> None:
    assert resolve_map((text,)) == {origin: address}


@pytest.mark.parametrize("text", ["", "a.test", "a.test=b.test", "a.test:443=", "=127.0.0.1:1"])
def test_what_leads_nowhere_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(UsageProblem) as refused:
        resolve_map((text,))
    assert "--resolve api.example.com:443=127.0.0.1:8443" in str(refused.value.hint)


@pytest.mark.parametrize("listen", ["8080", "127.0.0.1:8080", "localhost:8080"])
def test_a_port_stands_for_an_origin(listen: str) -> None:
    assert origin_map((listen,), ("https://api.example.com",)) == PORT


@pytest.mark.parametrize(
    ("listens", "upstreams", "said"),
    [
        (("8080",), (), "1 × --listen and 0 × --upstream"),
        (("0.0.0.0:8080",), ("https://api.example.com",), "0.0.0.0:8080"),
        (("8080",), ("api.example.com",), "--upstream api.example.com"),
        (("port",), ("https://api.example.com",), "--listen port"),
    ],
)
def test_a_port_that_stands_for_none_is_refused(
    listens: tuple[str, ...], upstreams: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UsageProblem) as refused:
        origin_map(listens, upstreams)
    assert said in refused.value.what


def test_a_proxy_that_is_named_stands_for_those_of_the_environment() -> None:
    environment = {"https_proxy": "http://one.test:3128"}
    own = reach(environment, overrides={})
    named = reach(environment, overrides={}, proxy="http://two.test:3128")
    assert own.proxies["https"] is not None
    assert own.proxies["https"].host == "one.test"
    assert {kind: proxy and proxy.host for kind, proxy in named.proxies.items()} == {
        "http": "two.test",
        "https": "two.test",
    }
