import WebSocket from 'ws';
import { first, followed, Seen, url } from './stream.mjs';

const seen = new Seen();
const ws = new WebSocket(url);
const send = (payloads) => payloads.forEach((payload) => ws.send(JSON.stringify(payload)));
ws.on('open', () => send(first));
ws.on('message', (data) => seen.take(data.toString(), (mint, trader) => send(followed(mint, trader))));
ws.on('close', (code) => process.exit(code === 1000 ? 1 : 2));
