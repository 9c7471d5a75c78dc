"""Five turns on the OpenAI SDK, a page fetched before each; the third says what a file says.

`five_turns.py PROMPT [URL]`: the prompt's file, and a site to fetch pages from (none: no pages).
"""

import sys
import urllib.request
from pathlib import Path

import openai

prompt, site = Path(sys.argv[1]).read_text(), (sys.argv[2:] or [""])[0]
said = {3: prompt}
messages = [{"role": "system", "content": "You answer in a few words."}]


def fetched(turn):
    if not site:
        return "nothing"
    with urllib.request.urlopen(f"{site}/page?turn={turn}", timeout=20) as reply:
        return reply.read().decode()


with openai.OpenAI() as client:
    for turn in range(1, 6):
        text = said.get(turn, f"This is turn {turn}.")
        messages.append({"role": "user", "content": f"{text} The page says: {fetched(turn)}"})
        try:
            reply = client.chat.completions.create(model="gpt-4.1-mini", messages=messages)
        except openai.APIStatusError as refused:
            print(f"turn {turn}: {type(refused).__name__} {refused.status_code}: {refused.message}")
            raise SystemExit(4) from refused
        answer = reply.choices[0].message.content
        print(f"turn {turn}: {answer}")
        messages.append({"role": "assistant", "content": answer})
