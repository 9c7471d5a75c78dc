"""A session on a model's WebSocket: warmed up, then turns that go on where the last one ended.

`session.py ORIGIN`: each item has an id of its own, made anew in every run.
"""

import json
import sys
import uuid

from websockets.sync.client import connect

thread = str(uuid.uuid4())


def said(socket, **body):
    socket.send(json.dumps({"type": "response.create", "model": "m", **body}))
    while True:
        event = json.loads(socket.recv())
        if event["type"] == "response.completed":
            return event["response"]


def item(text):
    content = [{"type": "input_text", "text": f"{text} in {thread}"}]
    return {"type": "message", "id": f"item-{uuid.uuid4()}", "role": "user", "content": content}


with connect(sys.argv[1] + "/v1/responses") as socket:
    last = said(socket, input=[], generate=False)
    for turn in range(3):
        last = said(socket, input=[item(f"turn {turn}")], previous_response_id=last["id"])
        print(last["output"][0]["content"][0]["text"])
