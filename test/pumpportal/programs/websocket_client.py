import json

import websocket
from seen import FIRST, URL, Seen, fail

seen = Seen()


def on_open(ws):
    for payload in FIRST:
        ws.send(json.dumps(payload))


def on_message(ws, message):
    for payload in seen.take(message):
        ws.send(json.dumps(payload))


app = websocket.WebSocketApp(URL, on_open=on_open, on_message=on_message, on_error=lambda ws, error: fail(error))
app.run_forever(ping_interval=20)
raise SystemExit("the connection was closed")
