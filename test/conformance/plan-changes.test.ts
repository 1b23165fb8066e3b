import { defaultPlans, type Plan } from '@sluice/shared/config/plans.ts';
import { closeCode } from '@sluice/shared/wire/stream/close-codes.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { StreamClient } from '../support/clients/stream-client.ts';

const { standard, premium } = defaultPlans;
const mints = ['So11111111111111111111111111111111111111112', 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'] as const;

describe('an open connection whose key moves to another plan', () => {
  let server: TestGateway;
  let keys = 0;
  beforeAll(async () => {
    server = await startTestGateway();
  });
  afterAll(() => server.close());

  async function connected(plan: Plan, query = ''): Promise<{ readonly key: string; readonly client: StreamClient }> {
    const key = `sluice_replanned_${++keys}`;
    server.keys.add(key, { plan });
    const client = new StreamClient(`ws://${server.host}/api/data?api-key=${key}${query}`);
    await client.open();
    return { key, client };
  }

  it('can use the features of the new plan', async () => {
    const { key, client } = await connected(standard);
    const all = { op: 'subscribe', channel: 'trades' };
    expect(await client.ask(all)).toMatchObject({ op: 'error', error: { code: 'FORBIDDEN' } });
    server.keys.replan(key, premium);
    expect(await client.ask(all)).toMatchObject({ op: 'subscribed' });
    client.close();
  });

  it('follows the limits of the new plan, and retains its subscriptions', async () => {
    const { key, client } = await connected({ ...standard, subscriptions: 2 });
    const follow = (mint: string) => ({ op: 'subscribe', channel: 'prices', mints: [mint] });
    expect(await client.ask(follow(mints[0]))).toMatchObject({ op: 'subscribed' });
    server.keys.replan(key, { ...standard, subscriptions: 1, commandsPerSecond: 3 });
    expect(await client.ask(follow(mints[1]))).toMatchObject({ op: 'error', error: { details: { limit: 1 } } });
    expect(await client.ask({ op: 'list' })).toMatchObject({ total: 1, subscriptions: [{ channel: 'prices', mints: [mints[0]] }] });
    client.close();
  });

  it.each([
    ['the trades of all', '', { op: 'subscribe', channel: 'trades' }],
    ['batches', '&batch=1', { op: 'ping' }],
    ['a channel', '', { op: 'subscribe', channel: 'migrations' }],
    ['a channel in PumpPortal’s dialect', '', { method: 'subscribeMigration' }],
  ])('is closed if it uses %s and the new plan lacks it', async (_what, query, command) => {
    const { key, client } = await connected(premium, query);
    client.send(command);
    await client.next('the answer', (message) => message.op !== 'heartbeat');
    const bystander = await connected(premium);
    server.keys.replan(key, { ...standard, withoutChannels: ['migrations'] });
    expect((await client.end()).code).toBe(closeCode('FORBIDDEN'));
    expect(await bystander.client.ask({ op: 'ping' })).toMatchObject({ op: 'pong' });
    bystander.client.close();
  });
});
