import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventSchemas } from '@sluice/shared/wire/events/events.ts';
import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { pumpIdl } from '../golden/anchor.ts';
import { startProduct, type StartedProduct } from '../support/product/started-product.ts';
import { until } from '../support/until.ts';

const pump = '6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P';
const pumpText = JSON.stringify(pumpIdl);
type Data = Readonly<Record<string, unknown>>;
interface Frame {
  readonly topic: string;
  readonly seq: number;
  readonly prev?: number;
  readonly op?: string;
  readonly data: Data & { readonly type: string; readonly id: string; readonly name: string };
}

let folder: string;
let file: string;
let product: StartedProduct;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-programs-'));
  file = join(folder, 'idl', `${pump}.json`);
  mkdirSync(join(folder, 'idl'));
  writeFileSync(file, pumpText);
  product = await startProduct(folder, 2, { IDL_DIR: join(folder, 'idl') });
}, 90_000);
afterAll(() => {
  product.child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** Frames of one subscription, as they arrive. */
async function follow(command: object): Promise<{ readonly frames: Frame[]; readonly replies: Frame[]; close(): void }> {
  const socket = new WebSocket(`${product.url.replace('http', 'ws')}/api/data?api-key=${product.apiKey}`);
  const [frames, replies]: [Frame[], Frame[]] = [[], []];
  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString('utf8')) as Frame;
    if (message.op === undefined) frames.push(message);
    else if (message.op !== 'heartbeat') replies.push(message);
  });
  await new Promise((resolve) => socket.once('open', resolve));
  socket.send(JSON.stringify({ id: 1, op: 'subscribe', ...command }));
  await until('the reply', () => replies[0] !== undefined);
  return { frames, replies, close: () => socket.terminate() };
}

const programs = { channel: 'programs', programs: [pump] };

it('has every event, instruction and account of a program once, in consecutive order, with what the venue decodes of the same', async () => {
  const all = await follow(programs);
  const trades = await follow({ channel: 'trades', filter: { pool: 'pump' }, commitment: 'confirmed' });
  const first = await until('an event', () => all.frames.find(({ data }) => data.type === 'programEvent'), 60_000);
  const later = (): Frame[] => trades.frames.filter(({ data }) => Number(data['slot']) > Number(first.data['slot']) + 10);
  await until('some trades', () => later().length >= 40, 60_000);
  const asked = later();
  await until(
    'the events of these trades',
    () => asked.every(({ data }) => all.frames.some((frame) => frame.data.id === `${data.id}.event`)),
    60_000,
  );
  expect(all.replies.map(({ op }) => op)).toEqual(['subscribed']);
  expect(all.frames.map(({ seq }) => seq)).toEqual(all.frames.map((_, at) => all.frames[0]!.seq + at));
  expect(new Set(all.frames.map(({ data }) => data.id)).size).toBe(all.frames.length);
  for (const { data } of asked) {
    const event = all.frames.find((frame) => frame.data.id === `${data.id}.event`)!.data;
    expect(event).toMatchObject({
      type: 'programEvent',
      name: 'TradeEvent',
      program: pump,
      signature: data['signature'],
      slot: data['slot'],
      commitment: 'confirmed',
    });
    const fields = event['data'] as Data;
    expect([fields['mint'], fields['is_buy'], fields['token_amount'], fields['user']]).toEqual([
      data['mint'],
      data['side'] === 'buy',
      data['baseAmount'],
      data['trader'],
    ]);
  }
  const kinds = new Map(all.frames.map(({ data }) => [data.type, data]));
  expect([...kinds.keys()].toSorted()).toEqual(['programAccount', 'programEvent', 'programInstruction']);
  for (const [type, data] of kinds) expect([...Value.Errors(eventSchemas[type as 'programEvent'] as TSchema, data)], type).toEqual([]);
  all.close();
  trades.close();
}, 120_000);

it('filters by kind, name, fields and account, and resumes where a client was', async () => {
  const buys = await follow({ ...programs, filter: { kind: 'event', name: 'TradeEvent', fields: { is_buy: true } } });
  await until('some buys', () => buys.frames.length >= 10, 60_000);
  for (const { data } of buys.frames) expect([data.name, (data['data'] as Data)['is_buy']]).toEqual(['TradeEvent', true]);
  expect(buys.frames.slice(1).map(({ prev }) => prev)).toEqual(buys.frames.slice(0, -1).map(({ seq }) => seq));
  const user = String((buys.frames[0]!.data['data'] as Data)['user']);
  const mine = await follow({ ...programs, filter: { account: user }, last: 1_000 });
  await until('its records', () => mine.frames.some(({ data }) => data.type === 'programInstruction'), 30_000);
  for (const { data } of mine.frames) expect(JSON.stringify(data)).toContain(user);
  const { topic, seq } = buys.frames[0]!;
  const { epoch } = (buys.replies[0] as unknown as { positions: Record<string, { epoch: string }> }).positions[topic]!;
  const again = await follow({ ...programs, since: { epoch, seq } });
  await until('the frames since', () => again.frames.length > 20, 30_000);
  expect(again.frames.slice(0, 20).map((frame) => frame.seq)).toEqual(Array.from({ length: 20 }, (_, at) => seq + 1 + at));
  for (const one of [buys, mine, again]) one.close();
}, 120_000);

it('uses a changed IDL without a restart, and the one before if the new one is broken', async () => {
  const names = async (): Promise<Set<string>> => {
    const now = await follow(programs);
    await until('records', () => now.frames.length >= 60, 60_000);
    now.close();
    return new Set(now.frames.slice(30).map(({ data }) => data.name));
  };
  writeFileSync(file, '{"broken":');
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(await names()).toContain('TradeEvent');
  writeFileSync(file, pumpText.replaceAll('TradeEvent', 'RenamedEvent'));
  await until('the new names', async () => (await names()).has('RenamedEvent'), 60_000);
  expect(await names()).not.toContain('TradeEvent');
}, 180_000);
