import type { Chain, ForkOptions, TransactionRecord } from '../chain.ts';
import type { SubscriptionKind } from '../rpc/pubsub/subscription.ts';
import type { HttpFault, ServerBehaviour } from '../rpc/server.ts';
import { FaultyChain, runtimeLogLimitBytes } from './faulty-chain.ts';
import { FaultyDelivery, type DeliveryCounts } from './faulty-delivery.ts';
import { seededRandom } from './random.ts';

export const misbehaviours = [
  'drop',
  'stall',
  'lag',
  'cut',
  'truncate',
  'lie',
  'error429',
  'slow',
  'unhealthy',
  'duplicate',
  'reorder',
  'lookAlike',
] as const;
export type Misbehaviour = (typeof misbehaviours)[number];

export interface ControlStatus {
  readonly active: readonly Misbehaviour[];
  readonly slot: number;
  readonly confirmedSlot: number;
  readonly finalizedSlot: number;
  readonly delivery: DeliveryCounts;
  readonly requestsRefused: number;
}

/** Faults on command. Each one lasts until `clear`, or until it has happened as often as requested. Shares are 0-1. */
export interface SimnetControl {
  /** Drops a share of the notifications (of all kinds, or of the named kinds). */
  drop(options: { readonly share: number; readonly kinds?: readonly SubscriptionKind[] }): void;
  /** Connections stay open and calls are answered, but no notification is sent. These notifications are lost. */
  stall(): void;
  /** Delays every notification, in order. */
  lag(options: { readonly ms: number }): void;
  /** Closes all connections now, and refuses new ones (HTTP too) for `refuseMs`. */
  cut(options?: { readonly refuseMs?: number }): void;
  /** Kills the newest frozen slots (see `Chain.fork`); returns the slots that died. */
  fork(options: ForkOptions & { readonly slots: number }): readonly number[];
  /** Truncates the logs of the next `count` transactions that log at least `bytes`; inner instructions stay whole. */
  truncate(options: { readonly count: number; readonly bytes?: number }): void;
  /** getSignaturesForAddress ignores `until`, or omits a share of the signatures (always the same ones). */
  lie(options: { readonly ignoreUntil?: boolean; readonly omitShare?: number }): void;
  /** Answers HTTP 429 to a share of the calls (of the named methods, or all), at most `count` times. */
  error429(options?: {
    readonly share?: number;
    readonly count?: number;
    readonly methods?: readonly string[];
    readonly retryAfterSeconds?: number;
  }): void;
  /** Delays HTTP answers (of the named methods, or all). */
  slow(options: { readonly ms: number; readonly methods?: readonly string[] }): void;
  /** getHealth, and sendTransaction with preflight, return -32005. */
  unhealthy(options?: { readonly slotsBehind?: number }): void;
  /** Sends a share of the notifications twice. */
  duplicate(options: { readonly share: number }): void;
  /** Sends the logs of a block in random order. */
  reorder(): void;
  /** In each of the next `count` blocks that have an event, a foreign program logs a copy of it as its own. */
  lookAlike(options?: { readonly count?: number }): void;
  /** Freezes the current bank now. Returns its slot. */
  advance(): number;
  /** Ends one fault, or all. */
  clear(what?: Misbehaviour): void;
  status(): ControlStatus;
}

interface HttpFaults {
  error429: { share: number; left: number; methods: ReadonlySet<string> | null; retryAfterSeconds: number } | null;
  slow: { ms: number; methods: ReadonlySet<string> | null } | null;
  refused: number;
}

function concerns(methods: ReadonlySet<string> | null, called: readonly string[]): boolean {
  return methods === null || called.some((method) => methods.has(method));
}

function httpFaultOf(faults: HttpFaults, random: () => number, called: readonly string[]): HttpFault {
  const { slow, error429 } = faults;
  const delayMs = slow !== null && concerns(slow.methods, called) ? slow.ms : 0;
  if (error429 === null || error429.left <= 0 || !concerns(error429.methods, called) || random() >= error429.share) {
    return { delayMs, tooManyRequestsAfterSeconds: null };
  }
  error429.left--;
  faults.refused++;
  return { delayMs, tooManyRequestsAfterSeconds: error429.retryAfterSeconds };
}

function shuffled<T>(list: readonly T[], random: () => number): readonly T[] {
  const result = [...list];
  for (let at = result.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    const [a, b] = [result[at], result[other]];
    if (a !== undefined && b !== undefined) [result[at], result[other]] = [b, a];
  }
  return result;
}

/** All faults of one simulated node: the chain as it reports it, the server's behaviour, and the switches of both. */
export class Misbehaving implements SimnetControl {
  readonly chain: FaultyChain;
  private readonly delivery: FaultyDelivery;
  private readonly random: () => number;
  private readonly http: HttpFaults = { error429: null, slow: null, refused: 0 };
  private refuseUntilMs = 0;
  private behindSlots: number | null = null;
  private reordering = false;
  /** Cuts the server's connections. It is set once the server listens. */
  onCut: () => void = () => undefined;

