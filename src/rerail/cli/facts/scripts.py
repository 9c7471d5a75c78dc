"""The events of a durable script in words: one line each. Reads no evidence."""

from rerail.cli.screen.texts import quantity, size_text
from rerail.tape.records import Event
from rerail.tape.script_records import (
    ScriptAnswered,
    ScriptAsked,
    ScriptCalled,
    ScriptEnded,
    ScriptForked,
    ScriptParked,
    ScriptPaused,
    ScriptPrinted,
    ScriptResumed,
    ScriptStarted,
)


def script_words(event: Event) -> str | None:
    """What such an event says, in one line; None of any other."""
    match event:
        case ScriptStarted():
            tools = f", tools {', '.join(event.tools)}" if event.tools else ""
            return f"{event.name} on {event.engine}{tools}"
        case ScriptForked():
            return f"goes on from pause {event.pause} of {event.run_id}"
        case ScriptPaused():
            then = "its tool is called" if event.calls else "waits for an answer"
            size = size_text(event.state.size)
            return f"pause {event.pause} at line {event.line}, `{event.tool}`: {size}, {then}"
        case ScriptCalled():
            return f"pause {event.pause}: its tool is called, call {event.attempt}"
        case ScriptAnswered():
            how = f"raised {event.raised}" if event.raised else "answered"
            return f"pause {event.pause} {how}, {size_text(event.answer.size)}"
        case ScriptAsked():
            return f"was told {event.name}, {quantity(len(event.value), 'byte')}"
        case ScriptPrinted():
            return f"printed {size_text(event.text.size)} on {event.stream}"
        case ScriptParked():
            return f"parked at pause {event.pause}"
        case ScriptResumed():
            return f"taken up at pause {event.pause}, from its {event.how}, on {event.engine}"
        case ScriptEnded():
            last = event.error.strip().rpartition("\n")[2]
            return f"failed: {last}" if event.error else "ended well"
    return None
