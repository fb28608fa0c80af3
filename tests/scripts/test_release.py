"""What a release needs: workflows that call the commands there are, a container, addresses, agreeing versions."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from thinkgraph.version import VERSION

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
URL = "https://host.example/owner/thinkgraph"
sys.path.insert(0, str(ROOT / "scripts"))

import release  # noqa: E402 - the path comes first


def steps(path: Path) -> list[dict[str, Any]]:
    """All steps of a workflow."""
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


def test_workflows_call_what_there_is() -> None:
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "release.yml"]
    for path in WORKFLOWS:
        called = [step["run"].split() for step in steps(path) if "run" in step]
        assert called
        for program, *words in called:
            assert (ROOT / program).is_file()
            if words[:1] == ["python"]:
                assert (ROOT / words[1]).is_file()
            elif words:
                assert f"\n{words[0]})" in (ROOT / "tg").read_text("utf-8")


def test_nothing_outside_decides_what_is_run() -> None:
    # What a tag or branch is called gets into a command by the environment only.
    for path in WORKFLOWS:
        assert all("${{" not in step.get("run", "") for step in steps(path))
        assert yaml.safe_load(path.read_text("utf-8"))["permissions"] == {"contents": "read"}


def test_the_index_is_told_by_trust_alone() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["needs"] == "build"
    assert "secrets." not in text
    assert "check_install.py dist" in text


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_follow_the_schema(path: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_release_says_where_the_project_lives() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert "[project.urls]" not in text, "the repository does not know its address"
    project = tomllib.loads(text + release.urls(URL, f"v{VERSION}"))["project"]
    assert project["version"] == VERSION
    for name, url in project["urls"].items():
        assert url.startswith(URL), name
        if "/blob/" in url:
            assert (ROOT / url.partition(f"/blob/v{VERSION}/")[2]).is_file()


def test_the_readme_of_a_release_stands_alone() -> None:
    text = release.linked((ROOT / "README.md").read_text("utf-8"), URL, f"v{VERSION}")
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)\s]+)\)", text)
    assert len(links) > 15
    for picture, link in links:
        assert link.startswith(f"{URL}/{'raw' if picture else 'blob'}/v{VERSION}/")


def test_a_release_has_its_tag_and_its_day() -> None:
    dated = f"# Changelog\n\n## {VERSION} (2026-12-01)\n"
    release.check(f"v{VERSION}", dated)
    with pytest.raises(release.ReleaseError, match=r"the tag is v9, the package .*: tag v"):
        release.check("v9", dated)
    with pytest.raises(release.ReleaseError, match="put the day of the release there"):
        release.check(f"v{VERSION}", f"## {VERSION} (unreleased)\n")


def test_the_package_is_typed() -> None:
    assert (ROOT / "thinkgraph" / "py.typed").read_bytes() == b""


def test_the_container_runs_as_nobody_special() -> None:
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users == ["10001"]
    copied = [
        word for line in lines if line.startswith("COPY ") and "--from" not in line for word in line.split()[1:-1]
    ]
    kept = (ROOT / ".dockerignore").read_text("utf-8")
    for name in copied:
        assert (ROOT / name).exists()
        assert f"\n!{name}\n" in kept


def test_langgraph_is_asked_for_as_mended_and_by_its_public_names() -> None:
    """Forks, replay, `update_state` and error handlers were mended up to 1.2.18; private keys change with any release."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (asked,) = (Requirement(one) for one in project["dependencies"] if Requirement(one).name == "langgraph")
    assert asked.specifier.contains("1.2.18")
    assert not asked.specifier.contains("1.2.17")
    sources = (path.read_text("utf-8") for path in (ROOT / "thinkgraph").rglob("*.py"))
    # Whether a graph around ours has a checkpointer, no public name tells.
    assert {key for text in sources for key in re.findall(r"__pregel_\w+", text)} <= {"__pregel_checkpointer"}
