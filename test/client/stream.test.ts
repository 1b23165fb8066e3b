import { setTimeout as delay } from 'node:timers/promises';
import { Sluice, SluiceError, type EventOf, type Gap, type Heartbeat, type SubscribeOptions, type VenueName } from '@sluice/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { venueNames } from '@sluice/shared/wire/venues.ts';
import { startTcpProxy, type TcpProxy } from '../chaos/tcp-proxy.ts';
import { goodKey, startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { addressOf, entryOf, newTokenEvent, tradeEvent } from '../support/events/stream-events.ts';

let server: TestGateway;
let proxy: TcpProxy;
let sluice: Sluice;
beforeEach(async () => {
  server = await startTestGateway();
  proxy = await startTcpProxy(server.gateway.port);
  sluice = new Sluice({ url: `http://127.0.0.1:${proxy.port}`, apiKey: goodKey });
});
afterEach(async () => {
  sluice.close();
  await proxy.close();
  await server.close();
});

const mint = addressOf(4_000_000);
let nextId = 0;
const trades = (count: number, of = mint, solAmount = 1) =>
  Array.from({ length: count }, () => entryOf({ ...tradeEvent(of, { solAmount }), id: `${'1'.repeat(64)}:${nextId++}` }));
const ids = (events: readonly EventOf<'trades'>[]): number[] => events.map(({ id }) => Number(id.split(':')[1]));
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at);

/** A subscription whose events are collected. */
function collect(of: Sluice, options: Parameters<typeof of.subscribe<'trades'>>[1] = { mints: [mint] }) {
  const events: EventOf<'trades'>[] = [];
  const gaps: Gap[] = [];
  const states: string[] = [];
  const subscription = of.subscribe('trades', {
    ...options,
    onEvent: (event) => void events.push(event),
    onGap: (gap) => void gaps.push(gap),
    onStatus: ({ state }) => void states.push(state),
  });
  return { subscription, events, gaps, states, isLive: () => states.at(-1) === 'live' };
}

async function firstOf(events: AsyncIterable<unknown>): Promise<unknown> {
  for await (const event of events) return event;
  return null;
}

