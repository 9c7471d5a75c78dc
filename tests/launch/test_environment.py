"""The environment a child gets: pure, complete, and not fooled by what the parent had set."""

from pathlib import Path

import pytest

from rerail.launch import environment
from rerail.launch.environment import child_environment
from rerail.launch.trust import TrustFiles
from rerail.probe import paths

TRUST = TrustFiles(Path("/private/trust/ca-bundle.pem"), Path("/private/wgetrc"))
URL = "http://p7:tok-EN_1@127.0.0.1:4100"


def child_of(**parent: str) -> dict[str, str]:
    return child_environment(
        parent, port=4100, token="tok-EN_1", process_id=7, bundle=TRUST, probes=True
    )


@pytest.mark.parametrize("name", ["http", "https", "all"])
def test_the_proxy_variables_name_the_process_in_both_cases(name: str) -> None:
    child = child_of(http_proxy="http://corporate:3128", ALL_PROXY="socks5://elsewhere")
    assert child[f"{name}_proxy"] == child[f"{name}_proxy".upper()] == URL


def test_no_host_bypasses_the_recorder() -> None:
    child = child_of(NO_PROXY="localhost,127.0.0.1", no_proxy="*", NPM_CONFIG_NOPROXY="registry")
    assert child["no_proxy"] == child["NO_PROXY"] == child["npm_config_noproxy"] == ""
    assert "NPM_CONFIG_NOPROXY" not in child


@pytest.mark.parametrize("name", environment.OTHER_WAYS_OUT)
def test_a_clients_own_proxy_variable_does_not_lead_past_the_recorder(name: str) -> None:
    assert name not in child_of(**{name: "http://corporate:3128"})


@pytest.mark.parametrize("name", environment.CERTIFICATE_VARIABLES)
def test_every_certificate_variable_is_overwritten(name: str) -> None:
    assert child_of(**{name: "/corporate.pem"})[name] == "/private/trust/ca-bundle.pem"


def test_the_certificate_folder_holds_the_bundle_alone() -> None:
    assert child_of(SSL_CERT_DIR="/corporate")["SSL_CERT_DIR"] == "/private/trust"


def test_wget_is_given_a_start_up_file_because_it_obeys_no_variable() -> None:
    assert child_of()["WGETRC"] == "/private/wgetrc"


def test_everything_else_of_the_parent_stays() -> None:
    child = child_of(HOME="/home/u", LANG="C.UTF-8", OPENAI_API_KEY="sk-1")
    assert (child["HOME"], child["LANG"], child["OPENAI_API_KEY"]) == ("/home/u", "C.UTF-8", "sk-1")


def test_the_parents_environment_is_not_changed() -> None:
    parent = {"http_proxy": "http://corporate:3128"}
    child_environment(parent, port=1, token="t", process_id=1, bundle=TRUST)
    assert parent == {"http_proxy": "http://corporate:3128"}


def test_python_looks_for_the_probe_first_and_for_the_parents_folders_next() -> None:
    assert child_of(PYTHONPATH="src:lib")["PYTHONPATH"] == f"{paths().python}:src:lib"


def test_an_empty_python_path_does_not_add_the_current_folder() -> None:
    assert child_of(PYTHONPATH="")["PYTHONPATH"] == str(paths().python)


def test_node_options_are_added_to() -> None:
    child = child_of(NODE_OPTIONS="--max-old-space-size=64")
    assert child["NODE_OPTIONS"].startswith("--max-old-space-size=64 --require ")


def test_a_recording_inside_a_recording_loads_each_probe_once() -> None:
    once = child_of()
    twice = child_of(**once)
    assert twice["PYTHONPATH"] == once["PYTHONPATH"]
    assert twice["NODE_OPTIONS"] == once["NODE_OPTIONS"]


@pytest.mark.parametrize(
    ("path", "flag"),
    [
        ("/opt/rerail/preload.cjs", "--require /opt/rerail/preload.cjs"),
        ("/my agents/preload.cjs", '--require "/my agents/preload.cjs"'),
        ('/a"b\\c/preload.cjs', '--require "/a\\"b\\\\c/preload.cjs"'),
    ],
)
def test_the_preloads_path_is_quoted_for_node(path: str, flag: str) -> None:
    assert environment._with_preload(Path(path), "") == flag


def test_without_probes_python_and_node_stay_as_they_are() -> None:
    child = child_environment(
        {"PYTHONPATH": "src"}, port=1, token="t", process_id=1, bundle=TRUST, probes=False
    )
    assert child["PYTHONPATH"] == "src"
    assert "NODE_OPTIONS" not in child
    assert "RERAIL_PROXY" not in child


def test_probes_tell_of_what_passes_by_only_where_they_are_asked_to() -> None:
    assert "RERAIL_TELLS" not in child_of(RERAIL_TELLS="1")
    for probes, tells in ((True, "1"), (False, None)):
        child = child_environment(
            {}, port=1, token="t", process_id=1, bundle=TRUST, probes=probes, tells=True
        )
        assert child.get("RERAIL_TELLS") == tells
