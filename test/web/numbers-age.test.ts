import type { Sluice, SluiceOptions } from '@sluice/client';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';

/** The page's rules for the age of its numbers, over a chain and a gateway of virtual time. */
interface Store<T> {
  readonly value: T;
  follow(listener: () => void): () => void;
}
interface StreamState {
  readonly WatchedSluice: new (options: SluiceOptions) => Sluice;
  readonly numbersAgeMs: Store<number | null>;
  readonly interruptedSince: Store<number | null>;
  readonly isChainSilent: Store<boolean>;
}

/** The types of a browser, which tests do not have. */
const modulePath: string = '@sluice/site/web/state/stream-state.ts';
const slotMs = 400;
/** Until a slot that ingest has seen is known to the gateway: its report, and the reading of the report. */
const reportMs = 200;
const oneWayMs = 40;

let chainStopsAtMs: number;
let isStalled: boolean;
let refusesPings: boolean;
let pings: number;
let sockets: FakeSocket[];
let state: StreamState;
let sluice: Sluice;

class FakeSocket extends EventTarget {
  static readonly OPEN = 1;
  readyState = 0;

  constructor() {
    super();
    sockets.push(this);
    setTimeout(() => {
      this.readyState = FakeSocket.OPEN;
      this.dispatchEvent(new Event('open'));
    }, oneWayMs);
    setInterval(() => this.#say({ op: 'heartbeat', ts: 1, slotAgeMs: slotAgeMs(), positions: {} }), 1_000);
  }

  send(text: string): void {
    const { id, op } = JSON.parse(text) as { readonly id: number; readonly op: string };
    setTimeout(() => {
      if (op === 'subscribe') this.#say({ id, op: 'subscribed', positions: { trades: { epoch: 'a', seq: 0, recovered: false } } });
      if (op !== 'ping') return;
      pings++;
      const error = { code: 'RATE_LIMIT', message: 'At most 1 commands a second.', retryable: true, details: {} };
      this.#say(refusesPings ? { id, op: 'error', error } : { id, op: 'pong', ts: 1, slotAgeMs: slotAgeMs() });
    }, oneWayMs);
  }

  close(): void {
    this.readyState = 3;
  }

  #say(message: object): void {
    if (isStalled || this.readyState !== FakeSocket.OPEN) return;
    setTimeout(() => this.dispatchEvent(Object.assign(new Event('message'), { data: JSON.stringify(message) })), oneWayMs);
  }
}

/** What the gateway knows: a newer slot only once it was reported. */
function slotAgeMs(): number {
  const knownUpToMs = Math.min(performance.now() - reportMs, chainStopsAtMs);
  return Math.round(performance.now() - Math.floor(knownUpToMs / slotMs) * slotMs);
}

// The page has one such module, whose timers begin when it is loaded.
beforeAll(async () => {
  vi.useFakeTimers();
  vi.stubGlobal('WebSocket', FakeSocket);
  vi.stubGlobal('document', new EventTarget());
  state = (await import(modulePath)) as StreamState;
});
afterAll(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});
beforeEach(async () => {
  [chainStopsAtMs, isStalled, refusesPings, pings, sockets] = [Infinity, false, false, 0, []];
  sluice = new state.WatchedSluice({ url: 'http://127.0.0.1:1', ticket: async () => 'ticket' });
  sluice.subscribe('trades', { onEvent: () => undefined });
  await vi.advanceTimersByTimeAsync(1_000);
});
afterEach(() => sluice.close());

/** The first age that the page shows, within two seconds. */
async function firstAge(): Promise<number | null> {
  let first: number | null = null;
  state.numbersAgeMs.follow(() => (first ??= state.numbersAgeMs.value));
  await vi.advanceTimersByTimeAsync(2_000);
  return first;
}

it('shows no age while slots of the longest usual duration arrive', async () => {
  let shown = 0;
  state.numbersAgeMs.follow(() => shown++);
  await vi.advanceTimersByTimeAsync(120_000);
  expect([shown, state.interruptedSince.value, sockets.length]).toEqual([0, null, 1]);
});

it.each([
  ['the chain stops', () => void (chainStopsAtMs = performance.now()), true],
  ['the connection stalls', () => void (isStalled = true), false],
])('shows the age as soon as it is above a second: %s', async (_what, stop, isChain) => {
  stop();
  const age = await firstAge();
  expect(age).toBeGreaterThan(1_000);
  expect(age).toBeLessThan(1_150);
  await vi.advanceTimersByTimeAsync(500);
  expect(state.interruptedSince.value).not.toBeNull();
  expect(state.isChainSilent.value).toBe(isChain);
});

it('pings less often if the plan refuses, and stays connected', async () => {
  refusesPings = true;
  await vi.advanceTimersByTimeAsync(1_000);
  pings = 0;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(pings).toBeLessThanOrEqual(10);
  expect(sockets.length).toBe(1);
});
