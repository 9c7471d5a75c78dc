"""Work that goes on side by side: each piece keeps its own values, whoever is first."""

import pytest

from tests.probe.played import Played

BEGINNING = """
    import asyncio, concurrent.futures, multiprocessing, random, secrets, threading, time, uuid
    def values():
        return time.time_ns(), uuid.uuid4(), random.random(), secrets.token_hex(4)
    def chance():
        with open("/dev/urandom", "rb") as source:
            return int.from_bytes(source.read(1), "big") / 30000
    def work(number):
        first = values()
        time.sleep(chance())
        return number, first, values()
    async def task(number):
        first = values()
        await asyncio.sleep(chance())
        return number, first, values()
"""
WAYS = {
    "threads": """
        told = {}
        def keep(number): told[number] = work(number)
        threads = [threading.Thread(target=keep, args=(number,)) for number in range(5)]
        for each in threads: each.start()
        for each in threads: each.join()
        print(sorted(told.items()))
    """,
    "a pool of threads": """
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            print(list(pool.map(work, range(6))))
            print(pool.submit(work, 6).result())
    """,
    "tasks": """
        async def main():
            print(await asyncio.gather(*(task(number) for number in range(5))))
            print(await asyncio.wait_for(task(5), 20))
            loop = asyncio.get_running_loop()
            print(await asyncio.gather(
                *(loop.run_in_executor(None, work, number) for number in range(5))
            ))
        asyncio.run(main())
    """,
    "a pool of processes": """
        if __name__ == "__main__":
            with concurrent.futures.ProcessPoolExecutor(3) as pool:
                print(list(pool.map(work, range(6))))
    """,
    "a pool of multiprocessing": """
        if __name__ == "__main__":
            with multiprocessing.Pool(3) as pool:
                print(pool.map(work, range(6), chunksize=1))
                print(pool.apply(work, (6,)))
    """,
}


@pytest.mark.parametrize("way", WAYS)
def test_each_piece_of_work_keeps_its_values(played: Played, way: str) -> None:
    program = BEGINNING + WAYS[way].replace("\n    ", "\n")
    told = played.same(program)
    played.logs.clear()
    played.jobs.clear()
    assert played.replay(program) != told


def test_a_pools_own_threads_do_not_count(here: Played) -> None:
    """How many a pool starts depends on who is idle."""
    program = (
        BEGINNING
        + """
    with concurrent.futures.ThreadPoolExecutor(int(os.environ["WORKERS"])) as pool:
        print(list(pool.map(work, range(8))))
    """
    )
    here.environment["WORKERS"] = "1"
    told = here.record(program)
    here.environment["WORKERS"] = "8"
    assert here.replay(program) == told


def test_a_thread_that_is_new_shifts_no_other(here: Played) -> None:
    program = (
        BEGINNING
        + """
    def begin(): return concurrent.futures.ThreadPoolExecutor(2)
    with begin() as pool: print(pool.submit(work, 1).result())
    with begin() as pool: print(pool.submit(work, 2).result())
    """
    )
    first = "with begin() as pool: print"
    added = "threading.Thread(target=work, args=(0,)).start()"
    more = "with begin() as pool: pool.submit(work, 0)"
    changed = program.replace(first, f"{added}\n    {more}\n    {first}", 1)
    assert changed != program
    here.same(program, changed)


def test_threads_are_as_they_were(played: Played) -> None:
    program = """
        import contextvars, gc, threading, weakref
        class Mine(threading.Thread):
            def run(self):
                self.ran = True
        mine = Mine()
        mine.start(); mine.join()
        assert mine.ran and "run" not in vars(mine)
        other = threading.Thread()
        other.run = lambda: seen.append("its own")
        seen = []
        other.start(); other.join()
        assert seen == ["its own"]
        try: mine.start()
        except RuntimeError: pass
        else: raise AssertionError
        timer = threading.Timer(0.001, lambda: None)
        timer.start(); timer.join()
        ended = weakref.ref(mine)
        del mine
        gc.collect()
        assert ended() is None
        variable = contextvars.ContextVar("mine", default=1)
        variable.set(2)
        seen = []
        each = threading.Thread(target=lambda: seen.append(variable.get()))
        each.start(); each.join()
        assert seen == [1]
    """
    played.record(program)
