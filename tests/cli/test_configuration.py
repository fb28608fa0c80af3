"""thinkgraph.toml and the environment: what wins, what is refused, what `doctor` shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import ANSWER, MODEL, QUESTION, Run
from langgraph.checkpoint.memory import InMemorySaver
from model_server import ModelServer

from thinkgraph.cli.options import model_name
from thinkgraph.config import Value, load_config
from thinkgraph.errors import ThinkGraphError, UsageError


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes the file into a working directory of the test's own."""
    monkeypatch.chdir(tmp_path)

    def put(text: str) -> Path:
        path = tmp_path / "thinkgraph.toml"
        path.write_text(text, "utf-8")
        return path

    return put


def test_without_anything() -> None:
    config = load_config()
    assert {name: (value.value, value.source) for name, value in config.values.items() if name != "runs"} == {
        "kb": ("world", "default"),
        "model": ("offline", "default"),
        "method": ("tog2", "default"),
    }
    assert config.settings("tog2") == {}


def test_flag_before_environment_before_file(
    write: Any, cli: Run, kb: str, served: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        f'kb = "{kb}"\nmodel = "{MODEL}"\nmethod = "tog"\n[settings]\nwidth = 2\ndepth = 2\ntog2.ranker = "bm25"\nmax_calls = 30\n'
    )

    def manifest(*flags: str) -> tuple[str, str, dict[str, Any]]:
        done = cli("ask", QUESTION, "--json", "--thread", "t", *flags)
        assert done.code == 0, done.err
        answer = json.loads(done.out)
        assert answer["answers"] == [ANSWER]
        exported = cli("runs", "export", "t")
        settings = json.loads(exported.out)["history"][0]["state"]["manifest"]["settings"]
        return answer["method"], answer["model"], settings

    method, model, settings = manifest()
    assert (method, model, settings["width"], settings["depth"]) == ("tog", MODEL, 2, 2)
    monkeypatch.setenv("THINKGRAPH_METHOD", "tog2")
    monkeypatch.setenv("THINKGRAPH_SETTINGS", "width=4 max_calls=none")
    method, _, settings = manifest()
    assert (method, settings["width"], settings["depth"], settings["max_calls"]) == ("tog2", 4, 2, None)
    assert settings["ranker"] == "bm25"
    monkeypatch.setenv("THINKGRAPH_SETTINGS", '{"tog2.width": 5, "width": 6}')
    assert manifest()[2]["width"] == 5
    assert manifest("--set", "width=7")[2]["width"] == 7
    # A setting of other methods is no fault of this one.
    assert cli("ask", QUESTION, "--method", "direct").code == 0


