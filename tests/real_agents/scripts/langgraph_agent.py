"""An agent on langgraph and langchain-openai with three tools; the task is its argument."""

import subprocess
import sys
from pathlib import Path

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI


def read_file(file_path: str) -> str:
    """Read a file."""
    return Path(file_path).read_text()


def edit(file_path: str, old_string: str, new_string: str) -> str:
    """Replace a text in a file."""
    path = Path(file_path)
    path.write_text(path.read_text().replace(old_string, new_string))
    return "done"


def bash(command: str) -> str:
    """Run a command in a shell."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    return done.stdout + done.stderr


agent = create_agent(
    ChatOpenAI(model="gpt-5-mini", streaming=True),
    tools=[read_file, edit, bash],
    system_prompt="You look after files.",
)
result = agent.invoke({"messages": [{"role": "user", "content": sys.argv[1]}]})
print(result["messages"][-1].content)
