"""Which names carry credentials, and which only look as if they did."""

import pytest

from rerail.redact.rules import (
    HeaderRules,
    QueryRules,
    header_rule,
    is_secret_query_key,
    names_a_secret,
)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("Authorization", "scheme"),
        ("proxy-authorization", "scheme"),
        ("X-Forwarded-Authorization", "scheme"),
        ("Authentication", "scheme"),
        ("Cookie", "cookie"),
        ("Set-Cookie", "set-cookie"),
        ("Sec-WebSocket-Protocol", "protocols"),
        ("x-api-key", "value"),
        ("X_API_KEY", "value"),
        ("api-key", "value"),
        ("apikey", "value"),
        ("xi-api-key", "value"),
        ("X-RapidAPI-Key", "value"),
        ("dd-api-key", "value"),
        ("DD-APPLICATION-KEY", "value"),
        ("x-goog-api-key", "value"),
        ("x-goog-iam-authorization-token", "value"),
        ("ocp-apim-subscription-key", "value"),
        ("x-subscription-token", "value"),
        ("x-functions-key", "value"),
        ("x-amz-security-token", "value"),
        ("x-amz-server-side-encryption-customer-key", "value"),
        ("x-goog-encryption-key", "value"),
        ("x-amzn-oidc-accesstoken", "value"),
        ("x-amzn-oidc-data", "value"),
        ("cf-access-jwt-assertion", "value"),
        ("x-auth-token", "value"),
        ("X-Auth-Key", "value"),
        ("x-auth", "value"),
        ("private-token", "value"),
        ("x-vault-token", "value"),
        ("x-shopify-access-token", "value"),
        ("x-client-secret", "value"),
        ("x-password", "value"),
        ("x-passwd", "value"),
        ("x-credentials", "value"),
        (" authorization\t", "scheme"),
    ],
)
def test_headers_that_carry_credentials(name: str, rule: str) -> None:
    assert header_rule(name.encode()) == rule


@pytest.mark.parametrize(
    "name",
    [
        "host",
        "accept",
        "content-type",
        "user-agent",
        "x-ratelimit-remaining-tokens",
        "x-ratelimit-limit-tokens",
        "x-rate-limit-token-limit",
        "anthropic-ratelimit-input-tokens-remaining",
        "anthropic-ratelimit-tokens-reset",
        "x-tokens-used",
        "x-token-count",
        "x-token-type",
        "x-max-tokens",
        "x-tokenizer",
        "sec-websocket-key",
        "sec-websocket-accept",
        "idempotency-key",
        "x-idempotency-token",
        "x-csrf-token",
        "X-XSRF-TOKEN",
        "www-authenticate",
        "proxy-authenticate",
        "authentication-info",
        "access-control-allow-credentials",
        "access-control-allow-headers",
        "x-next-page-token",
        "x-continuation-token",
        "x-hub-signature",
        "x-amz-server-side-encryption-customer-key-md5",
        "x-amz-content-sha256",
        "x-goog-encryption-key-sha256",
        "x-cache-key",
        "surrogate-key",
        "etag",
        "x-request-id",
        "x-client-request-id",
        "session-id",
        "openai-organization",
        "author",
        "x-author",
        "keep-alive",
        "public-key-pins",
        "authorization-endpoint",
        "",
    ],
)
def test_headers_that_only_look_alike(name: str) -> None:
    assert header_rule(name.encode()) is None


@pytest.mark.parametrize(
    "key",
    [
        "key",
        "api_key",
        "apikey",
        "api-key",
        "token",
        "access_token",
        "accessToken",
        "refresh_token",
        "id_token",
        "sig",
        "signature",
        "Signature",
        "password",
        "passwd",
        "pwd",
        "secret",
        "client_secret",
        "clientSecret",
        "auth",
        "appid",
        "X-Amz-Signature",
        "X-Amz-Credential",
        "X-Amz-Security-Token",
        "X-Goog-Signature",
        "AWSAccessKeyId",
        "subscription-key",
        "jsessionid",
        "private_token",
    ],
)
def test_query_keys_that_carry_credentials(key: str) -> None:
    assert is_secret_query_key(key.encode())


@pytest.mark.parametrize(
    "key",
    [
        "q",
        "model",
        "max_tokens",
        "maxTokens",
        "max_completion_tokens",
        "tokens",
        "tokenizer",
        "token_type",
        "pageToken",
        "page_token",
        "next_token",
        "nextToken",
        "continuation-token",
        "syncToken",
        "X-Amz-Algorithm",
        "X-Amz-SignedHeaders",
        "SignatureMethod",
        "keyword",
        "keys",
        "foreign_key",
        "sort_key",
        "author",
        "session_id",
        "code",
        "state",
        "charset",
    ],
)
def test_query_keys_that_only_look_alike(key: str) -> None:
    assert not is_secret_query_key(key.encode())


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "apiToken", "db.password", "GITHUB_TOKEN"])
def test_any_spelling_of_a_name_is_understood(name: str) -> None:
    assert names_a_secret(name)


@pytest.mark.parametrize("rules", [HeaderRules(), QueryRules()])
def test_what_is_remembered_stays_bounded(rules: HeaderRules | QueryRules) -> None:
    for number in range(10_000):
        assert not rules[b"x-%d" % number]
    assert len(rules) <= 4096
    assert rules[b"x-api-key"]


def test_a_name_of_any_length_is_judged() -> None:
    assert HeaderRules()[b"x-" * 10_000 + b"api-key"] == "value"
