"""The Node preload: each connection goes to the recorder, and nothing else changes."""

import os
import shutil
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest

from rerail.probe import paths

NODE = shutil.which("node") or ""
pytestmark = pytest.mark.skipif(not NODE, reason="Node is not installed")

PRELUDE = """
    const http = require("http"), https = require("https");
    const net = require("net"), tls = require("tls");
    const get = (module, url, options = {}) => new Promise((resolve, reject) =>
      module.get(url, options, (reply) => {
        let body = "";
        reply.on("data", (data) => (body += data));
        reply.on("end", () => resolve(body));
      }).on("error", reject));
    const first = (socket) => new Promise((resolve, reject) => {
      socket.on("data", (data) => { resolve(String(data)); socket.destroy(); });
      socket.on("error", reject);
    });
    const asking = "GET /raw HTTP/1.1\\r\\nHost: plain.example.com\\r\\n\\r\\n";
"""


def node(expression: str, *, env: dict[str, str], options: tuple[str, ...] = ()) -> str:
    """What an expression (a promise) gives, or the code of its error."""
    program = textwrap.dedent(PRELUDE) + (
        f"(async () => {{ try {{ console.log(await ({expression})); }}"
        " catch (error) { console.log(error.code || (error.cause || error).code || error); }"
        " process.exit(); })()"
    )
    done = subprocess.run(
        [NODE, *options, "-e", program], env=env, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("fetch('https://api.example.com/fetch').then((reply) => reply.text())", "/fetch"),
        ("fetch('http://plain.example.com/fetch').then((reply) => reply.text())", "/fetch"),
        ("get(https, 'https://api.example.com/get')", "/get"),
        ("get(http, 'http://plain.example.com/get')", "/get"),
        (
            "get(https, 'https://api.example.com/own', "
            "{ agent: new https.Agent({ keepAlive: true }) })",
            "/own",
        ),
        ("get(https, 'https://192.0.2.7/address')", "/address"),
        ("get(http, 'http://plain.example.com/from', { localAddress: '127.0.0.1' })", "/from"),
        (
            "get(https, 'https://api.example.com/lookup', "
            "{ lookup: (name, options, done) => done(new Error('no names here')) })",
            "/lookup",
        ),
    ],
)
def test_clients_deaf_to_proxy_variables_reach_the_recorder(
    recorder: Any, expression: str, told: str
) -> None:
    env = {**recorder.environment, "NODE_USE_ENV_PROXY": ""}
    assert node(expression, env=env) == f"told {told}"
    secure = "https:" in expression
    host = "192.0.2.7" if "192" in expression else "api.example.com"
    target = f"{host}:443" if secure else "plain.example.com:80"
    assert recorder.asked == [("CONNECT", target)]
    assert recorder.silent == [True]
    assert recorder.credentials == {"Basic cDc6dG9rLUVOXzE="}


def test_bytes_written_before_the_connection_stands_come_after_the_greeting(recorder: Any) -> None:
    expression = (
        "(() => { const socket = net.connect(80, 'plain.example.com'); "
        "socket.write(asking); return first(socket); })()"
    )
    assert node(expression, env=recorder.environment).startswith("HTTP/1.1 200 ")


def test_tls_without_http_goes_through(recorder: Any) -> None:
    expression = (
        "(() => { const socket = tls.connect(443, 'api.example.com', "
        "{ servername: 'api.example.com' }); socket.write(asking); return first(socket); })()"
    )
    assert node(expression, env=recorder.environment).startswith("HTTP/1.1 200 ")


def test_a_worker_thread_is_recorded(recorder: Any) -> None:
    expression = (
        "new Promise((resolve) => new (require('worker_threads').Worker)(\"fetch('https://"
        "api.example.com/worker').then((reply) => reply.text()).then((text) => "
        "require('worker_threads').parentPort.postMessage(text))\", { eval: true })"
        ".on('message', resolve))"
    )
    assert node(expression, env=recorder.environment) == "told /worker"


