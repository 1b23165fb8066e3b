import asyncio
import json

import websockets
from seen import FIRST, URL, Seen


async def subscribe():
    seen = Seen()
    async with websockets.connect(URL) as websocket:
        for payload in FIRST:
            await websocket.send(json.dumps(payload))
        async for message in websocket:
            for payload in seen.take(message):
                await websocket.send(json.dumps(payload))


asyncio.run(subscribe())
raise SystemExit("the connection was closed")
