import type { NewTokenEvent, StreamEvent, TokenMetadataEvent } from '@sluice/shared/wire/events/events.ts';
import { eventSchemas } from '@sluice/shared/wire/events/events.ts';
import { NewTokenMetadata } from '../../ingest/src/metadata/token-metadata.ts';
import { startIngest } from '@sluice/ingest/ingest.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { TokenMetadataBook } from '@sluice/shared/metadata/book.ts';
import { MetadataFetcher } from '@sluice/shared/metadata/fetch.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { startSimnet } from '../simnet/simnet.ts';
import { manualClock, type ManualClock } from '../support/clocks.ts';
import { goodKey, startTestGateway } from '../support/gateway.ts';
import { testConfig } from '../support/test-config.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { addressOf, entryOf, newTokenEvent } from '../support/events/stream-events.ts';
import { json, localRules, startWeb, until, type Page } from './local-web.ts';
import { eventsOfEntry } from '../support/events/entry-events.ts';

const closers: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const isMetadata = validator(eventSchemas.tokenMetadata);
const document = {
  name: 'Off chain',
  description: 'Words.',
  image: 'ipfs://Qm1/a.png',
  twitter: 'https://x.com/a',
  website: 'https://a.io/',
  telegram: 'no link',
};
const dataUri = (value: unknown) => `data:application/json,${JSON.stringify(value)}`;

interface Desk {
  readonly desk: NewTokenMetadata;
  readonly clock: ManualClock;
  readonly published: TokenMetadataEvent[];
  leads: boolean;
}

function startDesk(fetcher: ConstructorParameters<typeof TokenMetadataBook>[0]): Desk {
  const published: TokenMetadataEvent[] = [];
  const clock = manualClock();
  const made: Desk = {
    published,
    clock,
    leads: true,
    desk: new NewTokenMetadata({
      book: new TokenMetadataBook(fetcher),
      ipfsGateways: [],
      publish: (event) => void published.push(event),
      leads: () => made.leads,
      clock,
    }),
  };
  closers.push(() => made.desk.close());
  return made;
}

function localFetcher(): MetadataFetcher {
  const fetcher = new MetadataFetcher({ rules: localRules(), ipfsGateways: [] });
  closers.push(() => fetcher.close());
  return fetcher;
}

/** A creation now. */
function created(mint: string, changes: Partial<NewTokenEvent> = {}): NewTokenEvent {
  return newTokenEvent(mint, { ts: { received: Date.now() * 1000, published: Date.now() * 1000 }, ...changes });
}

describe('the metadata of a new token', () => {
  it('is published once it was fetched, with the fields of its creation', async () => {
    const server = await startWeb({ '/a.json': json(document) });
    closers.push(() => server.close());
    const { desk, published } = startDesk(localFetcher());
    const token = created(addressOf(1), { uri: server.url('/a.json'), simulated: true });
    desk.add(token);
    await until(() => published.length === 1);
    const [event] = published;
    expect(isMetadata(event)).toMatchObject({ ok: true });
    expect(event).toMatchObject({
      id: `${token.id}.metadata`,
      mint: token.mint,
      slot: token.slot,
      signature: token.signature,
      simulated: true,
      name: token.name,
      symbol: token.symbol,
      uri: token.uri,
      creator: token.creator,
      initialBuy: token.initialBuy,
      traits: token.traits,
      creatorFeeBps: token.creatorFeeBps,
      description: 'Words.',
      image: 'ipfs://Qm1/a.png',
      twitter: 'https://x.com/a',
      telegram: null,
      website: 'https://a.io/',
    });
    expect(event!.ts.received).toBeGreaterThanOrEqual(token.ts.received);
    expect([desk.counts, desk.waiting]).toEqual([{ published: 1, failed: 0, dropped: 0 }, 0]);
  });

  it('of a thousand tokens with one address costs one request', async () => {
    const server = await startWeb({ '/a.json': json(document) });
    closers.push(() => server.close());
    const { desk, published } = startDesk(localFetcher());
    for (let i = 0; i < 1_000; i++) desk.add(created(addressOf(i), { uri: server.url('/a.json') }));
    await until(() => published.length === 1_000);
    expect(server.asked).toEqual(['/a.json']);
    expect(new Set(published.map(({ mint }) => mint)).size).toBe(1_000);
  });

  it('is dropped at once if its address is not allowed; it is requested again if it may still appear', async () => {
    const { desk, published } = startDesk(localFetcher());
    desk.add(created(addressOf(1), { uri: 'https://simnet.invalid/coin/1' }));
    desk.add(created(addressOf(2), { uri: 'http://169.254.169.254/' }));
    desk.add(created(addressOf(3), { uri: 'data:application/json,{' }));
    desk.add(created(addressOf(4), { uri: '' }));
    await until(() => desk.counts.failed === 3);
    expect(desk.waiting).toBe(0);
    desk.add(created(addressOf(5), { uri: 'http://nowhere.sluice-coins.com/' }));
    // It waits for its next turn; it has not failed.
    await until(() => desk.waiting === 1);
    expect([desk.counts, published]).toEqual([{ published: 0, failed: 3, dropped: 0 }, []]);
  });

  it('is limited in what waits: the oldest is dropped, and counted', async () => {
    const held: (() => void)[] = [];
    const page: Page = (response, url) => void held.push(() => json({ description: url })(response, url));
    const server = await startWeb({ '/a.json': page });
    closers.push(() => server.close());
    const { desk, published } = startDesk(localFetcher());
    for (let i = 0; i < 2_040; i++) desk.add(created(addressOf(i), { uri: server.url(`/a.json?${i}`) }));
    // 32 running, 2,000 waiting.
    expect([desk.waiting, desk.counts.dropped]).toEqual([2_032, 8]);
    await until(() => held.length > 0);
    let answered = 0;
    await until(() => {
      for (const answer of held.splice(0)) {
        answer();
        answered++;
      }
      return answered > 100;
    });
    desk.close();
    const mints = new Set(published.map(({ mint }) => mint));
    for (let i = 32; i < 40; i++) expect(mints).not.toContain(addressOf(i));
  });

  it('is fetched by the leader; the process that takes over continues with the last seconds', async () => {
    const made = startDesk(localFetcher());
    const { desk, published, clock } = made;
    made.leads = false;
    desk.add(created(addressOf(1), { uri: dataUri(document) }));
    clock.suspend(9_000);
    clock.jump(-86_400_000);
    desk.add(created(addressOf(2), { uri: dataUri(document) }));
    desk.requestDue();
    expect([published.length, desk.waiting]).toEqual([0, 1]);
    made.leads = true;
    desk.requestDue();
    await until(() => published.length === 1);
    expect(published[0]!.mint).toBe(addressOf(2));
  });
});

