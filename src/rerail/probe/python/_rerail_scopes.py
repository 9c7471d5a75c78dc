"""Work that goes on side by side keeps its values apart: each thread, task and job of a pool.

Who runs when differs from run to run. Who was started by whom, from which line and as the
how-many-th there does not: so that names a scope, and a scope's values are counted for themselves.
"""

from _rerail_run import RUN
from _rerail_sites import SCOPE, Scope, getframe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


def install_threading(module: "Any") -> None:
    """A thread is a scope."""
    start = module.Thread.start

    def scoped_start(self: "Any") -> None:
        if RUN.live:
            self.run = _once_within(self, Scope.begun_at(getframe(1), "thread"))
        start(self)

    _as(scoped_start, start)
    module.Thread.start = scoped_start


def _once_within(thread: "Any", scope: Scope) -> "Callable[[], None]":
    """A thread's `run` for its first moment, then it is again what it was."""
    own = vars(thread).get("run")

    def run() -> None:
        if own is None:
            del thread.run
        else:
            thread.run = own
        SCOPE.set(scope)
        thread.run()

    return run


def install_thread_pool(module: "Any") -> None:
    """A call that a pool of threads makes for somebody is a scope; `map` is made of such."""
    submit = module.ThreadPoolExecutor.submit

    def scoped_submit(self: "Any", *args: "Any", **kwargs: "Any") -> "Any":
        if RUN.live and args:
            args = (_within(Scope.begun_at(getframe(1), "call"), args[0]), *args[1:])
        return submit(self, *args, **kwargs)

    _as(scoped_submit, submit)
    module.ThreadPoolExecutor.submit = scoped_submit


def _within(scope: Scope, call: "Callable[..., Any]") -> "Callable[..., Any]":
    def scoped(*args: "Any", **kwargs: "Any") -> "Any":
        token = SCOPE.set(scope)
        try:
            return call(*args, **kwargs)
        finally:
            SCOPE.reset(token)

    return scoped


def install_asyncio(module: "Any") -> None:
    """A task that another task makes is a scope; the first of a loop is none."""
    create = module.BaseEventLoop.create_task

    def create_task(self: "Any", coro: "Any", **kwargs: "Any") -> "Any":
        if not RUN.live or module.tasks.current_task(self) is None:
            return create(self, coro, **kwargs)
        scope = Scope.begun_at(getframe(1), "task")
        if kwargs.get("context") is not None:
            kwargs["context"].run(SCOPE.set, scope)
            return create(self, coro, **kwargs)
        token = SCOPE.set(scope)
        try:
            return create(self, coro, **kwargs)
        finally:
            SCOPE.reset(token)

    _as(create_task, create)
    module.BaseEventLoop.create_task = create_task


def install_process_pool(module: "Any") -> None:
    """A call that a pool of processes makes is a scope, whichever process takes it."""
    work = module._process_worker

    def _process_worker(call_queue: "Any", *args: "Any", **kwargs: "Any") -> None:
        work(_Jobs(call_queue, lambda call: (call.work_id,)), *args, **kwargs)

    _as(_process_worker, work)
    module._process_worker = _process_worker


def install_multiprocessing_pool(module: "Any") -> None:
    """The same for `multiprocessing.Pool`, whose jobs come in parts."""
    work = module.worker

    def worker(inqueue: "Any", *args: "Any", **kwargs: "Any") -> None:
        work(_Jobs(inqueue, lambda job: job[:2]), *args, **kwargs)

    _as(worker, work)
    module.worker = worker


class _Jobs:
    """A pool's queue, as one of its processes sees it: to take a job is to enter its scope."""

    def __init__(self, queue: "Any", number: "Callable[[Any], Any]") -> None:
        self._queue = queue
        self._number = number

    def __getattr__(self, name: str) -> "Any":
        return getattr(self._queue, name)

    def get(self, *args: "Any", **kwargs: "Any") -> "Any":
        job = self._queue.get(*args, **kwargs)
        if job is not None and RUN.live:
            SCOPE.set(Scope.of_job("%s %s" % (RUN.parent, self._number(job))))
        return job


def _as(function: "Any", other: "Any") -> None:
    """Look like the function that is replaced: a pool's worker is found again by its name."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(function, name, getattr(other, name))
