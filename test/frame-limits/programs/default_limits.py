"""Sends the commands of a file, one after another, with the default limits of websockets. Prints how many frames and bytes arrived."""

import asyncio
import json
import sys
from typing import Any

from websockets.asyncio.client import connect


async def main(url: str, file: str, expected: int) -> None:
    with open(file, encoding="utf-8") as commands:
        waiting: list[dict[str, Any]] = json.load(commands)
    frames = 0
    longest = 0
    async with asyncio.timeout(120), connect(url) as socket:
        await socket.send(json.dumps(waiting[0]))
        while waiting or frames < expected:
            text = await socket.recv()
            longest = max(longest, len(text))
            read = json.loads(text)
            for message in read if isinstance(read, list) else [read]:
                if message.get("op") == "error":
                    raise SystemExit(text)
                if "data" in message:
                    frames += 1
                if waiting and message.get("id") == waiting[0]["id"]:
                    waiting.pop(0)
                    if waiting:
                        await socket.send(json.dumps(waiting[0]))
    print(json.dumps({"frames": frames, "longest": longest}))


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