describe('a subscription', () => {
  it('iterates the events themselves, and ends with the loop', async () => {
    const first = nextId;
    const subscription = sluice.subscribe('trades', { mints: [mint] });
    const seen: EventOf<'trades'>[] = [];
    const publishing = (async () => {
      await until('the subscription', () => Object.keys(subscription.positions).length === 1);
      await server.publish(trades(5));
    })();
    for await (const event of subscription) {
      seen.push(event);
      if (seen.length === 5) break;
    }
    await publishing;
    expect(ids(seen)).toEqual(range(first, first + 5));
    expect(subscription.isEnded).toBe(true);
    await until('the connection to end', async () => (await connections()) === 0);
  });

  it('resumes after each cut without a hole, a repeat or a gap', async () => {
    const first = nextId;
    const one = collect(sluice);
    await until('it is live', one.isLive);
    for (let turn = 0; turn < 5; turn++) {
      await server.publish(trades(20));
      proxy.cut();
      await server.publish(trades(30));
      await until('it is live again', () => one.isLive() && one.events.length >= (turn + 1) * 50);
    }
    expect(ids(one.events)).toEqual(range(first, first + 250));
    expect(one.gaps).toEqual([]);
    expect(one.states.filter((state) => state === 'reconnecting').length).toBeGreaterThanOrEqual(5);
  });

  it('begins with events of the past, says which they are, and resumes without them', async () => {
    const first = nextId;
    await server.publish(trades(5));
    const past: boolean[] = [];
    const events: EventOf<'trades'>[] = [];
    const gaps: Gap[] = [];
    const subscription = sluice.subscribe('trades', {
      mints: [mint],
      last: 3,
      onEvent: (event) => {
        events.push(event);
        past.push(subscription.isPast);
      },
      onGap: (gap) => void gaps.push(gap),
    });
    await until('the past', () => events.length === 3);
    await server.publish(trades(1));
    proxy.cut();
    await server.publish(trades(1));
    await until('the missed events', () => events.length === 5);
    expect(ids(events)).toEqual(range(first + 2, first + 7));
    expect(past).toEqual([true, true, true, false, false]);
    expect(gaps).toEqual([]);
    expect(() => sluice.subscribe('trades', { last: 0 })).toThrow('last must be a number from 1 to 10000');
  });

  it('of many mints joins the messages of each long reply, with its snapshot and what was rejected', async () => {
    const mints = Array.from({ length: 1_200 }, (_, at) => addressOf(4_100_000 + at));
    const first = nextId;
    await server.publish(mints.flatMap((each) => trades(1, each)));
    const rejected: string[] = [];
    const one = collect(sluice, {
      mints: [...mints, ...Array.from({ length: 400 }, (_, at) => `not a mint ${at}`)],
      snapshot: true,
      onRejected: (keys) => void rejected.push(...keys.map(({ key }) => key)),
    });
    await until('it is live', one.isLive);
    expect(rejected).toHaveLength(400);
    await until('the snapshot', () => one.events.length === mints.length);
    await server.publish(mints.flatMap((each) => trades(1, each)));
    await until('the live events', () => one.events.length === 2 * mints.length);
    expect(ids(one.events)).toEqual(range(first, first + 2 * mints.length));
    // What was missed on many topics is resumed in the same way.
    proxy.cut();
    await server.publish(mints.flatMap((each) => trades(1, each)));
    await until('the missed events', () => one.events.length === 3 * mints.length);
    expect(new Set(ids(one.events))).toEqual(new Set(range(first, first + 3 * mints.length)));
    expect(one.gaps).toEqual([]);
  });

  it('opens one connection for subscriptions that begin together', async () => {
    let opened = 0;
    const openSocket = (url: string): WebSocket => {
      opened++;
      return new WebSocket(url);
    };
    const together = new Sluice({ url: `http://${server.host}`, apiKey: async () => goodKey, openSocket });
    const one = collect(together);
    const two = collect(together, { mints: [addressOf(4_000_003)] });
    await until('both are live', () => one.isLive() && two.isLive());
    expect(opened).toBe(1);
    together.close();
  });

  it('fails if a socket cannot be made', async () => {
    const openSocket = (): never => {
      throw new Error('forbidden here');
    };
    const without = new Sluice({ url: `http://${server.host}`, apiKey: goodKey, openSocket });
    await expect(firstOf(without.subscribe('newTokens'))).rejects.toThrow('forbidden here');
  });

  it('drops what waits when it is closed, and resumes behind what its consumer received', async () => {
    const one = sluice.subscribe('trades', { mints: [mint] });
    await until('the subscription', () => Object.keys(one.positions).length === 1);
    const first = nextId;
    await server.publish(trades(10));
    await until('ten events to wait', () => one.waiting === 10);
    const seen: EventOf<'trades'>[] = [];
    for await (const event of one) {
      seen.push(event);
      if (seen.length === 3) one.close();
    }
    expect(ids(seen)).toEqual(range(first, first + 3));
    const two = collect(sluice, { mints: [mint], since: one.positions });
    await until('the others', () => two.events.length === 7);
    expect(ids(two.events)).toEqual(range(first + 3, first + 10));
  });

  it('follows several channels over one connection, and equal topics over connections of their own', async () => {
    const one = collect(sluice);
    const tokens: unknown[] = [];
    sluice.subscribe('newTokens', { onEvent: (event) => void tokens.push(event) });
    const large = collect(sluice, { mints: [mint], filter: { minSol: 10 } });
    await until('both are live', () => one.isLive() && large.isLive());
    await until('the connections', async () => (await connections()) === 2);
    const first = nextId;
    await server.publish([...trades(2), ...trades(1, mint, 20), entryOf(newTokenEvent(addressOf(4_000_001)))]);
    await until('all events', () => one.events.length === 3 && tokens.length === 1 && large.events.length === 1);
    expect(ids(large.events)).toEqual([first + 2]);
    large.subscription.close();
    await until('the connection to end', async () => (await connections()) === 1);
    await server.publish(trades(1));
    await until('the other to go on', () => one.events.length === 4);
  });

  it('reports what cannot be replayed as a gap, in order', async () => {
    const one = collect(sluice, { mints: [mint], since: { [`trades:${mint}`]: { epoch: 'another', seq: 7 } } });
    await until('it is live', one.isLive);
    await server.publish(trades(1));
    await until('the event', () => one.events.length === 1);
    expect(one.gaps).toMatchObject([{ topic: `trades:${mint}`, reason: 'epoch', to: null }]);
  });

  it('resumes in another client at the positions of the first', async () => {
    const one = collect(sluice);
    await until('it is live', one.isLive);
    const first = nextId;
    await server.publish(trades(3));
    await until('three events', () => one.events.length === 3);
    const { positions } = one.subscription;
    one.subscription.close();
    await server.publish(trades(4));
    const two = collect(sluice, { mints: [mint], since: positions });
    await until('four events', () => two.events.length === 4);
    expect(ids(two.events)).toEqual(range(first + 3, first + 7));
    expect(two.gaps).toEqual([]);
  });

  it('stops the frames of a slow consumer, and gives it everything later', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const events: EventOf<'trades'>[] = [];
    const subscription = sluice.subscribe('trades', {
      mints: [mint],
      maxWaiting: 100,
      onEvent: async (event) => {
        if (events.length === 0) await held;
        events.push(event);
      },
    });
    await until('the subscription', () => Object.keys(subscription.positions).length === 1);
    const first = nextId;
    for (let turn = 0; turn < 20; turn++) {
      await server.publish(trades(100));
      await delay(5);
    }
    expect(subscription.isPaused).toBe(true);
    expect(subscription.waiting).toBeLessThanOrEqual(100);
    release();
    await until('all events', () => events.length === 2_000);
    expect(ids(events)).toEqual(range(first, first + 2_000));
  });

  it('reports rejected keys or warns of them once, and fails if none is accepted', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    const rejected: unknown[] = [];
    const mixed = collect(sluice, { mints: [mint, 'nonsense'], onRejected: (keys) => void rejected.push(...keys) });
    await until('it is live', mixed.isLive);
    expect(rejected).toEqual([{ key: 'nonsense', code: 'INVALID_MINT' }]);
    await expect(firstOf(sluice.subscribe('prices', { mints: ['nonsense'] }))).rejects.toMatchObject({
      code: 'INVALID_MINT',
    });
    expect(warn).not.toHaveBeenCalled();
    const silent = collect(sluice, { mints: [mint, 'nonsense'] });
    await until('it is live', silent.isLive);
    proxy.cut();
    await until('it is live again', () => silent.states.length === 3 && silent.isLive());
    expect(warn.mock.calls).toEqual([['sluice: trades: not followed: nonsense (INVALID_MINT). Give onRejected to handle this.']]);
    warn.mockRestore();
  });

  it('fails without a retry with a wrong key, and with a wrong filter alone', async () => {
    const stranger = new Sluice({ url: `http://127.0.0.1:${proxy.port}`, apiKey: 'sluice_nobody_x' });
    const failure = await firstOf(stranger.subscribe('newTokens')).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(SluiceError);
    expect(failure).toMatchObject({ code: 'UNAUTHENTICATED', retryable: false });
    stranger.close();
    const one = collect(sluice);
    const wrong = sluice.subscribe('trades', { mints: [addressOf(4_000_002)], filter: { minSol: -1 } });
    await expect(firstOf(wrong)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    await until('the other is live', one.isLive);
  });

  it('ends if a callback throws, and reports what it threw', async () => {
    const boom = new Error('boom');
    const thrown = (): never => {
      throw boom;
    };
    const reported: Error[] = [];
    const onError = (error: Error): void => void reported.push(error);
    const other = collect(sluice, { mints: [addressOf(4_000_004)] });
    const onEvent = sluice.subscribe('trades', { mints: [mint], onEvent: thrown, onError });
    const since = { [`trades:${mint}`]: { epoch: 'another', seq: 7 } };
    const onGap = sluice.subscribe('trades', { mints: [mint], since, onEvent: () => undefined, onGap: thrown, onError });
    const onStatus = sluice.subscribe('trades', { mints: [addressOf(4_000_005)], onEvent: () => undefined, onStatus: thrown, onError });
    await until('the subscription', () => Object.keys(onEvent.positions).length === 1);
    await server.publish(trades(2));
    await until('the errors', () => reported.length === 3);
    expect(reported).toEqual([boom, boom, boom]);
    expect([onEvent, onGap, onStatus].map(({ isEnded }) => isEnded)).toEqual([true, true, true]);
    await expect(firstOf(sluice.subscribe('trades', { mints: [addressOf(4_000_006)], onStatus: thrown }))).rejects.toBe(boom);
    await until('the other is live', other.isLive);
    expect(other.subscription.isEnded).toBe(false);
  });

  it('says each second how old the newest slot is, and ends by what the callback throws', async () => {
    const beats: Heartbeat[] = [];
    const fault = new Error('enough');
    const onHeartbeat = (beat: Heartbeat): void => {
      if (beats.push(beat) === 2) throw fault;
    };
    const ended = firstOf(sluice.subscribe('trades', { mints: [addressOf(4_000_010)], onHeartbeat }));
    await expect(ended).rejects.toBe(fault);
    expect(beats.map(({ slotAgeMs }) => slotAgeMs)).toEqual([null, null]);
    expect(beats[1]!.ts).toBeGreaterThan(beats[0]!.ts);
  });

  it('names the venues whose events are not decoded, and compares the lists after a lost connection', async () => {
    const report = (changedVenues: readonly string[]) => server.bus.setStatus('ingest:1', { leads: true, changedVenues }, 60_000);
    const lists: (readonly VenueName[])[] = [];
    sluice.subscribe('trades', { onEvent: () => undefined, onLayout: (names) => void lists.push(names) });
    for (const name of venueNames) await reported([name], () => report([name]));
    await reported(venueNames, () => report(venueNames));
    proxy.cut();
    await reported([], () => report([]));

    async function reported(expected: readonly string[], change: () => Promise<void>): Promise<void> {
      await change();
      await until(`the list ${expected.join()}`, () => lists.length > 0 && lists.at(-1)!.join() === expected.join());
    }
    expect(lists).toEqual([...venueNames.map((name) => [name]), venueNames, []]);
  });

  it.each([
    'null',
    '5',
    '"text"',
    '[null]',
    '{',
    '{"topic":"trades","seq":1}',
    '{"topic":"trades","seq":1,"data":null}',
    '{"topic":"trades","seq":1,"data":[]}',
    '{"op":"heartbeat","positions":{"trades":null}}',
    '{"op":"error","error":null}',
    '{"op":"layout","venues":5}',
    '{"op":"subscribed","id":1,"positions":{"trades":null}}',
    '{"op":"subscribed","id":1,"positions":{"trades":{"epoch":"a","seq":0}},"snapshot":[{"topic":"trades","data":null}]}',
    '{"op":"subscribed","id":1,"positions":{},"rejected":[null]}',
  ])('begins again at %s, which no gateway sends', async (wrong) => {
    const liar = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    let connected = 0;
    liar.on('connection', (socket) => {
      const isFirst = connected++ === 0;
      socket.on('message', (text: Buffer) => {
        const { id, op } = JSON.parse(text.toString()) as { readonly id: number; readonly op: string };
        if (op === 'auth') return socket.send(JSON.stringify({ id, op: 'authenticated' }));
        const position = { epoch: 'a', seq: 0, recovered: false };
        if (isFirst && wrong.includes('"op":"subscribed"')) return socket.send(wrong.replace('"id":1', `"id":${id}`));
        socket.send(JSON.stringify({ id, op: 'subscribed', positions: { trades: position }, rejected: [] }));
        if (isFirst) socket.send(wrong);
        else socket.send(JSON.stringify({ topic: 'trades', seq: 1, data: { type: 'trade' } }));
      });
    });
    await until('it listens', () => liar.address() !== null);
    const client = new Sluice({ url: `http://127.0.0.1:${(liar.address() as { readonly port: number }).port}`, apiKey: goodKey });
    const one = collect(client, {});
    await until('the event of the second connection', () => one.events.length === 1);
    expect(one.states).toContain('reconnecting');
    client.close();
    liar.close();
  });

  it('is refused with options that do not exist or follow nothing', () => {
    const refused: readonly (readonly [unknown, RegExp])[] = [
      [{ mint: [mint] }, /no option mint\b/],
      [{ mints: [] }, /are empty/],
      [{ accounts: [] }, /are empty/],
      [{ mints: mint }, /mints/],
      [{ maxWaiting: Number.NaN }, /maxWaiting/],
      [{ maxWaiting: 0 }, /maxWaiting/],
      [{ since: 5 }, /since/],
      [{ since: { epoch: 'a', seq: 5 } }, /since/],
      [null, /options/],
    ];
    for (const [options, message] of refused) {
      const make = () => sluice.subscribe('trades', options as SubscribeOptions<'trades'>);
      expect(make).toThrow(TypeError);
      expect(make).toThrow(message);
    }
  });

  it('leaves a gateway that drains, and resumes at another', async () => {
    const other = await startTestGateway({ bus: server.bus });
    const both = new Sluice({ url: [`http://${server.host}`, `http://${other.host}`], apiKey: goodKey });
    const one = collect(both);
    await until('it is live', one.isLive);
    const first = nextId;
    await server.publish(trades(3));
    await until('three events', () => one.events.length === 3);
    const closing = server.gateway.close();
    await other.publish(trades(3));
    await until('six events', () => one.events.length === 6);
    await closing;
    expect(ids(one.events)).toEqual(range(first, first + 6));
    both.close();
    await other.close();
  });
});

async function connections(): Promise<number> {
  const status = (await (await fetch(`http://${server.host}/status`)).json()) as { readonly stream: { readonly connections: number } };
  return status.stream.connections;
}
