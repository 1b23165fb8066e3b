import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Sluice } from '@sluice/client';
import { TriggerObject } from '@sluice/shared/wire/rest/trading/triggers.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import { makeKey } from '../support/keys.ts';
import { sluice } from '../support/command-line.ts';
import { addressOf } from '../support/events/stream-events.ts';
import { launchCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type Answered, type Asked, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';
import { until } from '../support/gateway.ts';

/** The endpoints of triggers over HTTP: what they accept, who may call them, and what is reported. */
const timeoutMs = 90_000;
const path = '/api/trade/triggers';
const isTrigger = validator(TriggerObject);

type Json = Readonly<Record<string, unknown>>;

let world: TradingWorld;
let gateway: TradingGateway;
let publicKey: string;
let mint: string;

beforeAll(async () => {
  world = await startTradingWorld({ ingest: true });
  publicKey = await world.wallet();
  ({ mint } = launchCoin(world.chain));
  gateway = await (await world.gateway()).ready(publicKey, mint);
}, timeoutMs);
afterAll(() => world.close());

const stop = (more: Json = {}): Json => ({
  publicKey,
  mint,
  side: 'sell',
  amount: '100%',
  when: { metric: 'priceSol', op: '<=', value: 1e-18 },
  ...more,
});
const arm = (body: Json, asked: Asked = {}): Promise<Answered> => gateway.ask(path, body, asked);
async function armed(body: Json = stop(), asked: Asked = {}): Promise<Answered['body']> {
  const { status, body: answer } = await arm(body, asked);
  expect(status, JSON.stringify(answer)).toBe(200);
  expect(isTrigger(answer)).toEqual({ ok: true, value: answer });
  return answer;
}
async function remove(where: string, { key = world.operatorKey } = {}): Promise<Omit<Answered, 'headers'>> {
  const answer = await fetch(`http://${gateway.host}${path}${where}`, { method: 'DELETE', headers: { authorization: `Bearer ${key}` } });
  return { status: answer.status, body: (await answer.json()) as Answered['body'] };
}
const codeOf = ({ body }: Pick<Answered, 'body'>): unknown => (body['error'] as { readonly code: string } | undefined)?.code;
const idsOf = ({ body }: Pick<Answered, 'body'>): readonly unknown[] =>
  (body['triggers'] as readonly { readonly triggerId: string }[]).map(({ triggerId }) => triggerId);

describe('a trigger', () => {
  it('is armed with its children, read, listed, and cancelled with them', async () => {
    const exit = { side: 'sell', amount: '50%', when: { trailing: { metric: 'priceSol', percent: 20 } }, ocoGroup: 'exits' };
    const entry = stop({ side: 'buy', amount: 0.5, priorityFee: 0.001, retries: 1, then: [exit, { ...exit, amount: '100%' }] });
    const startMs = Date.now();
    const parent = await armed(entry);
    expect(parent).toMatchObject({
      status: 'armed',
      orderId: null,
      error: null,
      publicKey,
      mint,
      side: 'buy',
      amount: 0.5,
      when: { metric: 'priceSol', op: '<=', value: 1e-18 },
      maxCostSol: 0.502,
      paper: false,
      parentId: null,
    });
    expect(parent['createdAt']).toBeGreaterThanOrEqual(startMs - 1_000);
    expect(Number(parent['expiresAt']) - 30 * 86_400_000).toBeGreaterThanOrEqual(startMs - 1_000);
    const id = String(parent['triggerId']);
    const children = parent['children'] as readonly string[];
    expect(children).toHaveLength(2);
    for (const prefix of ['/trade/triggers', path]) expect((await gateway.get(`${prefix}/${id}`)).body).toMatchObject({ triggerId: id });
    for (const child of children) expect((await gateway.get(`${path}/${child}`)).body).toMatchObject({ status: 'waiting', parentId: id });
    expect([...idsOf(await gateway.get(`${path}?status=waiting&mint=${mint}`))].map(String).toSorted()).toEqual([...children].toSorted());
    const cancelled = await remove(`/${id}`);
    expect(cancelled).toMatchObject({ status: 200, body: { triggerId: id, status: 'cancelled', maxCostSol: 0 } });
    for (const child of children) expect((await gateway.get(`${path}/${child}`)).body).toMatchObject({ status: 'cancelled' });
    // What has ended stays as it is.
    expect(await remove(`/${id}`)).toMatchObject({ status: 200, body: { status: 'cancelled', version: cancelled.body['version'] } });
  });

  it('is armed once for an Idempotency-Key, also after its time', async () => {
    const asked = { idempotencyKey: 'arm once' };
    const body = stop({ when: { at: Date.now() + 86_400_000 } });
    const first = await arm(body, { idempotencyKey: 'arm-once' });
    const again = await arm(body, { idempotencyKey: 'arm-once' });
    expect(again.body['triggerId']).toBe(first.body['triggerId']);
    expect([first, again].map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true']);
    expect(await arm(stop(), { idempotencyKey: 'arm-once' })).toMatchObject({ status: 422 });
    expect(await arm(body, asked)).toMatchObject({
      status: 400,
      body: { error: { details: { fields: { 'Idempotency-Key': expect.any(String) } } } },
    });
    await remove(`/${String(first.body['triggerId'])}`);
  });

  it('names what is wrong with its request, and arms nothing', async () => {
    const before = idsOf(await gateway.get(path));
    const fields = async (body: Json): Promise<readonly string[]> => {
      const answer = await gateway.post(path, body);
      expect([answer.status, codeOf(answer)], JSON.stringify(answer.body)).toEqual([400, 'INVALID_REQUEST']);
      return Object.keys((answer.body['error'] as { readonly details: { readonly fields: Json } }).details.fields);
    };
    expect(await fields(stop({ when: { metric: 'volume', op: '<=', value: 1 } }))).toEqual(['when.metric']);
    expect(await fields(stop({ side: 'buy', amount: 1, then: [{ side: 'sell', when: { event: 'migration' } }] }))).toEqual([
      'then.0.amount',
    ]);
    expect(await fields(stop({ colour: 'red' }))).toEqual(['colour']);
    expect(codeOf(await gateway.post(path, stop({ mint: 'PEPE' })))).toBe('INVALID_MINT');
    expect(await gateway.get(`${path}?status=ready`)).toMatchObject({ status: 400 });
    expect(await remove('?mints=1')).toMatchObject({ status: 400 });
    expect(idsOf(await gateway.get(path))).toEqual(before);
  });

  it('is listed in pages, newest first, by state, token and wallet', async () => {
    const other = launchCoin(world.chain).mint;
    const ids: unknown[] = [];
    for (let count = 0; count < 5; count++) ids.unshift((await armed(stop({ mint: other })))['triggerId']);
    const first = await gateway.get(`${path}?mint=${other}&limit=2`);
    const second = await gateway.get(`${path}?mint=${other}&limit=3&before=${String(first.body['next'])}`);
    expect([...idsOf(first), ...idsOf(second)]).toEqual(ids);
    expect([first.body['next'], second.body['next']]).toEqual([ids[1], null]);
    expect(idsOf(await gateway.get(`${path}?mint=${other}&publicKey=${addressOf(5)}`))).toEqual([]);
    expect(await remove(`?mint=${other}&publicKey=${addressOf(5)}`)).toMatchObject({ body: { cancelled: 0, firing: 0 } });
    expect(await remove(`?mint=${other}&publicKey=${publicKey}`)).toMatchObject({ status: 200, body: { cancelled: 5, firing: 0 } });
    expect(idsOf(await gateway.get(`${path}?mint=${other}&status=armed`))).toEqual([]);
  });

  it('reports each change to the connections of its key alone', async () => {
    const other = await world.key(['stream', 'trade']);
    const clients = [world.operatorKey, other].map((apiKey) => new Sluice({ url: `http://${gateway.host}`, apiKey }));
    const seen = clients.map((): Json[] => []);
    const live = new Set<number>();
    for (const [at, client] of clients.entries()) {
      client.subscribe('orders', {
        onEvent: (event) => void seen[at]!.push(event as unknown as Json),
        onStatus: ({ state }) => void (state === 'live' && live.add(at)),
      });
    }
    try {
      await until('both follow', () => live.size === 2);
      const { triggerId } = await armed(stop({ ocoGroup: 'reported' }));
      await remove(`/${String(triggerId)}`);
      await until('both events', () => seen[0]!.filter((event) => event['triggerId'] === triggerId).length === 2);
      const events = seen[0]!.filter((event) => event['triggerId'] === triggerId);
      expect(events.map(({ type, id, status }) => [type, id, status])).toEqual([
        ['trigger', `${String(triggerId)}:1`, 'armed'],
        ['trigger', `${String(triggerId)}:2`, 'cancelled'],
      ]);
      expect(seen[1]).toEqual([]);
    } finally {
      for (const client of clients) client.close();
    }
  });
});

describe('the rights to a trigger', () => {
  it('belong to its account: others learn nothing of it, and a key without the scope trade reaches none', async () => {
    const account = await world.account('holder');
    const wallet = await world.wallet({ accountId: account });
    const [own, second] = [await world.key(['trade'], account), await world.key(['trade'], account)];
    const { triggerId } = await armed(stop({ publicKey: wallet }), { key: own });
    const foreign = await armed();
    const where = `${path}/${String(triggerId)}`;
    expect((await gateway.get(where, { key: second })).status).toBe(200);
    expect(idsOf(await gateway.get(path, { key: second }))).toEqual([triggerId]);
    for (const key of [world.operatorKey, await world.key(['trade'])]) {
      expect([(await gateway.get(where, { key })).status, (await remove(`/${String(triggerId)}`, { key })).status]).toEqual([404, 404]);
      expect(idsOf(await gateway.get(path, { key }))).not.toContain(triggerId);
    }
    const reader = await world.key(['read', 'stream']);
    for (const answer of [
      await gateway.get(where, { key: reader }),
      await gateway.post(path, stop(), { key: reader }),
      await remove('', { key: reader }),
    ])
      expect([answer.status, codeOf(answer)]).toEqual([403, 'FORBIDDEN']);
    expect((await gateway.get(where, { key: '' })).status).toBe(401);
    // A wallet of somebody else.
    expect(codeOf(await arm(stop(), { key: own }))).toBe('FORBIDDEN');
    expect(await remove('', { key: second })).toMatchObject({ body: { cancelled: 1, firing: 0 } });
    expect((await gateway.get(`${path}/${String(foreign['triggerId'])}`)).body).toMatchObject({ status: 'armed' });
    expect(await gateway.get(`${path}/trg_1`)).toMatchObject({ status: 404 });
  });

  it('are bounded by the plan of the key, which counts what waits, too', async () => {
    const { key } = await makeKey(world.store, { plan: 'standard', scopes: ['trade'] });
    const exits = Array.from({ length: 10 }, () => ({ side: 'sell', amount: '10%', when: { event: 'migration' } }));
    const entry = stop({ side: 'buy', amount: 0.01, then: exits });
    await until('the key', async () => (await gateway.get(path, { key })).status === 200);
    for (let count = 0; count < 9; count++) expect((await arm(entry, { key })).status).toBe(200);
    const refused = await arm(entry, { key });
    expect([refused.status, codeOf(refused)]).toEqual([403, 'FORBIDDEN']);
    expect(await arm(stop(), { key })).toMatchObject({ status: 200 });
    expect(await remove('', { key })).toMatchObject({ body: { cancelled: 100, firing: 0 } });
    expect(await arm(entry, { key })).toMatchObject({ status: 200 });
    await remove('', { key });
  });

  it('end where paper begins', async () => {
    const live = await armed();
    const paper = await world.gateway({ config: { trading: 'paper', keystorePassphraseFile: null } });
    const { body: wallet } = await paper.ask('/paper/wallets', {});
    const { body: onPaper } = await paper.ask(path, stop({ publicKey: wallet['publicKey'] }));
    expect(onPaper).toMatchObject({ status: 'armed', paper: true });
    const [liveId, paperId] = [String(live['triggerId']), String(onPaper['triggerId'])];
    expect((await paper.get(`${path}/${liveId}`)).status).toBe(404);
    expect((await gateway.get(`${path}/${paperId}`)).status).toBe(404);
    expect(idsOf(await paper.get(path))).toEqual([paperId]);
    expect((await remove(`/${paperId}`)).status).toBe(404);
    await remove('');
    expect((await paper.get(`${path}/${paperId}`)).body).toMatchObject({ status: 'armed' });
  });
});

it('lists and cancels triggers on the command line', async () => {
  const { triggerId } = await armed(stop({ ocoGroup: 'x', when: { trailing: { metric: 'priceSol', percent: 5 } } }));
  const env = { DATA_DIR: world.store.dataDir, SLUICE_API_KEY: world.operatorKey };
  const run = (...args: readonly string[]) =>
    sluice(['triggers', ...args, '--url', `http://${gateway.host}`], { folder: world.store.dataDir, env });
  const listed = await run('list', '--status', 'armed', '--mint', mint);
  expect(listed).toMatchObject({ code: 0, stderr: '' });
  expect(listed.stdout).toMatch(new RegExp(`^${String(triggerId)} +armed +sell +100% +${mint} +trailing priceSol 5 %`, 'm'));
  const json = JSON.parse((await run('list', '--json', '--wallet', publicKey)).stdout) as readonly Json[];
  expect(json.map((one) => one['triggerId'])).toContain(triggerId);
  expect(await run('cancel', String(triggerId))).toMatchObject({ code: 0, stdout: `${String(triggerId)} cancelled\n` });
  await armed();
  expect((await run('cancel', '--mint', mint)).stdout).toMatch(/^\d+ cancelled\.\n$/);
  expect((await run('list', '--status', 'armed')).stdout).toBe('There are no such triggers.\n');
  expect(await run('cancel', 'trg_1')).toMatchObject({ code: 1, stderr: 'NOT_FOUND: There is no such trigger.\n' });
});
