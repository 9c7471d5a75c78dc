"""What a person types, for each verb: read where help is asked for, and by no verb itself."""

from collections.abc import Mapping
from typing import Final

Examples = tuple[tuple[str, str], ...]
"""Each with what it is for."""

EXAMPLES: Final[Mapping[str, Examples]] = {
    "rerail": (
        ("keep a run while it happens", "rerail record -- python3 agent.py --task 1841"),
        ("what broke first, on one screen", "rerail trace runs/task-1841.tape"),
        ("what it was told and what it said", "rerail steps runs/task-1841.tape"),
        ("play it again, offline, at no cost", "rerail replay runs/task-1841.tape"),
        (
            "go back to a step, with a hint",
            'rerail rewind runs/task-1841.tape --to s3 --hint "Ask first."',
        ),
        ("the whole way on an agent that is there already", "rerail demo"),
    ),
    "rerail record": (
        ("any command; the tape gets a name by itself", "rerail record -- python3 agent.py"),
        (
            "a name, the task, and the variable that says how it runs",
            "rerail record -o runs/1841.tape --task 1841 -e MODE -- python3 agent.py",
        ),
        (
            "a client that takes a base URL and obeys no proxy",
            "rerail record --listen 8089 --upstream https://api.openai.com -- ./agent",
        ),
    ),
    "rerail replay": (
        ("the newest tape in runs/", "rerail replay"),
        (
            "the same run against changed code",
            "rerail replay runs/1841.tape -- python3 agent.py --rule strict.txt",
        ),
        ("in CI: silent where it is green", "rerail replay -q --report r.json tests/1841.tape"),
        ("in a debugger", "rerail replay runs/1841.tape -- python3 -m pdb agent.py"),
    ),
    "rerail rewind": (
        ("back to step 3, and told what it lacked", 'rerail rewind T --to s3 --hint "Ask first."'),
        (
            "back to the best step by a check of yours",
            "rerail rewind T --to best --check 'npx tsc --noEmit' --count 'error TS'",
        ),
        ("eight forks side by side, five turns each", "rerail rewind T --to s3 -n 8 --turns 5"),
    ),
    "rerail experiment": (
        ("carry one out, or go on with it", "rerail experiment run exp.yaml"),
        ("what came of it", "rerail experiment report experiments/the-simulated-one"),
    ),
    "rerail show": (
        ("the newest run in runs/ on one page", "rerail show"),
        ("one exchange whole: request and reply", "rerail show runs/1841.tape r5"),
        ("which files step 3 changed", "rerail show runs/1841.tape --files 3..4"),
        ("a run that is going on", "rerail show runs/1841.tape --follow"),
        ("which tape came from which", "rerail show runs"),
    ),
    "rerail steps": (
        ("the whole conversation of the newest run", "rerail steps"),
        ("one step, every text whole", "rerail steps runs/1841.tape s3"),
        (
            "each step's score by a check of yours",
            "rerail steps runs/1841.tape --check 'pytest -q' --count ^FAILED",
        ),
    ),
    "rerail why": (
        ("who said this number first?", "rerail why runs/1841.tape CUST-4417"),
        ("the same of another program's file", "rerail why session.jsonl CUST-4417"),
    ),
    "rerail diff": (
        ("where last night's run left the good one", "rerail diff runs/good.tape runs/bad.tape"),
        ("a field that differs each time", "rerail diff A B --ignore 'messages[*].id'"),
    ),
    "rerail test": (
        ("it must not ask r6 again", "rerail test runs/1841.tape --at r6"),
        ("the place by an investigation", "rerail test runs/1841.tape --case runs/case-1841"),
    ),
    "rerail check": (
        ("a script, on an answer of yours", "rerail check agent.py --answer 'think={}'"),
        (
            "a changed script, on an old run's answers",
            "rerail check agent.py --answers runs/last.tape",
        ),
    ),
    "rerail trace": (
        ("what broke first, on one screen", "rerail trace runs/1841.tape"),
        ("begin a case", 'rerail trace open runs/1841.tape --question "Why CUST-4417?"'),
        ("where it first went wrong", "rerail trace diagnose runs/CASE-1841"),
        ("is anything live?", "rerail trace safety runs/CASE-1841"),
    ),
    "rerail trace look": (("what broke first, on one screen", "rerail trace look CASE-1841"),),
    "rerail trace open": (
        ("begin a case", 'rerail trace open runs/1841.tape --question "Why CUST-4417?"'),
        ("from a transcript", 'rerail trace open session.jsonl --question "Why did it stop?"'),
    ),
    "rerail trace collect": (
        ("what is there, and what is missing", "rerail trace collect CASE-1841"),
        ("a service's log too", "rerail trace collect CASE-1841 pay.log --mapping pay.yaml"),
    ),
    "rerail trace timeline": (("all that is on record", "rerail trace timeline CASE-1841"),),
    "rerail trace verify": (("the six checks", "rerail trace verify CASE-1841"),),
    "rerail trace diagnose": (
        ("the first broken assumption", "rerail trace diagnose CASE-1841"),
        ("beside a good run", "rerail trace diagnose CASE-1841 --against good.tape"),
    ),
    "rerail trace safety": (("five questions", "rerail trace safety CASE-1841"),),
    "rerail trace note": (
        ("about one record", 'rerail trace note CASE-1841 "an old baseline" --about A:e20'),
    ),
    "rerail trace review": (
        (
            "before there is a report to see",
            "rerail trace review CASE-1841 --first e20 --category check --by grace",
        ),
    ),
    "rerail trace report": (
        ("YAML, Markdown and HTML", 'rerail trace report CASE-1841 --owner "payments on call"'),
    ),
    "rerail trace check": (("may it be closed?", "rerail trace check CASE-1841"),),
    "rerail verify": (
        ("is it as it was?", "rerail verify runs/1841.tape"),
        ("save what can be read", "rerail verify --repair saved.tape damaged.tape"),
    ),
    "rerail run": (
        ("agent, check, approval, target", "rerail run task.yaml"),
        ("the mended checker on the same proposal", "rerail run task.yaml --recheck run.tape"),
    ),
    "rerail approve": (
        ("what waits", "rerail approve"),
        ("grant it, once", "rerail approve A-47d8ed6a8d"),
    ),
    "rerail reconcile": (
        ("what is open", "rerail reconcile"),
        ("ask the target", "rerail reconcile T-ac910a28c6"),
    ),
    "rerail runs": (
        ("what is held", "rerail runs ls"),
        ("hold a task", 'rerail runs hold TASK-1061 --reason "we look at it"'),
    ),
    "rerail import": (
        ("what a transcript holds", "rerail import session.jsonl"),
        ("where to look first", "rerail import session.jsonl --diagnose"),
    ),
    "rerail doctor": (("what works here, and the mend for what does not", "rerail doctor"),),
    "rerail demo": (("about two minutes; it writes rerail-demo/", "rerail demo"),),
}


def examples(path: str) -> str:
    """The examples of a command, as the end of its help; empty where it has none."""
    shown = EXAMPLES.get(path, ())
    lines = [line for about, typed in shown for line in (f"  # {about}", f"  {typed}")]
    # The mark by which click leaves lines as they are.
    return "\n".join(["\b", "Examples:" if len(shown) > 1 else "Example:", *lines]) if shown else ""
