import websocket from 'websocket';
import { first, followed, Seen, url } from './stream.mjs';

const seen = new Seen();
const ws = new websocket.w3cwebsocket(url);
const send = (payloads) => payloads.forEach((payload) => ws.send(JSON.stringify(payload)));
ws.onopen = () => send(first);
ws.onmessage = ({ data }) => seen.take(data, (mint, trader) => send(followed(mint, trader)));
ws.onclose = () => process.exit(2);
