"""A policy file: which proposals may be applied without asking a person. Pure.

It is read when the question arises, from a file that no agent can reach, and grants only what every
path of the proposal is named for.
"""

from fnmatch import fnmatchcase
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from rerail.errors import UsageProblem
from rerail.tape.proposals import Proposal
from rerail.task.plain_yaml import read_yaml


class Grant(Struct, frozen=True, forbid_unknown_fields=True):
    """Proposals to this target whose every path matches one of `paths` (`*` crosses folders).

    A folder is a path like any other (the workspace itself is `.`): its mode is a change, too.
    """

    target: str
    paths: Annotated[list[str], Meta(min_length=1)]
    tasks: list[str] = msgspec.field(default_factory=list)


class Policy(Struct, frozen=True, forbid_unknown_fields=True):
    """All grants, under a name and a version."""

    name: str
    version: str
    grants: list[Grant]

    @property
    def title(self) -> str:
        """Who grants, as the tape has it."""
        return f"policy {self.name} version {self.version}"

    def grants_it(self, made: Proposal, *, target: str, task: str) -> bool:
        """Whether this proposal may be applied to this target for this task."""
        paths = [change.path.decode("utf-8", "surrogateescape") or "." for change in made.changes]
        return bool(paths) and any(
            grant.target == target
            and (not grant.tasks or task in grant.tasks)
            and all(any(fnmatchcase(path, pattern) for pattern in grant.paths) for path in paths)
            for grant in self.grants
        )


def parse_policy(content: bytes, name: str) -> Policy:
    """The policy in `content`. Raises UsageProblem."""
    try:
        return msgspec.convert(read_yaml(content, name), Policy, strict=False)
    except msgspec.ValidationError as error:
        raise UsageProblem(
            f"{name}: {error}", hint="`docs/how-to/run.md` has a policy to begin with"
        ) from error
