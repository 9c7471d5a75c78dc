"""The environment of a child: its clients find the recorder, trust it, and load the probes.

A pure function of the parent's environment; reads no file and knows no socket. The finding and
writing of certificates is in `trust`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rerail.launch.run_folder import VARIABLE
from rerail.launch.trust import (
    TrustedRoots,
    TrustFiles,
    TrustUnreadable,
    ca_bundle,
    kept_bundle,
    trusted_roots,
)
from rerail.probe import paths

__all__ = [
    "TrustFiles",
    "TrustUnreadable",
    "TrustedRoots",
    "ca_bundle",
    "child_environment",
    "kept_bundle",
    "proxy_url",
    "trusted_roots",
]

PROXY_VARIABLES: Final = (
    "http_proxy",  # curl, git and wget read only this spelling for http
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "npm_config_proxy",  # stands before a proxy in .npmrc
    "npm_config_https_proxy",
)
"""Set to the recorder's address."""

EMPTIED: Final = ("no_proxy", "NO_PROXY", "npm_config_noproxy")
"""Set to nothing: local services are recorded too, and a file of settings must not fill them."""

OTHER_WAYS_OUT: Final = (
    "PIP_PROXY",
    "CARGO_HTTP_PROXY",
    "BUNDLE_HTTP_PROXY",
    "BUNDLE_HTTPS_PROXY",
    "GLOBAL_AGENT_HTTP_PROXY",
    "GLOBAL_AGENT_HTTPS_PROXY",
    "GLOBAL_AGENT_NO_PROXY",
    "grpc_proxy",
    "no_grpc_proxy",
    "wss_proxy",
    "ws_proxy",
    "socks_proxy",
    "SOCKS_PROXY",
)
"""Taken away: each sends one client past the variables above, and without it they hold."""

CERTIFICATE_VARIABLES: Final = (
    "SSL_CERT_FILE",  # OpenSSL, Go, rustls, urllib, httpx, uv, Ruby, Claude Code, Codex
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    "NODE_EXTRA_CA_CERTS",
    "npm_config_cafile",
    "YARN_HTTPS_CA_FILE_PATH",
    "DENO_CERT",
    "AWS_CA_BUNDLE",
    "CODEX_CA_CERTIFICATE",
    "HTTPLIB2_CA_CERTS",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "CARGO_HTTP_CAINFO",
    "BUNDLE_SSL_CA_CERT",
    "HEX_CACERTS_PATH",
    "PERL_LWP_SSL_CA_FILE",
    "NIX_SSL_CERT_FILE",
)
"""Set to the bundle, whatever they were: a client obeys its own variable before a general one."""

PARENT: Final = "RERAIL_PARENT"
"""Set by a probe for what its process starts: which process of the run that is."""

INSIDE: Final = "RERAIL_INSIDE"
"""Set by a probe for a child that it told the recorder of: what runs inside is part of it."""


def proxy_url(*, port: int, token: str, process_id: int, host: str = "127.0.0.1") -> str:
    """The recorder's address as process `process_id` is told it.

    The user-info comes back as Proxy-Authorization (RFC 7617): it says who calls, and keeps other
    users of the machine out.
    """
    return f"http://p{process_id}:{token}@{host}:{port}"


def child_environment(
    environ: Mapping[str, str],
    *,
    port: int,
    token: str,
    process_id: int,
    bundle: TrustFiles,
    probes: bool = True,
    run_folder: Path | None = None,
    hash_seed: int | None = None,
    tells: bool = False,
) -> dict[str, str]:
    """The environment for a child whose traffic is to reach the recorder on 127.0.0.1:`port`.

    `environ` is the parent's with named variables set; `token` is what the proxy asks for;
    `bundle` comes from `ca_bundle`; `probes=False` leaves Python and Node as they are.
    `run_folder` is where probes find what they are to do; `hash_seed` makes the order of Python's
    sets the same in every run, unless the user has chosen one. `tells`: of connections that
    pass by, because the kernel does not.
    """
    env = _without_other_ways_out(environ)
    url = proxy_url(port=port, token=token, process_id=process_id)
    env.update(dict.fromkeys(PROXY_VARIABLES, url))
    env.update(dict.fromkeys(EMPTIED, ""))
    env.update(dict.fromkeys(CERTIFICATE_VARIABLES, str(bundle.bundle)))
    # OpenSSL looks here for names made of hashes and finds none; Go reads every file.
    env["SSL_CERT_DIR"] = str(bundle.folder)
    env["WGETRC"] = str(bundle.wget)
    # From 22.21 and 24.5 on, for a Node that was not given the preload.
    env["NODE_USE_ENV_PROXY"] = "1"
    env.pop("RERAIL_TELLS", None)
    if probes:
        _add_probes(env, url)
        if run_folder is not None:
            env[VARIABLE] = str(run_folder)
        if hash_seed is not None:
            env.setdefault("PYTHONHASHSEED", str(hash_seed))
        if tells:
            env["RERAIL_TELLS"] = "1"
    return env


def _without_other_ways_out(environ: Mapping[str, str]) -> dict[str, str]:
    """npm reads its variables in any spelling, so another spelling of ours would rival it."""
    of_another_run = (VARIABLE, PARENT, INSIDE)
    ours = {name for name in (*PROXY_VARIABLES, *EMPTIED) if name.startswith("npm_")}
    return {
        name: value
        for name, value in environ.items()
        if name not in OTHER_WAYS_OUT
        and name not in of_another_run
        and (name.lower() not in ours or name in ours)
    }


def _add_probes(env: dict[str, str], url: str) -> None:
    found = paths()
    env["RERAIL_PROXY"] = url
    env["PYTHONPATH"] = _first_on_path(found.python, env.get("PYTHONPATH", ""))
    env["NODE_OPTIONS"] = _with_preload(found.node_preload, env.get("NODE_OPTIONS", ""))


def _first_on_path(folder: Path, path: str) -> str:
    """An empty variable has no entries; joined as one, it would mean the current folder."""
    others = [entry for entry in path.split(":") if entry != str(folder)] if path else []
    return ":".join([str(folder), *others])


def _with_preload(preload: Path, options: str) -> str:
    """Node splits at spaces outside double quotes, and takes a backslash inside them as escape."""
    name = str(preload)
    if not name.isascii() or any(sign in name for sign in ' "\\'):
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        name = f'"{escaped}"'
    flag = f"--require {name}"
    return options if flag in options else f"{options} {flag}".strip()
