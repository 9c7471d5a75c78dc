"""The demo's agent as a user would run it, without rerail: through a plain forward proxy."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import rerail.testing.demo
from rerail.testing.ca import CertificateAuthority
from rerail.testing.demo.clerk import Clerk
from rerail.testing.demo.desk import HOSTS, RIGHT, Desk
from rerail.testing.forward_proxy import forward_proxy, relay_to
from rerail.testing.local_model import MODEL_NAME, LocalModel, missing
from rerail.testing.model import SimulatedModel
from rerail.testing.origin import Origin

JOB = Path(rerail.testing.demo.__file__).parent / "job"
Start = Callable[..., Origin]


def run(folder: Path, proxy: Origin, trust: Path, *arguments: str, **more: str) -> str:
    shutil.copytree(JOB, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.lower().endswith("_proxy") and not name.startswith(("OPENAI_", "AGENT_"))
    }
    environment |= {
        "HTTPS_PROXY": proxy.url,
        "SSL_CERT_FILE": str(trust),
        "OPENAI_API_KEY": "sk-demo",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "agent.py", *arguments],
        cwd=folder,
        env=environment | more,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_does_the_task_with_tool_calls_over_https(
    tmp_path: Path, authority: CertificateAuthority, authority_file: Path, start_origin: Start
) -> None:
    desk = Desk(tls=authority.leaf(*HOSTS))
    with desk.origin, SimulatedModel(Clerk(), tls=authority.leaf("api.openai.com")) as model:
        resolve = dict.fromkeys([(host, 443) for host in HOSTS], desk.origin.address)
        resolve["api.openai.com", 443] = model.address
        proxy = start_origin(forward_proxy(resolve=resolve))
        said = run(tmp_path, proxy, authority_file, "--rule", "rule-strict.txt")
    assert [line[:6] for line in said.splitlines() if line.startswith("turn")] == [
        "turn 1",
        "turn 2",
        "turn 3",
        "turn 4",
    ]
    assert desk.filed == {"1841": RIGHT}
    assert RIGHT in (tmp_path / "report.md").read_text()
    assert len(model.asked) == 4
    assert all(asked.stream for asked in model.asked)
    rule = (JOB / "rule-strict.txt").read_text().strip()
    assert model.asked[2].messages[6].text == rule
    assert all(rule not in message.text for message in model.asked[1].messages)


@pytest.mark.local_model
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_the_same_agent_runs_on_the_local_model_by_json_schemas(
    tmp_path: Path, authority: CertificateAuthority, authority_file: Path, start_origin: Start
) -> None:
    desk = Desk(tls=authority.leaf(*HOSTS))
    with desk.origin, LocalModel() as model:
        front = start_origin(relay_to(model.address), tls=authority.leaf("smollm2.example.com"))
        resolve = dict.fromkeys([(host, 443) for host in HOSTS], desk.origin.address)
        resolve["smollm2.example.com", 443] = front.address
        said = run(
            tmp_path,
            start_origin(forward_proxy(resolve=resolve)),
            authority_file,
            "--by-schema",
            OPENAI_BASE_URL="https://smollm2.example.com/v1",
            AGENT_MODEL=MODEL_NAME,
        )
    assert said.count("turn ") == 4
    paths = [request.target.partition("?")[0] for request in desk.origin.requests]
    assert paths == ["/tickets", "/customers", "/tickets/1841/customer"]
    filed = json.loads(desk.origin.requests[2].body)
    assert filed["customer_id"].startswith("CUST-")
    assert (tmp_path / "report.md").read_text().startswith("# Ticket 1841\n\n")
