"""Each test runs a small suite with the plugin in a pytest of its own."""

HELLO = """
    def test_hello(agentrec):
        client = Client(agentrec.command)
        assert client.ask("hello", name="you")["params"] == {"name": "you"}
        client.ask("bye")
        client.close()
"""


def test_records_once_then_replays_without_the_agent(suite):
    suite.write(HELLO)
    suite.run(passed=1)
    assert suite.sessions() == ["test_it/test_hello.agentrec"]
    recorded = (suite.path / "sessions/test_it/test_hello.agentrec").read_bytes()
    suite.run(passed=1)
    assert suite.agent_runs() == 1
    assert (suite.path / "sessions/test_it/test_hello.agentrec").read_bytes() == recorded


def test_a_divergence_that_the_client_swallows_fails_the_test(suite):
    suite.write(HELLO)
    suite.run(passed=1)
    suite.write("""
        def test_hello(agentrec):
            client = Client(agentrec.command)
            client.ask("hello", name="me")
            client.ask("bye")
            client.close()
    """)
    result = suite.run(failed=1)
    result.stdout.fnmatch_lines(["*the client did not do what *test_hello.agentrec holds", '*recorded*"you"*', '*live*"me"*'])
    assert suite.agent_runs() == 1


def test_what_the_client_leaves_out_fails_the_test(suite):
    suite.write(HELLO)
    suite.run(passed=1)
    suite.write("""
        def test_hello(agentrec):
            client = Client(agentrec.command)
            assert client.ask("hello", name="you")
            client.close()
    """)
    result = suite.run(passed=1, errors=1)  # known only when the client has ended
    result.stdout.fnmatch_lines(["*the client did not send bye*"])


def test_a_client_that_kills_its_agent_is_judged_too(suite):
    suite.write(HELLO)
    suite.run(passed=1)
    killed = """
        def test_hello(agentrec):
            client = Client(agentrec.command)
            client.ask("hello", name="you")
            {rest}
            client.agent.kill()
    """
    suite.write(killed.format(rest="client.ask('bye')"))
    suite.run(passed=1)
    suite.write(killed.format(rest="pass"))
    suite.run(passed=1, errors=1).stdout.fnmatch_lines(["*the replay was ended *"])


def test_what_a_client_records_that_kills_its_agent_is_there_in_the_next_run(suite):
    suite.write("""
        def test_hello(agentrec):
            agentrec.patience = 0.3
            client = Client(agentrec.command)
            client.ask("hello", name="you")
            client.ask("bye")
            client.agent.kill()
    """)
    suite.run(passed=1, errors=1).stdout.fnmatch_lines(["*nothing was recorded into *the next run takes what was recorded*"])
    suite.run(passed=1)
    assert suite.agent_runs() == 1


def test_a_client_that_lives_in_a_fixture_has_until_its_end(suite):
    suite.write("""
        @pytest.fixture
        def client(agentrec):
            client = Client(agentrec.command)
            yield client
            client.ask("bye")
            client.close()

        def test_hello(client):
            client.ask("hello")
    """)
    suite.run(passed=1)
    suite.run(passed=1)
    assert suite.agent_runs() == 1


def test_a_failing_test_shows_what_diverged_and_fails_once(suite):
    suite.write(HELLO)
    suite.run(passed=1)
    suite.write("""
        def test_hello(agentrec):
            client = Client(agentrec.command)
            assert client.ask("hello", name="me") is not None
    """)
    result = suite.run(failed=1)
    result.stdout.fnmatch_lines(["*Captured agentrec call*", '*live*"me"*'])


def test_a_command_that_nobody_runs_fails_the_test(suite):
    suite.write(HELLO)
    suite.run(passed=1)
    suite.write("""
        def test_hello(agentrec):
            agentrec.patience = 0.1
            agentrec.command
    """)
    suite.run(passed=1, errors=1).stdout.fnmatch_lines(["*did not run the command*"])


