"""An Inspect task with three tools, two samples, against a model: TASK FOLDER FORMAT."""

import sys

import inspect_ai
import tools_at_hand
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import basic_agent, system_message
from inspect_ai.tool import ToolError, tool


@tool
def read_file():
    async def execute(file_path: str) -> str:
        """Read a file.

        Args:
            file_path: Which.
        """
        return tools_at_hand.read_file(file_path)

    return execute


@tool
def edit():
    async def execute(file_path: str, old_string: str, new_string: str) -> str:
        """Replace a text in a file.

        Args:
            file_path: Which.
            old_string: What.
            new_string: By what.
        """
        return tools_at_hand.edit(file_path, old_string, new_string)

    return execute


@tool
def bash():
    async def execute(command: str) -> str:
        """Run a command in a shell.

        Args:
            command: Which.
        """
        try:
            return tools_at_hand.bash(command)
        except Exception as error:
            raise ToolError(str(error)) from error

    return execute


task, folder, form = sys.argv[1:]
samples = [Sample(id=name, input=task, target="final") for name in ("first", "second")]
solver = basic_agent(
    init=system_message("You look after files."),
    tools=[read_file(), edit(), bash()],
    max_attempts=1,
)
inspect_ai.eval(
    inspect_ai.Task(
        dataset=samples, solver=solver, scorer=includes(), message_limit=12, name="desk"
    ),
    model="openai/gpt-5-mini",
    model_args={"responses_api": False},
    log_dir=folder,
    log_format=form,
    max_samples=1,
    display="none",
)
