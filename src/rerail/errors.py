"""Every error rerail shows: what happened, where, and the mend. Imports nothing.

Two families, by who can mend it: `UserError` (a file, an option, a command: the hint says how) and
`InternalError` (a fault of rerail itself: the hint asks for a report). The command line prints
`what` and `hint` and exits with `exit_code`; a traceback is shown only under `--debug`.
"""


class RerailError(Exception):
    """Base of all errors meant for a person.

    `what` is one line without a full stop, `hint` one line that says the mend, `exit_code` the
    status the command line ends with.
    """

    exit_code = 2

    def __init__(self, what: str, *, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")  # where a traceback is shown, as to users of the library


class UserError(RerailError):
    """Something the user can mend: the hint says how."""


class InternalError(RerailError):
    """A fault of rerail itself: the hint asks for a report."""

    def __init__(self, what: str, *, hint: str | None = None) -> None:
        super().__init__(what, hint=hint or "this is a fault in rerail; please report it")


class UsageProblem(UserError):
    """Options that do not go together, or a value that cannot be read."""


class TapeUnreadable(UserError):
    """The file is not a tape this version can read: missing, foreign, torn, or too new."""


class NothingRecorded(TapeUnreadable):
    """A tape without a single event: whoever made it ended before anything was kept."""


class TapeExists(UserError):
    """The output is there already and `--force` was not given."""


class TapeBusy(UserError):
    """Another process is writing this tape."""


class TapeAltered(UserError):
    """The tape can be read, but its bytes do not agree with each other."""

    exit_code = 1


class NotOnTape(UserError):
    """The event, exchange or blob asked for is not on this tape."""


class TapeEnded(UserError):
    """The tape has its end record: there is nothing to go on with."""


class TapeWriteFailed(UserError):
    """The tape can no longer be written: a full disk, a read-only file system, a dead device."""

    exit_code = 125


class CommandNotFound(UserError):
    """There is no program of that name."""

    exit_code = 127


class CommandNotExecutable(UserError):
    """The program is there and cannot be started."""

    exit_code = 126


class ToolMissing(UserError):
    """A checker is not on this machine, or not in the version that is asked for."""


class ToolFailed(UserError):
    """A checker gave no answer: it ended, took too long, refused, or cannot do what is needed."""
