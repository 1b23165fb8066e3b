import { WebSocket } from 'ws';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { usdcMint } from '@sluice/shared/solana/well-known.ts';
import { dialectSchemas } from '@sluice/shared/wire/stream/pumpportal.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import { fastClock } from '../support/clocks.ts';
import { goodKey, startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { addressOf, entryOf, migrationEvent, newTokenEvent, priceEvent, tradeEvent } from '../support/events/stream-events.ts';

/** How many times faster the bounds of the stream pass. */
const speedup = 10;
const standardKey = 'sluice_test_standard';

/** A client as PumpPortal's users write it: it parses JSON and reads fields by name. */
class Bot {
  readonly socket: WebSocket;
  readonly acks: string[] = [];
  readonly creates: Record<string, unknown>[] = [];
  readonly trades: Record<string, unknown>[] = [];
  readonly migrations: Record<string, unknown>[] = [];
  readonly frames: Record<string, unknown>[] = [];
  closeCode = 0;

  constructor(url: string) {
    this.socket = new WebSocket(url);
    this.socket.on('message', (data: Buffer) => {
      const event = JSON.parse(data.toString()) as Record<string, unknown>;
      this.frames.push(event);
      if (event['message'] !== undefined && event['mint'] === undefined) this.acks.push(event['message'] as string);
      else if (event['txType'] === 'create') this.creates.push(event);
      else if (event['txType'] === 'buy' || event['txType'] === 'sell') this.trades.push(event);
      else if (event['txType'] === 'migrate') this.migrations.push(event);
    });
    this.socket.on('close', (code) => {
      this.closeCode = code;
    });
  }

  /** As bots do: subscribes in the open handler, several frames in a burst. */
  onOpen(...payloads: unknown[]): this {
    this.socket.on('open', () => this.send(...payloads));
    return this;
  }

  send(...payloads: unknown[]): void {
    for (const payload of payloads) this.socket.send(typeof payload === 'string' ? payload : JSON.stringify(payload));
  }

  async acked(count: number): Promise<void> {
    await until(`${count} acks, have ${this.acks.join(' | ')}`, () => this.acks.length >= count);
  }
}

describe.each(['uws', 'node'] as const)('a PumpPortal client, only the host changed, over %s', (transport) => {
  let server: TestGateway;
  const bots: Bot[] = [];
  beforeAll(async () => {
    server = await startTestGateway({ transport, clock: fastClock(speedup) });
    server.keys.add(standardKey, { plan: defaultPlans.standard });
  });
  afterAll(async () => {
    for (const one of bots) one.socket.terminate();
    await server.close();
  });
  function bot(query = `?api-key=${goodKey}`): Bot {
    const made = new Bot(`ws://${server.host}/api/data${query}`);
    bots.push(made);
    return made;
  }

  it('gets the exact acknowledgements of PumpPortal, and nothing before the first', async () => {
    const one = bot().onOpen(
      { method: 'subscribeNewToken' },
      { method: 'subscribeMigration' },
      { method: 'subscribeTokenTrade', keys: [addressOf(1)] },
      { method: 'subscribeAccountTrade', keys: [addressOf(2)] },
    );
    await one.acked(4);
    expect(one.frames).toEqual([
      { message: 'Successfully subscribed to token creation events.' },
      { message: "Subscribed to 'migration' events." },
      { message: 'Successfully subscribed to keys.' },
      { message: 'Successfully subscribed to keys.' },
    ]);
  });

  it('learns that a subscription without keys follows nothing', async () => {
    const one = bot().onOpen({ method: 'subscribeTokenTrade' }, { method: 'subscribeAccountTrade', keys: [] });
    await one.acked(2);
    expect(one.acks).toEqual(Array.from({ length: 2 }, () => 'Nothing is followed: `keys` must list at least one address.'));
  });

  it('gets creations, trades on the curve and in the pool, and migrations', async () => {
    const mint = addressOf(10);
    const one = bot().onOpen(
      { method: 'subscribeNewToken', params: [] },
      { method: 'subscribeMigration' },
      { method: 'subscribeTokenTrade', keys: [mint] },
    );
    await one.acked(3);
    const create = newTokenEvent(mint);
    const buy = tradeEvent(mint);
    const sell = tradeEvent(mint, { side: 'sell', pool: 'pump-amm', poolAddress: addressOf(900_002), traderBalance: '1500000' });
    const migration = migrationEvent(mint);
    await server.publish([create, buy, migration, sell].map((event) => entryOf(event)));
    await until('all', () => one.frames.length === 7);
    expect(one.creates).toEqual([
      {
        signature: create.signature,
        mint,
        traderPublicKey: create.trader,
        txType: 'create',
        initialBuy: 67062499.999999,
        solAmount: 2,
        bondingCurveKey: create.bondingCurve,
        vTokensInBondingCurve: 1005937500.000001,
        vSolInBondingCurve: 31.999999999,
        marketCapSol: 30.6,
        name: 'America First Coalition',
        symbol: 'AMERICA',
        uri: create.uri,
        is_mayhem_mode: false,
        pool: 'pump',
        slot: create.slot,
        blockUnixTime: create.blockTime,
      },
    ]);
    const common = {
      mint,
      tokenAmount: 30589322.786086,
      solAmount: 2.629842459,
      marketCapSol: 30.6,
      slot: buy.slot,
      blockUnixTime: buy.blockTime,
    };
    expect(one.trades).toEqual([
      {
        ...common,
        signature: buy.signature,
        traderPublicKey: buy.trader,
        txType: 'buy',
        newTokenBalance: null,
        bondingCurveKey: buy.poolAddress,
        vTokensInBondingCurve: 1005937500.000001,
        vSolInBondingCurve: 31.999999999,
        pool: 'pump',
      },
      {
        ...common,
        signature: sell.signature,
        traderPublicKey: sell.trader,
        txType: 'sell',
        newTokenBalance: 1.5,
        tokensInPool: 726037500.000001,
        solInPool: 1.999999999,
        pool: 'pump-amm',
      },
    ]);
    expect(one.migrations).toEqual([{ signature: migration.signature, mint, txType: 'migrate', pool: 'pump-amm' }]);
    const schemas = [
      validator(dialectSchemas.create),
      validator(dialectSchemas.trade),
      validator(dialectSchemas.migrate),
      validator(dialectSchemas.message),
    ];
    for (const frame of one.frames)
      expect(
        schemas.filter((check) => check(frame).ok),
        JSON.stringify(frame),
      ).toHaveLength(1);
  });

  it('gets an event once if its mint and two accounts match', async () => {
    const [mint, trader] = [addressOf(20), addressOf(21)];
    const both = bot().onOpen({ method: 'subscribeTokenTrade', keys: [mint] }, { method: 'subscribeAccountTrade', keys: [trader] });
    const ofMint = bot().onOpen({ method: 'subscribeTokenTrade', keys: [mint] });
    const ofTrader = bot().onOpen({ method: 'subscribeAccountTrade', keys: [trader] });
    await Promise.all([both.acked(2), ofMint.acked(1), ofTrader.acked(1)]);
    const events = [tradeEvent(mint, { trader }), tradeEvent(mint), tradeEvent(addressOf(22), { trader }), tradeEvent(mint, { trader })];
    await server.publish(events.map((event) => entryOf(event)));
    await until('all', () => both.trades.length >= 4 && ofMint.trades.length >= 3 && ofTrader.trades.length >= 3);
    both.send('ping');
    await both.acked(3);
    const signatures = events.map(({ signature }) => signature);
    expect(both.trades.map((trade) => trade['signature'])).toEqual(signatures);
    expect(ofMint.trades.map((trade) => trade['signature'])).toEqual([signatures[0], signatures[1], signatures[3]]);
    expect(ofTrader.trades.map((trade) => trade['signature'])).toEqual([signatures[0], signatures[2], signatures[3]]);
  });

  it('adds keys, accepts repeated ones, and stops after an unsubscribe', async () => {
    const [a, b] = [addressOf(30), addressOf(31)];
    const one = bot().onOpen({ method: 'subscribeTokenTrade', keys: [a] }, { method: 'subscribeTokenTrade', keys: [a, b] });
    await one.acked(2);
    expect(one.acks).toEqual(Array.from({ length: 2 }, () => 'Successfully subscribed to keys.'));
    await server.publish([entryOf(tradeEvent(a)), entryOf(tradeEvent(b))]);
    await until('both', () => one.trades.length === 2);
    one.send({ method: 'unsubscribeTokenTrade', keys: [a] });
    await one.acked(3);
    await server.publish([entryOf(tradeEvent(a)), entryOf(tradeEvent(b))]);
    await until('the other', () => one.trades.length === 3);
    expect(one.trades.map((trade) => trade['mint'])).toEqual([a, b, b]);
    one.send({ method: 'unsubscribeNewToken' }, { method: 'unsubscribeMigration' }, { method: 'unsubscribeAccountTrade', keys: [b] });
    await one.acked(6);
  });

  it('ends all of a kind with an empty list, as with none', async () => {
    const [mint, trader] = [addressOf(32), addressOf(33)];
    const one = bot().onOpen({ method: 'subscribeTokenTrade', keys: [mint] }, { method: 'subscribeAccountTrade', keys: [trader] });
    await one.acked(2);
    const tradersOf = async (): Promise<unknown[]> => {
      const before = one.trades.length;
      const last = tradeEvent(addressOf(35));
      await server.publish([tradeEvent(mint), tradeEvent(addressOf(34), { trader }), last].map((event) => entryOf(event)));
      // The last event is published after the others.
      await until('the last event', () => witness.trades.some(({ signature }) => signature === last.signature));
      one.send('ping');
      await one.acked(one.acks.length + 1);
      return one.trades.slice(before).map((trade) => trade['traderPublicKey'] === trader);
    };
    const witness = bot().onOpen({ method: 'subscribeTokenTrade', keys: [addressOf(35)] });
    await witness.acked(1);
    expect(await tradersOf()).toEqual([false, true]);
    one.send({ method: 'unsubscribeTokenTrade', keys: [] });
    await one.acked(4);
    expect(await tradersOf()).toEqual([true]);
    one.send({ method: 'unsubscribeAccountTrade', keys: [] });
    await one.acked(6);
    expect(await tradersOf()).toEqual([]);
  });

  it('skips a byte order mark before a message', async () => {
    const one = bot().onOpen('\ufeff{"method":"subscribeNewToken"}', '\ufeffping');
    await one.acked(2);
    expect(one.acks).toEqual(['Successfully subscribed to token creation events.', 'pong']);
  });

  it('gets a message for a mistake, and nothing else', async () => {
    const one = bot().onOpen(
      { method: 'subscribeTokenTrade', keys: ['not an address', addressOf(40)] },
      { method: 'subscribeEverything' },
      { method: 'subscribeTokenTrade', keys: 'abc' },
      'not json',
    );
    await one.acked(4);
    expect(one.frames.every((frame) => Object.keys(frame).join() === 'message')).toBe(true);
    expect(one.acks[0]).toContain('not an address');
    await server.publish([entryOf(tradeEvent(addressOf(40)))]);
    await until('the trade', () => one.trades.length === 1);
  });

  it('has each of 300 messages in one burst carried out', async () => {
    const mints = Array.from({ length: 300 }, (_, at) => addressOf(1_000 + at));
    const one = bot(`?api-key=${standardKey}`).onOpen(...mints.map((mint) => ({ method: 'subscribeTokenTrade', keys: [mint] })));
    await one.acked(300);
    expect(new Set(one.acks)).toEqual(new Set(['Successfully subscribed to keys.']));
    await server.publish(mints.map((mint) => entryOf(tradeEvent(mint))));
    await until('all trades', () => one.trades.length === 300);
    expect(one.trades.map((trade) => trade['mint'])).toEqual(mints);
  });

  it('is closed, and not ignored, if more messages wait than a connection may have', async () => {
    const one = bot(`?api-key=${standardKey}`).onOpen({ method: 'subscribeNewToken' });
    await one.acked(1);
    const message = JSON.stringify({ method: 'unsubscribeNewToken', more: 'x'.repeat(20_000) });
    // The faster clock allows more messages per second than a busy machine may send at once.
    await until('the close', () => {
      if (one.socket.readyState === WebSocket.OPEN) for (let at = 0; at < 400; at++) one.socket.send(message);
      return one.closeCode !== 0;
    });
    expect(one.closeCode).toBe(4029);
  });

  it('is asked for a key if it has none', async () => {
    const one = bot('').onOpen({ method: 'subscribeNewToken' });
    await one.acked(1);
    expect(one.acks[0]).toContain('api-key');
    await server.publish([entryOf(newTokenEvent(addressOf(50)))]);
    await until('the close', () => one.closeCode !== 0);
    expect(one.closeCode).toBe(4501);
    expect(one.creates).toEqual([]);
  });

  it('gets no heartbeats, and can use op and method on one socket', async () => {
    const mint = addressOf(60);
    const plain = bot().onOpen({ method: 'subscribeTokenTrade', keys: [mint] });
    const mixed = bot().onOpen(
      { method: 'subscribeTokenTrade', keys: [mint] },
      { id: 1, op: 'subscribe', channel: 'prices', mints: [mint] },
    );
    await Promise.all([plain.acked(1), mixed.acked(1)]);
    await until('two heartbeats', () => mixed.frames.filter((frame) => frame['op'] === 'heartbeat').length >= 2);
    await server.publish([entryOf(tradeEvent(mint)), entryOf(priceEvent(mint))]);
    await until('both', () => mixed.trades.length === 1 && mixed.frames.some((frame) => frame['topic'] === `prices:${mint}`));
    await until('the trade', () => plain.trades.length === 1);
    expect(plain.frames).toHaveLength(2);
  });

  it('gets no SOL amounts of a token with another quote coin if its price is unknown', async () => {
    const mint = addressOf(70);
    const one = bot().onOpen({ method: 'subscribeTokenTrade', keys: [mint] });
    await one.acked(1);
    await server.publish([
      entryOf(tradeEvent(mint, { quoteMint: usdcMint, quoteDecimals: 6, solAmount: null, priceSol: null, marketCapSol: null })),
      entryOf(tradeEvent(mint, { quoteMint: usdcMint, quoteDecimals: 6, solAmount: null, tokenAmount: 100, priceSol: 0.01 })),
    ]);
    await until('both', () => one.trades.length === 2);
    for (const field of ['solAmount', 'vSolInBondingCurve', 'marketCapSol']) expect(one.trades[0]).not.toHaveProperty(field);
    expect(one.trades[0]).toMatchObject({ quoteMint: usdcMint, vTokensInBondingCurve: 1005937500.000001 });
    expect(one.trades[1]).toMatchObject({ solAmount: 1 });
  });

  it('gets a market cap of each coin of pump, also before its supply is known', async () => {
    const [curve, pooled, foreign] = [addressOf(71), `${addressOf(72).slice(0, -4)}pump`, addressOf(73)];
    const one = bot().onOpen({ method: 'subscribeTokenTrade', keys: [curve, pooled, foreign] });
    await one.acked(1);
    const unknown = { marketCapSol: null, priceSol: 2.5e-8 };
    await server.publish([
      entryOf(tradeEvent(curve, unknown)),
      entryOf(tradeEvent(pooled, { ...unknown, pool: 'pump-amm' })),
      entryOf(tradeEvent(foreign, { ...unknown, pool: 'pump-amm' })),
    ]);
    await until('all', () => one.trades.length === 3);
    expect(one.trades.map((trade) => trade['marketCapSol'])).toEqual([25, 25, undefined]);
  });
});