  constructor(base: Chain, seed: number) {
    this.chain = new FaultyChain(base, seed);
    this.random = seededRandom(seed ^ 0x51_0c_e5_ed);
    this.delivery = new FaultyDelivery(this.random);
  }

  behaviour(control: ServerBehaviour['control']): ServerBehaviour {
    return {
      delivery: this.delivery,
      order: (list: readonly TransactionRecord[]) => (this.reordering ? shuffled(list, this.random) : list),
      slotsBehind: () => this.behindSlots,
      http: (methods) => httpFaultOf(this.http, this.random, methods),
      refusesConnections: () => performance.now() < this.refuseUntilMs,
      control,
    };
  }

  close(): void {
    this.delivery.close();
    this.chain.close();
  }

  drop({ share, kinds }: Parameters<SimnetControl['drop']>[0]): void {
    this.delivery.dropShare = share;
    this.delivery.dropKinds = kinds === undefined ? null : new Set(kinds);
  }

  stall(): void {
    this.delivery.stalled = true;
  }

  lag({ ms }: { readonly ms: number }): void {
    this.delivery.setLag(ms);
  }

  cut({ refuseMs = 0 }: { readonly refuseMs?: number } = {}): void {
    this.refuseUntilMs = performance.now() + refuseMs;
    this.onCut();
  }

  fork({ slots, ...options }: ForkOptions & { readonly slots: number }): readonly number[] {
    return this.chain.fork(slots, options);
  }

  truncate({ count, bytes = runtimeLogLimitBytes }: { readonly count: number; readonly bytes?: number }): void {
    this.chain.truncation = { left: count, bytes };
  }

  lie({ ignoreUntil = false, omitShare = 0 }: Parameters<SimnetControl['lie']>[0]): void {
    this.chain.lie = { ignoreUntil, omitShare };
  }

  error429({
    share = 1,
    count = Infinity,
    methods,
    retryAfterSeconds = 1,
  }: NonNullable<Parameters<SimnetControl['error429']>[0]> = {}): void {
    this.http.error429 = { share, left: count, methods: methods === undefined ? null : new Set(methods), retryAfterSeconds };
  }

  slow({ ms, methods }: Parameters<SimnetControl['slow']>[0]): void {
    this.http.slow = { ms, methods: methods === undefined ? null : new Set(methods) };
  }

  unhealthy({ slotsBehind = 150 }: { readonly slotsBehind?: number } = {}): void {
    this.behindSlots = slotsBehind;
  }

  duplicate({ share }: { readonly share: number }): void {
    this.delivery.duplicateShare = share;
  }

  reorder(): void {
    this.reordering = true;
  }

  lookAlike({ count = 1 }: { readonly count?: number } = {}): void {
    this.chain.lookAlikesLeft = count;
  }

  advance(): number {
    return this.chain.advance().slot;
  }

  clear(what?: Misbehaviour): void {
    for (const name of what === undefined ? misbehaviours : [what]) this.switches[name].off();
  }

  status(): ControlStatus {
    const { slot, confirmedSlot, finalizedSlot } = this.chain;
    const active = misbehaviours.filter((name) => this.switches[name].on());
    return { active, slot, confirmedSlot, finalizedSlot, delivery: this.delivery.counts, requestsRefused: this.http.refused };
  }

  private readonly switches: Readonly<Record<Misbehaviour, { readonly on: () => boolean; readonly off: () => void }>> = {
    drop: { on: () => this.delivery.dropShare > 0, off: () => this.drop({ share: 0 }) },
    stall: { on: () => this.delivery.stalled, off: () => void (this.delivery.stalled = false) },
    lag: { on: () => this.delivery.lagMs > 0, off: () => this.delivery.setLag(0) },
    cut: { on: () => performance.now() < this.refuseUntilMs, off: () => void (this.refuseUntilMs = 0) },
    truncate: { on: () => this.chain.truncation.left > 0, off: () => this.truncate({ count: 0 }) },
    lie: { on: () => this.chain.lie !== null, off: () => void (this.chain.lie = null) },
    error429: { on: () => (this.http.error429?.left ?? 0) > 0, off: () => void (this.http.error429 = null) },
    slow: { on: () => this.http.slow !== null, off: () => void (this.http.slow = null) },
    unhealthy: { on: () => this.behindSlots !== null, off: () => void (this.behindSlots = null) },
    duplicate: { on: () => this.delivery.duplicateShare > 0, off: () => this.duplicate({ share: 0 }) },
    reorder: { on: () => this.reordering, off: () => void (this.reordering = false) },
    lookAlike: { on: () => this.chain.lookAlikesLeft > 0, off: () => this.lookAlike({ count: 0 }) },
  };
}
