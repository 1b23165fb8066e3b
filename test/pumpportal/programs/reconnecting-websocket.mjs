import ReconnectingWebSocket from 'reconnecting-websocket';
import WebSocket from 'ws';
import { first, followed, Seen, url } from './stream.mjs';

const seen = new Seen();
let opened = 0;
const ws = new ReconnectingWebSocket(url, [], { WebSocket, maxReconnectionDelay: 500, minReconnectionDelay: 100 });
const send = (payloads) => payloads.forEach((payload) => ws.send(JSON.stringify(payload)));
ws.addEventListener('open', () => {
  // The first connection ends at once, as after a fault of the network.
  if (++opened === 1) ws.reconnect();
  else send(first);
});
ws.addEventListener('message', ({ data }) => seen.take(data, (mint, trader) => send(followed(mint, trader))));
