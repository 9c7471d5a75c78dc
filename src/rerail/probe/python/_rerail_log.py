"""A line of the log for whoever sees something pass by that cannot be recorded."""


def missing(what: str, detail: str = "") -> None:
    """Say so; nothing happens outside a run."""
    try:
        from _rerail_run import RUN
    except ImportError:
        return
    RUN.missing(what, detail)
