"""The server as the SDK's own client sees it: in this process, and once as a program."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.agents.agent_tools import session_of

from warpline.agents.guide import guide
from warpline.agents.session import AgentSession
from warpline.agents.tool import Tool, ToolPicture
from warpline.own_python import own_python

mcp = pytest.importorskip("mcp")

CHARACTERS_OF_A_TOKEN = 3.3
MOST_TOKENS_OF_DEFINITIONS = 2_500


def with_client(session: AgentSession, use: Callable[[Any], Awaitable[None]]) -> None:
    from warpline.agents.server import make_server

    async def run() -> None:
        async with mcp.Client(make_server(session)) as client:
            await use(client)

    asyncio.run(asyncio.wait_for(run(), 60))


def test_tools_are_read_only_and_described_in_few_words(asked_path: Path) -> None:
    async def use(client: Any) -> None:
        listed = await client.list_tools()
        text = listed.model_dump_json(by_alias=True, exclude_none=True)
        assert len(text) / CHARACTERS_OF_A_TOKEN <= MOST_TOKENS_OF_DEFINITIONS
        hints = {tool.name: tool.annotations.read_only_hint for tool in listed.tools}
        assert [name for name, is_read_only in hints.items() if not is_read_only] == ["record"]

    with_client(session_of(asked_path, allows_recording=True), use)


def test_an_answer_is_one_text_and_a_wrong_question_an_error(session: AgentSession) -> None:
    async def use(client: Any) -> None:
        found = await client.call_tool("check", {})
        assert [part.type for part in found.content] == ["text"]
        assert found.structured_content is None
        assert not found.is_error
        lacking = await client.call_tool("report", {"name": "osrt_sum"})
        assert lacking.content[0].text.startswith("status: not_recorded\n")
        assert not lacking.is_error
        for name, given in (("chek", {}), ("check", {"rang": "1s"}), ("info", {"capture": "/etc/passwd"})):
            wrong = await client.call_tool(name, given)
            assert wrong.is_error
            assert len(wrong.content) == 1

    with_client(session, use)


def test_pictures_reports_guide_and_prompts_are_served(
    session: AgentSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from warpline.agents import catalogue

    drawn = Tool(name="render", description="", run=lambda _call, _given: ToolPicture(b"\x89PNG"))
    monkeypatch.setattr(catalogue, "tools_of", lambda _session: {"render": drawn})

    async def use(client: Any) -> None:
        picture = await client.call_tool("render", {})
        assert (picture.content[0].type, picture.content[0].mime_type) == ("image", "image/png")
        assert (await client.read_resource("warpline://guide")).contents[0].text == guide()
        assert "cuda_gpu_kern_sum" in (await client.read_resource("warpline://reports")).contents[0].text
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert prompts == ["why_slow", "compare"]
        asked = await client.get_prompt("why_slow", {"capture": "run.h5"})
        assert "run.h5" in asked.messages[0].content.text

    with_client(session, use)


def test_a_call_that_takes_too_long_is_given_up(
    session: AgentSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from warpline.agents import catalogue, server

    def wait(call: Any, _given: object) -> str:
        assert call.cancelled.wait(60)
        return "late"

    tools = {"wait": Tool(name="wait", description="", run=wait)}
    monkeypatch.setattr(catalogue, "tools_of", lambda _session: tools)
    monkeypatch.setattr(server, "SECONDS", 0.05)

    async def use(client: Any) -> None:
        result = await client.call_tool("wait", {})
        assert result.is_error
        assert "took longer than" in result.content[0].text

    with_client(session, use)


def test_the_program_answers_over_its_standard_streams(asked_path: Path) -> None:
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command, *arguments = own_python("warpline")
    parameters = StdioServerParameters(command=command, args=[*arguments, "mcp", str(asked_path)])

    async def run() -> None:
        async with mcp.Client(stdio_client(parameters)) as client:
            result = await client.call_tool("info", {})
            assert "71 events in 2.000 s" in result.content[0].text

    asyncio.run(asyncio.wait_for(run(), 60))


def test_the_guide_names_only_tools_that_are_there(asked_path: Path) -> None:
    import re

    from warpline.agents import catalogue
    from warpline.agents.tools import pictures, questions

    known = {tool.name for module in (*catalogue._READING, pictures, questions) for tool in module.TOOLS}
    named = set(re.findall(r"`(\w+)`", guide())) - {"id", "name", "ts", "dur", "range", "not_recorded"}
    assert named <= known, named - known
    assert known - named == set()


def test_without_the_package_one_line_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import importlib.util

    from warpline.cli import main

    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "mcp" else real(name, *rest)
    )
    assert main(["mcp"]) == 1
    said = capsys.readouterr().err
    assert "the server needs the package mcp; install it with: " in said
    assert "[mcp]" in said
    assert said.count("\n") == 1


def test_the_command_prints_the_guide_and_refuses_what_is_not_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from warpline.cli import main

    assert main(["mcp", "--guide"]) == 0
    assert capsys.readouterr().out == guide()
    assert main(["mcp", str(tmp_path / "none.h5")]) == 2
    assert main(["mcp", "--root", str(tmp_path / "none")]) == 2


def test_only_the_program_loads_the_sdk() -> None:
    import subprocess

    program = "import json, sys, warpline.agents.catalogue; print(json.dumps([m for m in sys.modules if 'mcp' in m]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
