# Each tool() pauses the agent, and it is saved whole: its history, its files, its turn.
import json

history, turn, errors, finished = [{"role": "user", "content": task}], 0, None, False
while turn < limit and not finished:
    answer = tool("think", {"history": history, "turn": turn})
    limit = heard(answer, history, limit)
    history.append({"role": "assistant", "content": answer["content"]})
    action = json.loads(answer["content"])
    if action["tool"] == "write":
        files[action["path"]] = action["content"]
    if action["tool"] == "check":
        errors = tool("tsc", {"files": files})["errors"]
    seen = {"read": files.get(action.get("path")), "check": errors}.get(action["tool"])
    history.append({"role": "user", "content": json.dumps(seen)})
    finished = action["tool"] == "done"
    turn += 1
{"finished": finished, "turns": turn, "errors": errors, "files": files}
