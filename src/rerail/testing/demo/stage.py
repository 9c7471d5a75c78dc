"""The demo's servers: a model and the agent's tools, on loopback, behind TLS and real names.

A stage knows what the agent must be told to reach it; it must not know the recorder.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final, Literal

from rerail.testing import local_model
from rerail.testing.ca import CertificateAuthority
from rerail.testing.demo.clerk import Clerk
from rerail.testing.demo.desk import HOSTS, Desk
from rerail.testing.forward_proxy import relay_to
from rerail.testing.local_model import LocalModel
from rerail.testing.model import MODEL_NAME, SimulatedModel
from rerail.testing.origin import Origin

Kind = Literal["simulated", "local"]
LOCAL_HOST: Final = "smollm2.example.com"
OPENAI_HOST: Final = "api.openai.com"


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the servers are, and how the agent is started on them.

    `names` are the host names (on port 443) with their true addresses, `variables` are kept on
    the tape, `arguments` go to the agent. `clerk` is the simulated model's policy, where it is one.
    """

    desk: Desk
    names: Mapping[str, tuple[str, int]]
    variables: Mapping[str, str]
    arguments: tuple[str, ...] = field(default=())
    clerk: Clerk | None = None


TITLES: Final[Mapping[Kind, str]] = {
    "simulated": f"a simulated model ({MODEL_NAME}), drawn at random: no two runs are the same",
    "local": f"a real model on this machine: {local_model.TITLE}",
}


@contextmanager
def stage(kind: Kind, authority: CertificateAuthority) -> Iterator[Stage]:
    """Start the servers; they end with the block.

    Raises:
        LocalModelMissing: `local` was asked for and is not installed.
        LocalModelFailed: It is installed and does not start.
    """
    with ExitStack() as stack:
        desk = Desk(tls=authority.leaf(*HOSTS))
        stack.enter_context(desk.origin)
        names = dict.fromkeys(HOSTS, desk.origin.address)
        if kind == "simulated":
            leaf = authority.leaf(OPENAI_HOST)
            clerk = Clerk()
            model = stack.enter_context(SimulatedModel(clerk, chunk_pause=0.005, tls=leaf))
            variables = {"AGENT_MODEL": "gpt-4.1-mini"}
            names = {OPENAI_HOST: model.address, **names}
            yield Stage(desk, names, variables, clerk=clerk)
        else:
            local = stack.enter_context(LocalModel())
            leaf = authority.leaf(LOCAL_HOST)
            front = stack.enter_context(Origin(relay_to(local.address), tls=leaf))
            variables = {
                "AGENT_MODEL": local_model.MODEL_NAME,
                "OPENAI_BASE_URL": f"https://{LOCAL_HOST}/v1",
            }
            names = {LOCAL_HOST: front.address, **names}
            yield Stage(desk, names, variables, ("--by-schema",))
