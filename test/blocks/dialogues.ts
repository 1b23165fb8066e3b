import { WebSocket, type RawData } from 'ws';
import type { Block } from './find.ts';
import { differences, shownJson } from './shape.ts';
import { pause } from './shell.ts';

export interface Place {
  readonly url: string;
  readonly apiKey: string;
  readonly wallet: string;
  /** Two tokens that are traded. */
  readonly mints: readonly [string, string];
}

const replyMs = 30_000;

interface Turn {
  readonly sent: boolean;
  readonly text: string;
}

/** Lines that begin with an arrow; a line without one continues the one before. */
function turnsOf(text: string): readonly Turn[] {
  return text
    .split(/^(?=[→←])/m)
    .filter((part) => /^[→←]/.test(part))
    .map((part) => ({ sent: part.startsWith('→'), text: part.slice(1).replaceAll(/\n\s*/g, '').trim() }));
}

/** The stream of a document: what it sends is sent, and what it shows is expected, on one connection for all blocks. */
export class StreamDialogue {
  readonly #place: Place;
  readonly #socket: WebSocket;
  readonly #messages: Record<string, unknown>[] = [];
  #epoch = '';

  constructor(place: Place) {
    this.#place = place;
    this.#socket = new WebSocket(`${place.url.replace('http', 'ws')}/api/data`, { headers: { authorization: `Bearer ${place.apiKey}` } });
    this.#socket.on('message', (data: RawData) => {
      const message = JSON.parse((data as Buffer).toString()) as Record<string, unknown>;
      if (message['op'] === 'heartbeat') return;
      this.#messages.push(message);
      const [position] = Object.values((message['positions'] ?? {}) as Record<string, { readonly epoch: string }>);
      this.#epoch = position?.epoch ?? this.#epoch;
    });
  }

  async run({ text }: Block): Promise<readonly string[]> {
    if (this.#socket.readyState === WebSocket.CONNECTING) await new Promise((resolve) => this.#socket.once('open', resolve));
    const faults: string[] = [];
    const turns = turnsOf(text);
    for (const [index, turn] of turns.entries()) {
      const shown = shownJson(this.#filled(turn.text));
      if (!turn.sent) {
        faults.push(...(await this.#expect(shown)));
        continue;
      }
      this.#socket.send(JSON.stringify(shown.value));
      if (turns[index + 1]?.sent === false) continue;
      const { id } = shown.value as { readonly id: unknown };
      const reply = await this.#find((message) => message['id'] === id);
      if (reply === null || reply['op'] === 'error') faults.push(`${turn.text} is answered with ${JSON.stringify(reply)}`);
    }
    return faults;
  }

  close(): void {
    this.#socket.close();
  }

  /** The document with real tokens, wallet and epoch. */
  #filled(text: string): string {
    const [first, second] = this.#place.mints;
    const names = { '6p6x…': first, '7q7y…': second, '9Wz…': this.#place.wallet, k3v9: this.#epoch };
    return Object.entries(names).reduce((filled, [name, value]) => filled.replaceAll(name, value), text);
  }

  /** A reply with the same `id`, or a frame or notice of the same topic; with `prev` if the document shows one. */
  async #expect(shown: ReturnType<typeof shownJson>): Promise<readonly string[]> {
    const like = shown.value as Readonly<Record<string, unknown>>;
    const found = await this.#find((message) =>
      like['id'] !== undefined
        ? message['id'] === like['id']
        : message['topic'] === like['topic'] && message['op'] === like['op'] && 'prev' in message === 'prev' in like,
    );
    return found === null ? [`nothing like ${JSON.stringify(shown.value)} arrived`] : differences(shown, found);
  }

  async #find(matches: (message: Record<string, unknown>) => boolean): Promise<Record<string, unknown> | null> {
    for (const endMs = Date.now() + replyMs; Date.now() < endMs; await pause(50)) {
      const found = this.#messages.find(matches);
      if (found !== undefined) return found;
    }
    return null;
  }
}

/** `POST /path`, what is sent, and what is answered: JSON, or words with the type of the content in parentheses. */
export async function runHttp({ text }: Block, { url, apiKey, wallet, mints: [mint] }: Place): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const [, method = '', path = '', dialogue = ''] of text.matchAll(/^([A-Z]+) (\S+)\n((?:(?![A-Z]+ \/)[^\n]*\n)*)/gm)) {
    const [sent, shown] = turnsOf(dialogue);
    if (sent === undefined || shown === undefined) return ['a request needs a line → and a line ←'];
    const body = sent.text.replace(/(mint(?:":"|=))…/, `$1${mint}`).replace(/(publicKey(?:":"|=))…/, `$1${wallet}`);
    const contentType = body.startsWith('{') ? 'application/json' : 'application/x-www-form-urlencoded';
    const ask = (): Promise<Response> =>
      fetch(url + path.replace('KEY', apiKey), { method, headers: { 'Content-Type': contentType }, body });
    let answer = await ask();
    // A sale needs the tokens of the purchase before it.
    for (const endMs = Date.now() + replyMs; !answer.ok && Date.now() < endMs; answer = await ask()) {
      faults.splice(0, faults.length, `${path}: ${await answer.text()}`);
      await pause(1_000);
    }
    if (!answer.ok) continue;
    faults.length = 0;
    if (shown.text.startsWith('{')) faults.push(...differences(shownJson(shown.text.replaceAll('…"', '"')), await answer.json()));
    else if (!shown.text.includes(`(${answer.headers.get('content-type')})`)) faults.push(`${path}: ${answer.headers.get('content-type')}`);
  }
  return faults;
}

/** `GET <address>`, and what the frames are: text or binary, one message or an array. */
export async function runHandshakes({ text }: Block, { url, apiKey }: Place): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const [, path = '', meaning = ''] of text.matchAll(/^GET (\S+) +(.*)$/gm)) {
    const address = path.includes('api-key=') ? path.replace(/api-key=[^&]*/, `api-key=${apiKey}`) : `${path}&api-key=${apiKey}`;
    const socket = new WebSocket(url.replace('http', 'ws') + address);
    const first = new Promise<{ readonly data: RawData; readonly isBinary: boolean }>((resolve, reject) => {
      socket.once('message', (data: RawData, isBinary) => resolve({ data, isBinary }));
      socket.once('error', reject);
    });
    socket.once('open', () => socket.send('{"id":1,"op":"ping"}'));
    const { data, isBinary } = await first;
    socket.close();
    const isArray = !isBinary && Array.isArray(JSON.parse((data as Buffer).toString()));
    if (isBinary !== meaning.includes('binary') || isArray !== meaning.includes('array')) faults.push(`${path}: not ${meaning}`);
  }
  return faults;
}