def test_a_module_that_is_imported_is_recorded(recorder: Any, tmp_path: Path) -> None:
    program = tmp_path / "agent.mjs"
    program.write_text(
        'import { get } from "node:https";\n'
        'get("https://api.example.com/esm", (r) => r.on("data", (d) => console.log(String(d))));\n'
    )
    words = [NODE, str(program)]
    done = subprocess.run(
        words, env=recorder.environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "told /esm\n"


def test_certificates_are_still_checked(recorder: Any) -> None:
    env = {**recorder.environment, "NODE_EXTRA_CA_CERTS": ""}
    shown = node("get(https, 'https://api.example.com/')", env=env)
    assert shown in {"UNABLE_TO_VERIFY_LEAF_SIGNATURE", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"}


def test_a_name_is_still_compared_with_the_certificate(recorder: Any) -> None:
    shown = node("get(https, 'https://other.example.com/')", env=recorder.environment)
    assert shown == "ERR_TLS_CERT_ALTNAME_INVALID"


def test_an_origin_that_cannot_be_reached_is_a_reset(recorder: Any) -> None:
    env = {**recorder.environment, "NODE_USE_ENV_PROXY": ""}
    assert node("get(https, 'https://gone.example.com/')", env=env) == "ECONNRESET"


def test_a_recorder_that_is_gone_is_a_refused_connection(recorder: Any) -> None:
    recorder.proxy.close()
    assert (
        node("get(http, 'http://plain.example.com/')", env=recorder.environment) == "ECONNREFUSED"
    )


def test_the_recorder_itself_is_not_asked_for_itself(recorder: Any) -> None:
    asks = "function () { this.write('CONNECT plain.example.com:80 HTTP/1.1\\r\\n\\r\\n'); }"
    expression = f"first(net.connect({recorder.proxy.port}, '127.0.0.1').on('connect', {asks}))"
    assert node(expression, env=recorder.environment).startswith("HTTP/1.1 200")
    assert recorder.asked == [("CONNECT", "plain.example.com:80")]


def test_a_server_of_the_same_process_is_reached_directly(recorder: Any) -> None:
    expression = (
        "new Promise((resolve) => { const server = net.createServer((peer) => peer.end('mine'))"
        ".listen(0, () => resolve(first(net.connect(server.address().port, 'localhost')))); })"
    )
    assert node(expression, env=recorder.environment) == "mine"
    assert recorder.asked == []


def test_a_server_of_another_process_goes_through_the_recorder(recorder: Any) -> None:
    env = {**recorder.environment, "NODE_USE_ENV_PROXY": ""}
    node("get(http, 'http://127.0.0.1:1/')", env=env)
    assert recorder.asked == [("CONNECT", "127.0.0.1:1")]


def test_a_port_that_a_closed_server_had_is_outside_again(recorder: Any) -> None:
    expression = (
        "new Promise((resolve) => { const server = net.createServer().listen(0, () => { "
        "const { port } = server.address(); server.close(() => "
        "resolve(get(http, `http://127.0.0.1:${port}/`))); }); })"
    )
    env = {**recorder.environment, "NODE_USE_ENV_PROXY": ""}
    node(expression, env=env)
    assert [method for method, _ in recorder.asked] == ["CONNECT"]


def test_a_unix_socket_is_left_alone(recorder: Any, tmp_path: Path) -> None:
    path = tmp_path / "engine"
    expression = (
        "new Promise((resolve) => net.createServer((peer) => peer.end('local'))"
        f".listen('{path}', () => resolve(first(net.connect('{path}')))))"
    )
    assert node(expression, env=recorder.environment) == "local"
    assert recorder.asked == []


def test_a_port_that_is_none_is_refused_as_ever(recorder: Any) -> None:
    expression = "(async () => net.connect(70000, 'api.example.com'))()"
    assert node(expression, env=recorder.environment) == "ERR_SOCKET_BAD_PORT"


@pytest.mark.parametrize("address", ["", "not an address", "http://"])
def test_without_a_usable_address_nothing_changes(address: str) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "NODE_OPTIONS": f"--require {paths().node_preload}",
        "RERAIL_PROXY": address,
    }
    expression = (
        "new Promise((resolve) => { const server = http.createServer((request, reply) => "
        "reply.end('direct')).listen(0, () => resolve(get(http, "
        "`http://127.0.0.1:${server.address().port}/`))); })"
    )
    assert node(expression, env=env) == "direct"


def test_a_path_with_spaces_and_quotes_is_found(recorder: Any, tmp_path: Path) -> None:
    from rerail.launch.environment import _with_preload

    folder = tmp_path / 'my "agents"'
    folder.mkdir()
    copied = shutil.copy(paths().node_preload, folder)
    options = _with_preload(Path(copied), "--no-deprecation")
    env = {**recorder.environment, "NODE_OPTIONS": options}
    assert node("get(https, 'https://api.example.com/quoted')", env=env) == "told /quoted"
    assert recorder.silent == [True]
