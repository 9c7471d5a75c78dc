"""How large a tape is: fifty turns of a made-up agent against what `zstd -19` makes of the same."""

import sqlite3
import tempfile
from pathlib import Path

from rerail.testing.made_up_agent import Turn, limit, record_made_up_agent, turns


def main() -> None:
    """Print the sizes."""
    conversation = list(turns())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.tape"
        size = record_made_up_agent(conversation, path)
        stored = _stored(path)
    print(f"bodies as they crossed the wire  {_bodies(conversation):>9} bytes")
    print(f"zstd -19 of what has to be kept  {limit(conversation):>9} bytes")
    print(f"the closed tape                  {size:>9} bytes")
    print(f"tape against zstd -19            {size / limit(conversation):>9.2f}")
    for name, pages in stored.items():
        print(f"  table {name:<13}            {pages:>9} bytes")


def _bodies(conversation: list[Turn]) -> int:
    replies = sum(len(data) for turn in conversation for data, _ in turn.reply)
    return replies + sum(len(turn.request_body) for turn in conversation)


def _stored(path: Path) -> dict[str, int]:
    """Bytes of each table, where SQLite was built to tell."""
    connection = sqlite3.connect(path)
    try:
        sql = "SELECT name, sum(pgsize) FROM dbstat GROUP BY name"
        return dict(connection.execute(sql))
    except sqlite3.OperationalError:
        return {}
    finally:
        connection.close()


if __name__ == "__main__":
    main()
