"""A language server for the tests of kept tools: it says what the file `script` beside it tells.

Each line of the script is an order for one question, in turn; when there are none left it answers
well. The orders: `end`, `hang`, `noise`, `refuse`, `partial`, `empty`.
"""

import json
import sys
from pathlib import Path


def read() -> dict:
    length = 0
    while (line := sys.stdin.buffer.readline()) not in (b"\r\n", b""):
        length = int(line.split(b":")[1])
    if not length:
        sys.exit()
    return json.loads(sys.stdin.buffer.read(length))


def say(message: dict) -> None:
    content = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(content) + content)
    sys.stdout.buffer.flush()


def next_order(script: Path) -> str:
    orders = script.read_text().split()
    script.write_text("\n".join(orders[1:]))
    return orders[0] if orders else "well"


def answer(message: dict, script: Path, texts: dict) -> None:
    order = next_order(script)
    path = message["params"]["textDocument"]["uri"].rpartition("/")[2]
    if order == "end":
        print("out of memory", file=sys.stderr)
        sys.exit(1)
    if order == "hang":
        sys.stdin.buffer.read()
    elif order == "noise":
        sys.stdout.buffer.write(b"panic: no such thing\r\n\r\n")
        sys.stdout.buffer.flush()
    elif order == "refuse":
        say({"id": message["id"], "error": {"code": -32603, "message": "I will not"}})
    elif order == "partial":
        say({"id": message["id"], "result": {"kind": "unchanged", "resultId": "1"}})
    elif order == "empty":
        say({"id": message["id"], "result": None})
    else:
        place = {"line": 0, "character": 0}
        item = {
            "range": {"start": place, "end": place},
            "severity": 1,
            "code": "said",
            "message": f"{texts[path][0]}: {texts[path][1]}",
        }
        say({"id": 99, "method": "window/workDoneProgress/create", "params": {}})
        say({"method": "window/logMessage", "params": {"message": "busy"}})
        say({"id": "s1", "method": "workspace/configuration", "params": {"items": [{}, {}]}})
        say({"id": message["id"], "result": {"kind": "full", "items": [item]}})


def main(script: Path, abilities: dict) -> None:
    texts: dict = {}
    while True:
        message = read()
        method, params = message.get("method"), message.get("params")
        if method == "initialize":
            say({"id": message["id"], "result": {"capabilities": abilities}})
        elif method in ("textDocument/didOpen", "textDocument/didChange"):
            document = params["textDocument"]
            text = document.get("text") or params["contentChanges"][-1]["text"]
            texts[document["uri"].rpartition("/")[2]] = (document["version"], text)
        elif method == "textDocument/diagnostic":
            answer(message, script, texts)
        elif message.get("id") == "s1":
            assert message["result"] == [None, None]


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
