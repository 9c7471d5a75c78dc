"""The agent's plane: a workspace of its own, what it is told, and what it cannot reach.

It sees neither rerail's state and keys, nor the contract's folder, nor the user's home, nor the
target's credential: it is left a home of its own, a few variables, and the inputs.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from rerail.errors import UserError
from rerail.holds import state_folder
from rerail.launch.command import find_program
from rerail.probe import paths as probe_paths
from rerail.proxy.certs import default_folder
from rerail.redact.apply import secrets_in
from rerail.sandbox.plane import Plane
from rerail.tape.companions import with_companions
from rerail.tape.plane_records import AgentContained, ScratchMade
from rerail.task.account import Account
from rerail.task.contract import Contract, words
from rerail.task.installed import places_of
from rerail.task.place import Place
from rerail.task.sensor import read_inputs
from rerail.task.target import credential_file
from rerail.task.trees import OURS, KeptTree, copy_folder
from rerail.task.verdict_plane import plain


class NotContained(UserError):
    """This machine cannot keep the agent from the target's credential."""


class Prepared(Struct, frozen=True):
    """The agent's plane, ready: its workspace's tree, and the sandbox."""

    base: KeptTree
    plane: Plane


class Layout(Struct, frozen=True):
    """Where things are: the contract's folder, the run's places, the tape and our environment."""

    contract: Contract
    home: Path
    place: Place
    tape: Path
    environment: Mapping[str, str]

    @property
    def workspace(self) -> Path:
        """The agent's."""
        return self.place.agents("workspace")

    @property
    def argv(self) -> list[str]:
        """The agent's command."""
        return words(self.contract.agent.command, str(self.home))

    def given(self) -> dict[str, str]:
        """The agent's environment: few variables, those that the contract names, a home."""
        named = self.contract.agent.environment
        return (
            plain(self.environment)
            | {name: self.environment[name] for name in named if name in self.environment}
            | {"HOME": str(self.place.agents("home")), "TMPDIR": str(self.place.agents("tmp"))}
        )

    def kept(self) -> dict[str, str]:
        """The variables that a replay needs again: what it is told, and what the contract names."""
        given = self.given()
        named = {name: given[name] for name in self.contract.agent.environment if name in given}
        return {
            name: value for name, value in named.items() if not secrets_in({name: value})
        } | self.told()

    def told(self) -> dict[str, str]:
        """The variables by which it finds its task."""
        ours = self.workspace / OURS
        return {"RERAIL_TASK_FILE": str(ours / "task.json"), "RERAIL_INPUTS": str(ours / "inputs")}

    def hidden(self) -> list[Path]:
        """What neither an agent nor a checker may read."""
        target = self.contract.target
        home = Path(self.environment.get("HOME") or Path.home())
        places = [
            *([home] if home != home.parent else []),  # of `/` everything would be hidden
            state_folder(self.environment),
            default_folder(self.environment).parent,
            *with_companions(self.tape),
        ]
        if target is not None and target.credential.file:
            places.append(credential_file(target, self.home))
        if self.contract.approval.policy:
            places.append(self.home / self.contract.approval.policy)
        return places

    def agents_programs(self) -> list[Path]:
        """Where the agent's program is installed, and what is on the path."""
        return self._installed(self.argv, self.workspace)

    def checkers_programs(self) -> list[Path]:
        """The same of the checker."""
        return self._installed(words(self.contract.checker.command, str(self.home)), self.home)

    def find_all(self) -> None:
        """Look for every program that will be needed, before an agent has worked in vain.

        Raises CommandNotFound, CommandNotExecutable.
        """
        find_program(self.argv[0], self.environment, self.workspace)
        target = self.contract.target
        parts = (target.apply, target.read, target.reconcile) if target is not None else ()
        for part in (self.contract.checker, *parts):
            if part is not None:
                find_program(words(part.command, str(self.home))[0], self.environment, self.home)

    def _installed(self, command: list[str], folder: Path) -> list[Path]:
        program = Path(find_program(command[0], self.environment, folder))
        on_path = [Path(place) for place in self.environment.get("PATH", "").split(":") if place]
        # A prefix that is a home, or the contract's folder, would show more than a program.
        homes = (Path(self.environment.get("HOME") or Path.home()), self.home)
        return [*on_path, *places_of(program, self.environment, but_not_above=homes)]


def prepare(account: Account, layout: Layout, needs: list[Path], channel: Path) -> Prepared:
    """Make the workspace, lay the inputs into it, and choose what the agent runs in.

    `needs` are the recorder's places that the command reads and writes. Raises NotContained,
    NotAsNamed, UsageProblem.
    """
    source = layout.home / layout.contract.workspace
    base = copy_folder(source, layout.workspace, account.recorder)
    account.note(
        ScratchMade,
        "runner",
        folder=str(layout.workspace),
        source=layout.contract.workspace,
        base=base.digest,
        base_size=base.size,
        files=sum(1 for entry in base.tree if entry.kind == "file"),
        size=sum(entry.size for entry in base.tree),
        left_out=base.left_out,
    )
    layout.find_all()
    inputs = layout.workspace / OURS / "inputs"
    inputs.mkdir(parents=True)
    read_inputs(account, layout.contract, layout.home, inputs)
    (layout.workspace / OURS / "task.json").write_text(_task(layout.contract), "utf-8")
    return Prepared(base, _contain(account, layout, needs, channel))


def _contain(account: Account, layout: Layout, needs: list[Path], channel: Path) -> Plane:
    reads = [layout.home / Path(path).expanduser() for path in layout.contract.agent.reads]
    probes = probe_paths()
    shown = [
        *reads,
        *layout.agents_programs(),
        *needs,
        probes.python,
        probes.node_preload.parent,
    ]
    own = [layout.place.agents(name) for name in ("workspace", "home", "tmp")]
    run_folder = needs[0]
    plane = Plane(
        writable=[*own, run_folder],
        hidden=[*layout.hidden(), layout.home],
        shown=shown,
        allowed=[channel],
    )
    account.note(
        AgentContained,
        "runner",
        layers=[layer.name for layer in plane.containment.layers],
        lacking={gap.layer.name: gap.why for gap in plane.containment.missing},
        hidden=[str(place) for place in [*layout.hidden(), layout.home]],
        writable=[str(place) for place in own],
    )
    if layout.contract.target is not None and not plane.contained:
        lacking = ", ".join(gap.layer.name for gap in plane.containment.missing)
        raise NotContained(
            f"the agent cannot be kept from the target's credential here: no {lacking}",
            hint="run it on a Linux with Landlock (6.2), or take `target` out of the contract",
        )
    return plane


def _task(contract: Contract) -> str:
    """What the agent is told: nothing of how it is checked, and nothing of the target."""
    told = {
        "task": contract.task,
        "version": contract.version,
        "objective": contract.objective,
        "constraints": [{"id": item.id, "text": item.text} for item in contract.constraints],
        "inputs": [{"name": item.name, "version": item.version} for item in contract.inputs],
    }
    return json.dumps(told, indent=2, ensure_ascii=False)
