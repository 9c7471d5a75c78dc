"""Read, write, check, done, with nothing said about saving: each `tool` call saves all of it."""

import json


def parse(content):
    start, end = content.find("{"), content.rfind("}")
    try:
        action = json.loads(content[start : end + 1])
    except ValueError:
        action = None
    return action if isinstance(action, dict) else {"tool": ""}


def do(action):
    name, path = action.get("tool"), str(action.get("path", ""))
    if name == "read":
        return files.get(path, f"there is no {path}")
    if name == "write":
        if not path or path[0] == "/" or ".." in path.split("/") or chr(0) in path:
            return f"there can be no `{path}`"
        files[path] = str(action.get("content", ""))
        return f"wrote {path}"
    if name == "check":
        found = tool("check", {"files": files})["errors"]
        state["errors"] = len(found)
        return "\n".join(found) if found else "nothing is wrong"
    if name == "done":
        state["finished"] = True
        return "done"
    return 'answer with one JSON object: {"tool": "read" or "write" or "check" or "done", ...}'


history, files = start["history"], start["files"]
state = {"finished": False, "errors": None}
turn = 0
while not state["finished"]:
    answer = tool("think", {"history": history, "turn": turn, "errors": state["errors"]})
    if "note" in answer:
        history.append({"role": "user", "content": answer["note"]})
    if "content" not in answer:  # no turn is left
        break
    history.append({"role": "assistant", "content": answer["content"]})
    history.append({"role": "user", "content": do(parse(answer["content"]))})
    turn += 1
tool("verdict", {"files": files})
