"""The clock of an agent: every function that tells the date, the same again; all else as ever."""

import pytest

from rerail.clock import wall_ns
from tests.probe.played import Played

EVERYTHING = """
    import datetime, time
    print(time.time(), time.time_ns(), time.ctime(), time.asctime(), time.strftime("%c"))
    print(tuple(time.localtime()), tuple(time.gmtime()), time.localtime(None).tm_sec)
    print(time.clock_gettime(time.CLOCK_REALTIME), time.clock_gettime_ns(time.CLOCK_REALTIME))
    print(datetime.datetime.now(), datetime.datetime.today(), datetime.date.today())
    print(datetime.datetime.now(datetime.timezone.utc), datetime.datetime.now(tz=None))
"""


def test_every_way_of_reading_the_date_is_given_again(played: Played) -> None:
    assert len(played.same(EVERYTHING).split("\n")) == 6
    assert played.said == ""


def test_utcnow_is_given_again_and_warns_as_ever(played: Played) -> None:
    program = "import datetime\nprint(datetime.datetime.utcnow())"
    played.same(program)
    warned = played.said
    played.alone(program)
    assert played.said == warned


def test_a_time_is_the_systems_to_the_last_digit(played: Played) -> None:
    """Every function goes by one number of nanoseconds; rounding is the standard library's."""
    program = """
        import datetime, time, _rerail_clock
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        now = 1795984342743656519
        for ns in (0, 999, now, now // 10**9 * 10**9 + 999999999, 1499999999123456500, 5 * 10**18):
            _rerail_clock._now = lambda frame: ns
            told = datetime.datetime.now(datetime.timezone.utc)
            assert (told - epoch) // datetime.timedelta(microseconds=1) == ns // 1000, ns
            local = datetime.datetime.now()
            assert local == told.astimezone().replace(tzinfo=None)
            assert time.time() == ns / 1e9 and time.time_ns() == ns
            assert time.gmtime() == time.gmtime(ns // 10**9)
    """
    played.record(program)


def test_types_subclasses_and_errors_are_as_ever(played: Played) -> None:
    program = """
        import copy, datetime, pickle, time
        class Mine(datetime.datetime): pass
        assert type(datetime.datetime.now()) is datetime.datetime
        assert type(Mine.now()) is Mine and type(Mine.utcnow()) is Mine
        now = datetime.datetime.now()
        assert pickle.loads(pickle.dumps(now)) == now
        assert "__abstractmethods__" not in datetime.datetime.__dict__
        for wrong in (lambda: now.now("x"), lambda: now.now(1, 2), lambda: time.localtime("x"),
                      lambda: time.time(1), lambda: time.strftime()):
            try: wrong()
            except TypeError: continue
            raise AssertionError(wrong)
        class Holder:
            clock = time.time
            local = time.localtime
        assert Holder().clock() > 0 and Holder().local().tm_year > 2000
        for each in (time.time, datetime.datetime.now):
            assert pickle.loads(pickle.dumps(each)) is not None
        assert copy.deepcopy(Holder.clock) == time.time and time.time.__name__ == "time"
        assert time.localtime(0) == time.localtime(0.5) and time.gmtime(5).tm_sec == 5
        assert time.strftime("%Y", time.gmtime(0)) == "1970"
    """
    played.record(program, "-W", "ignore")


def test_a_line_of_logging_beside_it_changes_nothing(played: Played) -> None:
    program = """
        import datetime
        def turn(number):
            print(number, datetime.datetime.now())
        for number in range(5):
            turn(number)
            next_turn()
    """
    changed = program.replace(
        "            print(",
        "            print(datetime.datetime.now(), file=sys.stderr)\n            print(",
    )
    assert changed != program
    played.same(program, changed)
    assert played.said.count("\n") == 5


def test_a_function_that_moves_in_its_file_has_its_times_still(played: Played) -> None:
    program = "import time\ndef f():\n    return time.time()\nprint(f(), f())\n"
    played.same(program, program.replace("def f", "# moved\n\n\ndef f"))


def test_a_place_that_is_new_goes_by_the_page(played: Played) -> None:
    played.record("import time; print(time.time_ns())")
    base = 1_600_000_000 * 10**9
    new = "import time\nfor _ in range(3): told = time.time_ns(); print(told)"
    told = list(map(int, played.replay(new, wall=base).split()))
    assert told == sorted(told)
    assert base < told[0] < base + 60 * 10**9


def test_it_waits_at_the_next_recorded_model_call_but_not_for_ever(played: Played) -> None:
    played.record("pass")
    base = 1_600_000_000 * 10**9
    program = """
        import time
        print(time.time_ns())
        deadline = time.time() + 0.5
        while time.time() < deadline:
            time.sleep(0.05)
    """
    assert int(played.replay(program, wall=base, limit=base + 1)) == base + 1


def test_time_does_not_go_back_behind_a_recorded_value(played: Played) -> None:
    played.record("import time; print(time.time_ns())")
    program = "import time; print(time.time_ns())\nprint(time.time_ns() + 0)"
    recorded, new = map(int, played.replay(program, wall=1).split())
    assert new >= recorded


def test_values_past_the_limit_are_left_to_the_page_and_that_is_said(played: Played) -> None:
    played.record("import time\nfor _ in range(5000): time.time()")
    (log,) = played.logs.values()
    assert log.count(b"\nt\t") == 4096
    assert log.count(b"\nmissing\ttimes past 4096") == 1


def test_a_run_that_has_gone_live_is_told_the_true_time_and_that_is_written_down(
    here: Played,
) -> None:
    here.record("import time; print(time.time_ns())")
    now = wall_ns()
    told = int(here.replay("import time; print(time.time_ns())", live=True))
    assert now < told < wall_ns()
    assert f"\t{told}\n".encode() in here.written


def test_monotonic_clocks_are_left_alone(played: Played) -> None:
    program = "import time; print(time.monotonic_ns(), time.perf_counter_ns())"
    assert played.record(program) != played.replay(program)
    assert b"\nt\t" not in b"".join(played.logs.values())


def test_the_clock_is_left_alone_where_it_is_not_asked_for(played: Played) -> None:
    played.record("import time; print(time.time, time.time())", clock=False)
    assert b"\nt\t" not in b"".join(played.logs.values())


@pytest.mark.parametrize("way", ["logging.warning('x')", "import email.utils as e; e.formatdate()"])
def test_the_place_is_the_agents_own_line(played: Played, way: str) -> None:
    played.record(f"import logging\ndef mine():\n    {way}\nmine()")
    (log,) = played.logs.values()
    assert b"\tprogram.py:mine:" in log


def test_a_library_that_needs_the_functions_in_c_is_given_them(played: Played) -> None:
    (played.folder / "_time_machine.py").write_text(
        "import datetime, time\n"
        "kind = datetime.datetime\n"
        "for each in (time.time, time.localtime, kind.now, kind.utcnow):\n"
        "    assert isinstance(each, type(len)), each\n"
    )
    program = """
        import datetime, time
        sys.path.insert(0, os.getcwd())
        assert not isinstance(time.time, type(len))
        import _time_machine
    """
    played.record(program)
    (log,) = played.logs.values()
    assert b"\nmissing\tthe clock\t_time_machine has taken it over\n" in log
