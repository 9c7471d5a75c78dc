"""An agent on openai-agents with three tools; the task is its argument."""

import subprocess
import sys
from pathlib import Path

from agents import Agent, Runner, function_tool


@function_tool
def read_file(file_path: str) -> str:
    """Read a file."""
    return Path(file_path).read_text()


@function_tool
def edit(file_path: str, old_string: str, new_string: str) -> str:
    """Replace a text in a file."""
    path = Path(file_path)
    path.write_text(path.read_text().replace(old_string, new_string))
    return "done"


@function_tool
def bash(command: str) -> str:
    """Run a command in a shell."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    return done.stdout + done.stderr


agent = Agent(name="Clerk", instructions="You look after files.", tools=[read_file, edit, bash])
print(Runner.run_sync(agent, sys.argv[1]).final_output)
