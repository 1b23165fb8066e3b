import asyncio

import aiohttp
from seen import FIRST, URL, Seen


async def subscribe():
    seen = Seen()
    async with aiohttp.ClientSession() as session, session.ws_connect(URL, heartbeat=20) as ws:
        for payload in FIRST:
            await ws.send_json(payload)
        async for message in ws:
            for payload in seen.take(message.data):
                await ws.send_json(payload)


asyncio.run(subscribe())
raise SystemExit("the connection was closed")