def test_paths_hold_from_the_files_own_folder(
    write: Any, kb: str, cli: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "small").symlink_to(kb)
    (folder / "own.toml").write_text('kb = "small"\nruns = "kept"\ntext = "chroma:c?collection=d&entity=e"\n', "utf-8")
    monkeypatch.delenv("THINKGRAPH_HOME")
    monkeypatch.setenv("THINKGRAPH_CONFIG", str(folder / "own.toml"))
    config = load_config()
    assert config.get("kb") == str(folder / "small")
    assert config.get("text") == f"chroma:{folder}/c?collection=d&entity=e"
    assert cli("runs").code == 0
    assert (folder / "kept" / "runs.sqlite").is_file()
    monkeypatch.setenv("THINKGRAPH_CONFIG", str(folder / "none.toml"))
    assert "THINKGRAPH_CONFIG names" in cli("runs").line


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kbb = 'x'", "there is no key 'kbb'; known: kb, text, trust_embedder, model, models, method"),
        ("kb = 5", "'kb' is a text, not 5"),
        ("trust_embedder = 'perhaps'", "'trust_embedder' is true or false, not 'perhaps'"),
        ("trust_embedder = []", "'trust_embedder' is true or false, not []"),
        ("kb = ' '", "'kb' is a text, not ' '"),
        ("model = ['a']", "'model' is a text or a table by role, not ['a']"),
        ("[model]\ntog2.reason = 'openai:a'", "'model': models by role need a 'default' too"),
        ("[model]\ndefault = 1", "'model.default' is a text, not 1"),
        ("settings = 3", "'settings' is a table ([settings]), not 3"),
        ("text = 'x'", "'text': 'x' names no texts: write chroma:FOLDER"),
        ("[settings]\nwidht = 3", "there is no setting 'widht' of any method; did you mean 'width'?"),
        ("[settings]\ntog2.widht = 3", "there is no setting 'tog2.widht'; did you mean 'width'?"),
        ("[settings]\ntog3.width = 3", "settings: there is no method 'tog3'"),
        ("[settings]\ntog2.width = true", "setting 'width': true and false are for switches (given: True)"),
        ("[settings]\nchunk_size = 60", "settings: chunk_overlap must be smaller than chunk_size (given: "),
        ("[settings]\nwidth = 0", "setting 'width': Input should be greater than or equal to 1"),
        ("kb = ", "is no TOML: "),
        ("method = 'tog3'", "'method': there is no method 'tog3'; known: "),
        pytest.param(f"[settings]\nwidth = {'9' * 5000}", "is no TOML: Exceeds the limit", id="many digits"),
        pytest.param(f"kb = {'[' * 3000}{']' * 3000}", "is no TOML: maximum recursion", id="deep"),
    ],
)
def test_what_is_refused(write: Any, cli: Run, text: str, words: str) -> None:
    path = write(text)
    done = cli("ask", QUESTION)
    assert done.code == 2
    assert words in done.line
    assert str(path) in done.line


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_configuration_that_is_no_file_is_refused(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "thinkgraph.toml"
    path.mkdir() if kind == "folder" else path.symlink_to("nowhere")
    done = cli("ask", QUESTION)
    assert (done.code, done.line) == (2, f"thinkgraph: error: {path} is no file, or a link to none")


def test_a_byte_order_mark_is_no_error(write: Any) -> None:
    path = write("\ufeffmethod = 'fiske'\n")
    assert load_config().values["method"] == Value("fiske", str(path))


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("SETTINGS", "width", "THINKGRAPH_SETTINGS takes name=value, not 'width'"),
        ("SETTINGS", "width=0", "THINKGRAPH_SETTINGS: setting 'width'"),
        ("SETTINGS", "{width}", "THINKGRAPH_SETTINGS is no JSON object"),
        ("MODEL", '{"default": "openai:a", "tog2.nope": "openai:b"}', "THINKGRAPH_MODEL: 'model': there is no role"),
        ("MODEL", '{"tog2": "openai:a"}', "THINKGRAPH_MODEL: 'model': models by role need a 'default' too"),
        ("METHOD", "tog3", "THINKGRAPH_METHOD: 'method': there is no method 'tog3'"),
        pytest.param("SETTINGS", '{"a":' + "[" * 30000, "THINKGRAPH_SETTINGS is no JSON object", id="deep"),
    ],
)
def test_what_is_refused_of_the_environment(
    cli: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(f"THINKGRAPH_{name}", value)
    done = cli("ask", QUESTION)
    assert done.code == 2
    assert words in done.line


def test_models_by_role(write: Any, cli: Run, kb: str, served: ModelServer) -> None:
    write(f'kb = "{kb}"\n[model]\ndefault = "openai:one"\ntog2.steer = "openai:two"\n[settings]\nranker = "bm25"\n')
    since = len(served.calls)
    done = cli("ask", QUESTION, "--thread", "t")
    assert done.code == 0
    assert "model openai:one (tog2.steer: openai:two)" in done.err
    asked = {call.role: call.parameters["model"] for call in served.calls[since:]}
    assert asked == {role: "two" if role == "tog2.steer" else "one" for role in asked}
    assert asked["tog2.steer"] == "two"
    assert "openai:one" in cli("runs", "--json").out
    assert cli("resume", "t").code == 0
    refused = cli("bench", "--data", "world", "--limit", "1")
    assert "models by role are configured; this command takes one: --model NAME" in refused.line
    with pytest.raises(UsageError):
        model_name(None)
    assert model_name("openai:x") == "openai:x"


def test_doctor_shows_sources_and_no_secret(write: Any, cli: Run, monkeypatch: pytest.MonkeyPatch, kb: str) -> None:
    path = write('kb = "neo4j://me:s3cret@localhost:1/db"\n[settings]\nwidth = 4\n')
    monkeypatch.setenv("THINKGRAPH_METHOD", "tog2")
    done = cli("doctor", "--no-calls", "--model", "openai:x")
    line = next(line for line in done.out.splitlines() if " configuration " in line)
    assert line.startswith("ok   configuration")
    assert f"kb = neo4j://me@localhost:1/db ({path})" in line
    assert "method = tog2 (THINKGRAPH_METHOD)" in line
    assert "model = openai:x (flag)" in line
    assert f"settings.width = 4 ({path})" in line
    assert "s3cret" not in done.out + done.err
    write("[settings]\nwidth = 0\n")
    refused = cli("doctor", "--no-calls", "--kb", kb)
    assert any(line.startswith("FAIL configuration") for line in refused.out.splitlines())


def test_the_servers_graphs_read_it_too(
    write: Any, kb: str, served: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from thinkgraph.integrations.langgraph import server as factories

    write(f'kb = "{kb}"\nmodel = "{MODEL}"\n[settings]\nranker = "bm25"\nwidth = 2\n')
    monkeypatch.setattr(factories, "_built", {})
    graph = factories._served("tog2", {})
    graph = graph.copy(update={"checkpointer": InMemorySaver()})
    thread: Any = {"configurable": {"thread_id": "t"}}
    assert graph.invoke({"question": QUESTION}, thread)["answer"]["answers"] == [ANSWER]
    assert graph.get_state(thread).values["manifest"]["settings"]["width"] == 2
    write("kbb = 1")
    monkeypatch.setattr(factories, "_built", {})
    with pytest.raises(ThinkGraphError, match="there is no key 'kbb'"):
        factories._served("tog2", {})