def test_ci_and_never_record_nothing(suite, monkeypatch):
    suite.write(HELLO)
    suite.run("--agentrec-record=never", failed=1).stdout.fnmatch_lines(["*test_hello.agentrec does not exist*"])
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("AGENTREC_RECORD", "always")
    suite.run("--agentrec-record=always", failed=1)
    assert suite.agent_runs() == 0
    monkeypatch.setenv("CI", "false")
    suite.run("--agentrec-record=never", passed=1)
    assert suite.agent_runs() == 1


def test_always_records_anew(suite):
    suite.write(HELLO)
    suite.run(passed=1)
    suite.run("--agentrec-record=always", passed=1)
    assert suite.agent_runs() == 2


def test_a_wrong_mode_is_refused(suite, monkeypatch):
    suite.write(HELLO)
    monkeypatch.setenv("AGENTREC_RECORD", "sometimes")
    suite.run(errors=1).stdout.fnmatch_lines(["*'sometimes' is not known; use once, always, never*"])


def test_what_a_failing_test_records_is_set_aside(suite):
    suite.write("""
        def test_hello(agentrec):
            client = Client(agentrec.command)
            client.ask("hello")
            client.close()
            assert False
    """)
    suite.run(failed=1)
    assert suite.sessions() == ["test_it/test_hello.failed.agentrec"]


def test_workers_in_parallel_have_a_file_each(suite):
    suite.write("""
        @pytest.mark.parametrize("name", ["a", "b/c", "b:c", "d" * 200, "ü"])
        def test_hello(agentrec, name):
            client = Client(agentrec.command)
            assert client.ask("hello", name=name)["params"] == {"name": name}
            client.close()
    """)
    suite.run("-n", "2", passed=5)
    assert len(suite.sessions()) == 5
    suite.run("-n", "2", passed=5)
    assert suite.agent_runs() == 5


def test_marker_names_file_command_and_arguments(suite):
    suite.write("""
        @pytest.mark.agentrec(file="own/place.db", command=["python3", "echo.py", "more"])
        def test_first(agentrec):
            client = Client(agentrec.command)
            client.ask("hello", name="you")
            client.close()

        @pytest.mark.agentrec(file="own/place.db", args=["--ignore", "params.name"])
        def test_second(agentrec):
            client = Client(agentrec.line.split())
            client.ask("hello", name="me")
            client.close()
            agentrec.check()
    """)
    suite.run("-p", "no:randomly", passed=2)
    assert suite.agent_runs() == 1 and (suite.path / "own/place.db").exists()


def test_check_raises_once(suite):
    suite.write(HELLO)
    suite.run(passed=1)
    suite.write("""
        from pytest_agentrec import Diverged

        def test_hello(agentrec):
            client = Client(agentrec.command)
            client.ask("hello", name="you")
            client.close()
            with pytest.raises(Diverged, match="did not send bye"):
                agentrec.check()
    """)
    suite.run(passed=1)


def test_two_agents_and_paths_in_place_of_commands(suite):
    suite.write("""
        def test_hello(agentrec):
            first, second = Client([agentrec.shim(), "from", "client"]), Client(agentrec.another("server").command)
            assert first.ask("hello") and second.ask("hello", name="second")
            first.close()
            second.close()
    """)
    suite.run(passed=1)
    assert suite.sessions() == ["test_it/test_hello.agentrec", "test_it/test_hello.server.agentrec"]
    header = (suite.path / "sessions/test_it/test_hello.agentrec").read_text().split("\n")[0]
    assert '"from","client"' in header
    suite.run(passed=1)
    assert suite.agent_runs() == 2
    suite.write("""
        def test_hello(agentrec):
            first, second = Client([agentrec.shim()]), Client(agentrec.another("server").command)
            first.ask("hello"), second.ask("hello", name="third")
            first.close(), second.close()
    """)
    suite.run(failed=1).stdout.fnmatch_lines(['*live*"third"*'])


def test_a_missing_agentrec_is_named(suite):
    suite.write(HELLO)
    suite.run("--agentrec-binary", "no-such-agentrec", errors=1).stdout.fnmatch_lines(["*no-such-agentrec was not found*"])
