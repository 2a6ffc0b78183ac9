# SPDX-License-Identifier: Apache-2.0
"""`kvboost mcp` as assistants use it: with the protocol's own client, in both its ways to begin; then, line by line, with
what that client never sends."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess

import jsonschema
import pytest
from mcp import Client, MCPError, StdioServerParameters

from machine import DONE

TOOLS = ["locate", "ask", "search_chunks"]
MODES = {"auto": "2026-07-28", "legacy": "2025-11-25"}
OLDER = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]

FILES = {
    "shop/basket.py": "def count_items(basket):\n    '''How many items lie in the basket.'''\n    return len(basket)\n",
    "shop/prices.py": "def total_price(basket):\n    return sum(item.price for item in basket)\n",
    "README.md": "# A shop\n\nIt has baskets.\n",
}


def parameters(machine, root, *directories):
    return StdioServerParameters(command=str(machine.programs / "kvboost"), args=["mcp", *map(str, directories)],
                                 env=machine.env, cwd=root)


def with_client(machine, root, scenario, *directories, mode="auto"):
    """What `scenario(client)` returns."""
    async def run():
        async with Client(parameters(machine, root, *directories), mode=mode) as client:
            return await scenario(client)
    return asyncio.run(asyncio.wait_for(run(), 240))


async def call(client, tool, **arguments):
    """The structured result, which the text repeats."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def error(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert result.is_error and result.structured_content is None, result
    return result.content[0].text


@pytest.mark.parametrize("mode", MODES)
def test_the_tools_are_described(machine, mode):
    root = machine.repository(FILES)

    async def scenario(client):
        assert client.protocol_version == MODES[mode]
        assert client.server_info.name == "kvboost" and client.instructions
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == TOOLS
        for tool in tools:
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)
            assert tool.title and tool.description
            assert tool.annotations.read_only_hint and not tool.annotations.open_world_hint
    with_client(machine, root, scenario, mode=mode)
    assert machine.daemons() == []  # nothing was asked of it


@pytest.mark.parametrize("mode", MODES)
def test_each_tool_does_its_work(tiny, mode):
    root = tiny.repository(FILES)

    async def scenario(client):
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        found = await call(client, "search_chunks", query="countItems", top=1)
        located = await call(client, "locate", report="the count of items in a basket is wrong", paths=["shop"], top=2)
        words = await call(client, "locate", report="total price", model=False)
        answer = await call(client, "ask", question="What is a basket?", paths=["shop/basket.py"], max_tokens=4)
        for name, result in zip(["search_chunks", "locate", "locate", "ask"], [found, located, words, answer]):
            jsonschema.validate(result, schemas[name])
            assert result["root"] == str(root)
        assert found["chunks"] == [{"path": "shop/basket.py", "first_line": 1, "last_line": 3,
                                    "text": FILES["shop/basket.py"], "score": found["chunks"][0]["score"]}]
        assert [file["path"] for file in located["files"]] == ["shop/basket.py", "shop/prices.py"]
        assert located["files"][0]["functions"][0]["name"] == "count_items" and located["model"]
        assert words["files"][0]["path"] == "shop/prices.py" and words["model"] == ""
        assert [file["path"] for file in answer["files"]] == ["shop/basket.py"] and answer["finish_reason"]
    with_client(tiny, root, scenario, mode=mode)


def test_calls_side_by_side_and_a_daemon_that_was_killed(tiny):
    root = tiny.repository(FILES)

    async def scenario(client):
        queries = ["basket", "price", "shop"] * 4
        for found in await asyncio.gather(*(call(client, "search_chunks", query=query) for query in queries)):
            assert found["chunks"]
        os.kill(tiny.only_daemon(), signal.SIGKILL)
        assert (await call(client, "search_chunks", query="basket"))["chunks"]
    with_client(tiny, root, scenario)


@pytest.mark.parametrize("mode", MODES)
def test_progress_is_told(tiny, mode):
    root = tiny.repository(FILES)
    told = []

    async def on_progress(progress, total, message):
        told.append((progress, message))

    async def scenario(client):
        result = await client.call_tool("ask", {"question": "What is a basket?", "max_tokens": 3},
                                        progress_callback=on_progress)
        assert not result.is_error, result
    with_client(tiny, root, scenario, mode=mode)
    assert "answering, 1 token" in [message for _, message in told]
    numbers = [number for number, _ in told]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("mode", MODES)
def test_a_cancelled_call_is_cancelled_in_the_daemon(real, mode):
    root = real.repository(FILES)

    async def scenario(client):
        answering = asyncio.Event()

        async def on_progress(progress, total, message):
            if message.startswith("answering"):
                answering.set()
        running = asyncio.create_task(client.call_tool(
            "ask", {"question": "Tell all that there is to know about shops.", "max_tokens": 4000},
            progress_callback=on_progress))
        await answering.wait()
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        real.wait_for("a cancelled request", lambda: real.status()["cancelled"] == 1)
        assert (await call(client, "search_chunks", query="basket"))["chunks"]  # the server goes on
    with_client(real, root, scenario, mode=mode)