describe('on the stream', () => {
  it('is sent on newTokens to clients that followed the creation, with or without a filter, and never as a new token in the dialect', async () => {
    const server = await startTestGateway();
    closers.push(() => server.close());
    const open = async (): Promise<StreamClient> => {
      const client = new StreamClient(`ws://${server.host}/api/data?api-key=${goodKey}`);
      closers.push(() => client.close());
      return client.open();
    };
    const token = created(addressOf(77), { name: 'Blume', uri: dataUri(document) });
    const { desk, published } = startDesk(localFetcher());
    desk.add(token);
    await until(() => published.length === 1);
    const filters = {
      none: {},
      name: { name: 'blu' },
      creator: { creator: token.creator, pool: token.pool },
      buy: { minDevBuySol: 1, maxDevBuySol: 3, withoutTraits: ['mayhemMode'] },
      otherName: { name: 'other' },
      otherCreator: { creator: addressOf(5) },
      otherBuy: { minDevBuySol: 3 },
      otherTrait: { traits: ['cashback'] },
    };
    const clients: Record<string, StreamClient> = {};
    for (const [name, filter] of Object.entries(filters)) {
      clients[name] = await open();
      expect(await clients[name].ask({ op: 'subscribe', channel: 'newTokens', filter })).toMatchObject({ op: 'subscribed' });
    }
    const dialect = await open();
    dialect.socket.send(JSON.stringify({ method: 'subscribeNewToken' }));
    await until(() => dialect.messages.length === 1);
    const last = created(addressOf(78), { name: 'Blume', creator: token.creator });
    await server.publish([entryOf(token), entryOf(published[0]!), entryOf(last)]);
    for (const name of ['none', 'name', 'creator', 'buy']) {
      const client = clients[name]!;
      await until(() => client.frames('newTokens').length === 3);
      expect(
        client.frames('newTokens').map(({ data }) => data!.type),
        name,
      ).toEqual(['newToken', 'tokenMetadata', 'newToken']);
      expect(client.frames('newTokens')[1]!.data).toEqual(published[0]);
    }
    for (const name of ['otherName', 'otherCreator', 'otherBuy', 'otherTrait']) {
      await clients[name]!.ask({ op: 'ping' });
      expect(clients[name]!.frames('newTokens'), name).toEqual([]);
    }
    await until(() => dialect.messages.length === 3);
    expect(dialect.messages.slice(1).map(({ txType, mint }) => [txType, mint])).toEqual([
      ['create', token.mint],
      ['create', last.mint],
    ]);
  });

  it('is published on the simulated chain after each creation, without any network', async () => {
    const log = createLog({ level: 'silent', name: 'test' });
    const simnet = await startSimnet({ seed: 5, autoStart: false });
    closers.push(() => simnet.close());
    const bus = await createBus({ redisUrls: null, log });
    closers.push(() => bus.close());
    const events: StreamEvent[] = [];
    const subscriber = await bus.subscriber();
    await subscriber.start({
      onEntry: (entry) => void events.push(...eventsOfEntry(entry)),
      onLost: () => undefined,
    });
    const rules = localRules();
    const fetcher = new MetadataFetcher({ rules, ipfsGateways: [] });
    const config = { ...testConfig, rpc: { httpUrls: [simnet.rpcUrl], wsUrls: [simnet.wsUrl] } };
    const ingest = await startIngest({ config, bus, metadata: new TokenMetadataBook(fetcher), log, signal: new AbortController().signal });
    closers.push(() => ingest.close());
    await until(() => ingest.stats().endpointsUp === 1);
    const of = <T extends StreamEvent['type']>(type: T) =>
      events.filter((event): event is Extract<StreamEvent, { type: T }> => event.type === type);
    await until(() => {
      simnet.chain.advance();
      return of('tokenMetadata').length >= 8;
    });
    for (const event of of('tokenMetadata')) {
      expect(isMetadata(event)).toMatchObject({ ok: true });
      const creation = events.findIndex(({ id }) => `${id}.metadata` === event.id);
      expect(creation).toBeGreaterThanOrEqual(0);
      expect(events.indexOf(event)).toBeGreaterThan(creation);
      expect(event.description).toMatch(/^Simulated .*, worth nothing\.$/);
      expect(event).toMatchObject({ simulated: true, image: null, website: null });
    }
    expect(rules.resolved).toEqual([]);
    expect(ingest.stats().metadata).toMatchObject({ dropped: 0 });
    expect(ingest.stats().metadata.published).toBeGreaterThanOrEqual(8);
  });
});
