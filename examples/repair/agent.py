# The agent: it reads, writes, checks, and is done. Each tool() pauses it, and it is saved whole.
import json

history = [{"role": "user", "content": task}]
turn, errors, finished = 0, None, False
while turn < limit and not finished:
    answer = tool("think", {"history": history, "turn": turn})
    limit = heard(answer, history, limit)
    history.append({"role": "assistant", "content": answer["content"]})
    action = json.loads(answer["content"])
    if action["tool"] == "read":
        result = files.get(action["path"], "no such file")
    elif action["tool"] == "write":
        files[action["path"]] = action["content"]
        result = "written"
    elif action["tool"] == "check":
        errors = tool("tsc", {"files": files})["errors"]
        result = errors
    else:
        finished = action["tool"] == "done"
        result = "no such tool"
    history.append({"role": "user", "content": json.dumps(result)})
    turn += 1
{"finished": finished, "turns": turn, "errors": errors, "files": files}
