"""Random values of an agent: derived from a seed, or kept where they are secret; the same again."""

from pathlib import Path

from tests.probe.played import Played

EVERYTHING = """
    import random, secrets, tempfile, uuid
    for _ in range(2):
        print(random.random(), random.choice("abcdef"), random.gauss(0, 1))
        print(random.sample(range(99), 3), secrets.choice("abcdef"))
        print(random.Random().random(), uuid.uuid4(), uuid.uuid1())
        print(os.urandom(8), secrets.token_hex(8), random.SystemRandom().random())
        print(os.getrandom(4), secrets.token_urlsafe(), random.getrandbits(70))
        folder = tempfile.mkdtemp(); os.rmdir(folder)
        print(folder, {"one", "two", "three"}, hash("four"))
"""


def test_every_kind_is_given_again(played: Played) -> None:
    lines = played.same(EVERYTHING).split("\n")
    assert len(set(lines)) == 2 * 6 + 1


def test_another_seed_gives_other_values(played: Played) -> None:
    program = "import random, uuid; print(random.random(), uuid.uuid4())"
    first = played.record(program)
    assert played.record(program) == first
    played.seed = "5f" * 32
    assert played.record(program) != first


def test_no_two_turns_places_or_calls_give_the_same(played: Played) -> None:
    program = """
        import random, uuid
        def one(): return uuid.uuid4(), random.random()
        def two(): return uuid.uuid4(), random.random()
        told = []
        for _ in range(3):
            told += [one(), one(), two()]
            next_turn()
        assert len(set(told)) == 9
        assert len({value for pair in told for value in pair}) == 18
    """
    played.record(program)


def test_a_line_of_logging_beside_it_changes_nothing(played: Played) -> None:
    program = """
        import random, secrets, uuid
        for _ in range(5):
            print(uuid.uuid4(), random.random(), secrets.token_hex(4))
            next_turn()
    """
    added = "    told = (uuid.uuid4(), random.random(), secrets.token_hex(4))\n        "
    changed = program.replace("    print(", added + "    print(")
    assert changed != program
    played.same(program, changed)


def test_an_agents_own_seed_is_its_own(played: Played) -> None:
    program = """
        import random
        random.seed(5)
        assert random.random() == random.Random(5).random() == 0.6229016948897019
        state = random.getstate()
        after = random.random()
        random.setstate(state)
        assert random.random() == after
        random.seed()
        print(random.random())
    """
    played.same(program)


def test_a_fork_of_a_seeded_process_draws_its_own(played: Played) -> None:
    program = """
        import random
        random.seed(5)
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        print(random.random(), flush=True)
    """
    child, parent = played.same(program).split()
    assert parent == "0.6229016948897019" != child


def test_functions_bind_no_more_than_those_they_stand_for(played: Played) -> None:
    program = """
        import copy, pickle, random
        class Holder:
            choice, entropy = random.choice, os.urandom
        assert Holder().choice([3]) == 3 and len(Holder().entropy(5)) == 5
        assert pickle.loads(pickle.dumps(random.random))() < 1
        assert copy.deepcopy(random.random)() < 1
        assert isinstance(random.Random().getstate(), tuple)
        for wrong in (lambda: random.choice(), lambda: os.urandom("x"), lambda: os.urandom(-1)):
            try: wrong()
            except (TypeError, ValueError): continue
            raise AssertionError
    """
    played.record(program)


def test_entropy_stands_in_the_log_and_derived_values_do_not(played: Played) -> None:
    told = played.record("import secrets, uuid; print(secrets.token_hex(9), uuid.uuid4())").split()
    log = b"".join(played.logs.values())
    assert told[0].encode() in log
    assert told[1].replace("-", "").encode() not in log
    assert log.count(b"\nr\t") == 1


def test_a_run_that_has_gone_live_draws_its_own_entropy(here: Played) -> None:
    program = "print(os.urandom(8).hex())"
    told = here.record(program)
    assert here.replay(program) == told
    live = here.replay(program, live=True)
    assert live != told
    assert live.strip().encode() in here.written


def test_entropy_of_another_length_is_drawn_anew(played: Played) -> None:
    played.record("print(os.urandom(8).hex())")
    assert len(played.replay("print(os.urandom(int('9')).hex())")) == 19


def test_a_folder_that_the_recording_left_empty_is_taken_over(played: Played) -> None:
    program = "import tempfile; print(tempfile.mkdtemp(dir=os.getcwd()))"
    recorded = played.record(program)
    assert played.replay(program) == recorded


def test_a_folder_with_something_in_it_is_not_taken_over(played: Played) -> None:
    program = "import tempfile; print(tempfile.mkdtemp(dir=os.getcwd()))"
    recorded = played.record(program)
    (Path(recorded.strip()) / "kept").touch()
    assert played.replay(program) != recorded


def test_random_is_left_alone_where_it_is_not_asked_for(played: Played) -> None:
    program = "import random, uuid; print(random.random(), uuid.uuid4(), os.urandom(4))"
    assert played.record(program, random=False) != played.record(program, random=False)
    assert b"\nr\t" not in b"".join(played.logs.values())