def test_mistakes_are_told_to_the_model(tiny):
    root = tiny.repository(FILES)
    other = tiny.repository({"other.py": "def other():\n    pass\n"}, name="other")

    async def scenario(client):
        assert "'reports'" in await error(client, "locate", reports="x")
        assert "'report'" in await error(client, "locate")
        assert "'top': expected" in await error(client, "search_chunks", query="x", top=0)
        assert "'query': expected" in await error(client, "search_chunks", query=7)
        assert "nowhere" in await error(client, "search_chunks", query="x", paths=["nowhere"])
        assert "outside" in await error(client, "search_chunks", query="x", paths=["/etc/passwd"])
        for outside in (str(other), "..", "/", str(root) + "x"):
            assert "kvboost mcp DIRECTORY" in await error(client, "search_chunks", query="x", directory=outside)
        found = await call(client, "search_chunks", query="basket", directory="shop")
        assert found["root"] == str(root)
        with pytest.raises(MCPError, match="no tool nonsense"):
            await client.call_tool("nonsense", {})
    with_client(tiny, root, scenario)

    async def both(client):
        assert (await call(client, "search_chunks", query="other"))["root"] == str(other)
        assert (await call(client, "search_chunks", query="basket", directory=str(root)))["root"] == str(root)
    with_client(tiny, root, both, other, root)


def test_a_daemon_that_cannot_start(machine):
    root = machine.repository(FILES)
    runtime = machine.home / "no folder"
    runtime.write_text("a file")
    machine.env["XDG_RUNTIME_DIR"] = str(runtime)

    async def scenario(client):
        assert len((await client.list_tools()).tools) == 3
        assert str(runtime) in await error(client, "search_chunks", query="basket")
    with_client(machine, root, scenario)
    machine.env["XDG_RUNTIME_DIR"] = str(machine.runtime)


def test_without_a_model_the_words_are_there(machine):
    root = machine.repository(FILES)

    async def scenario(client):
        assert (await call(client, "search_chunks", query="basket"))["chunks"]
        assert "model" in await error(client, "ask", question="What is a basket?")
    with_client(machine, root, scenario)


# ---- line by line -------------------------------------------------------------------------------------------------


class Lines:
    def __init__(self, machine, root, *directories):
        self.process = machine.start("mcp", *directories, cwd=root, stdin=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def receive(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, method, params=None, identity=1):
        self.send(json.dumps({"jsonrpc": "2.0", "id": identity, "method": method, "params": params or {}}))
        return self.receive()

    def ends(self, patience=60):
        assert self.process.wait(patience) == DONE
        return True


@pytest.fixture
def lines(tiny):
    with Lines(tiny, tiny.repository(FILES)) as lines:
        yield lines


def test_versions(lines):
    for version in OLDER:
        assert lines.ask("initialize", {"protocolVersion": version})["result"]["protocolVersion"] == version
    for version in ("2026-07-28", "1999-01-01", 7, None):
        assert lines.ask("initialize", {"protocolVersion": version})["result"]["protocolVersion"] == "2025-11-25"
    assert lines.ask("ping") == {"jsonrpc": "2.0", "id": 1, "result": {}}
    named = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    listed = lines.ask("tools/list", named)["result"]
    assert listed["resultType"] == "complete" and listed["ttlMs"] > 0 and listed["cacheScope"] == "public"
    named["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099-01-01"
    refused = lines.ask("tools/list", named)["error"]
    assert refused["code"] == -32022
    assert refused["data"] == {"supported": [*OLDER, "2026-07-28"], "requested": "2099-01-01"}


def test_what_is_no_message_is_refused_and_the_next_one_answered(lines):
    for line, code in {"{": -32700, "[]": -32600, '"x"': -32600, '{"id":1}': -32600, "\0": -32700,
                       '{"jsonrpc":"2.0","id":1,"method":"nonsense"}': -32601,
                       '{"jsonrpc":"2.0","id":1,"method":"tools/call"}': -32602,
                       '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}': -32602,
                       "[" * 100_000: -32600}.items():
        lines.send(line)
        assert lines.receive()["error"]["code"] == code, line[:80]
    lines.send("")
    lines.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    lines.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}')
    lines.send('{"jsonrpc":"2.0","method":"notifications/cancelled"}')
    lines.send('{"jsonrpc":"2.0","id":5,"result":{}}')
    wrong = lines.ask("tools/call", {"name": "ask", "arguments": [1]})["result"]
    assert wrong["isError"] and "expected an object" in wrong["content"][0]["text"]
    assert lines.ask("ping")["result"] == {}


def test_lines_of_many_megabytes(lines):
    lines.send('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + "y" * 20_000_000 + '"}}')
    refused = lines.receive()
    assert refused["id"] is None and "longer than" in refused["error"]["message"]
    found = lines.ask("tools/call", {"name": "search_chunks", "arguments": {"query": "basket " * 500_000}})
    assert found["result"]["structuredContent"]["chunks"]


@pytest.mark.parametrize("how", ["end of input", "SIGTERM", "reader gone"])
def test_it_ends_with_its_client(lines, how):
    assert lines.ask("tools/call", {"name": "search_chunks", "arguments": {"query": "basket"}})["result"]
    if how == "end of input":
        lines.process.stdin.close()
    elif how == "SIGTERM":
        lines.process.send_signal(signal.SIGTERM)
    else:
        lines.process.stdout.close()
        lines.send('{"jsonrpc":"2.0","id":1,"method":"ping"}')
    assert lines.ends()


def test_a_running_call_does_not_hold_up_the_end(real):
    with Lines(real, real.repository(FILES)) as lines:
        lines.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "ask", "arguments": {"question": "Tell all about shops.", "max_tokens": 4000},
            "_meta": {"progressToken": "t"}}}))
        while not lines.receive()["params"]["message"].startswith("answering"):
            pass
        lines.process.stdin.close()
        assert lines.ends()
        real.wait_for("a cancelled request", lambda: real.status()["cancelled"] == 1)


def test_directories_that_are_not_there(machine):
    finished = machine.kvboost("mcp", "nowhere")
    assert finished.code == 2 and "nowhere is no directory" in finished.err, finished
