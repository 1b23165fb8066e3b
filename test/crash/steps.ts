import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { endStates, type OrderState } from '@sluice/gateway/store/order-model/order.ts';
import type { QuotedTrade } from '@sluice/venues/seam/quoting.ts';
import { until } from '../support/gateway.ts';
import { tokensOf, tradeOnChain } from '../support/chain/quoted-trades.ts';
import type { FinalAnswer } from './client.ts';
import type { CrashWorld } from './crash-world.ts';
import type { GatewayProcess } from './gateway-process.ts';
import { holdWrites, stallStoring } from './store-stall.ts';
import type { Wish } from './wishes.ts';

/** An order of one wallet on its way through a gateway that will be killed. */
export interface Round {
  readonly world: CrashWorld;
  readonly gateway: GatewayProcess;
  readonly wallet: string;
  readonly mint: string;
  readonly wish: Wish;
  /** The client starts its request if it has not yet, and repeats it until it is answered. */
  begin(): void;
  /** The client's last answer. */
  readonly answer: Promise<FinalAnswer>;
  /** Kills the gateway, and starts another in its place. */
  restart(): Promise<GatewayProcess>;
  /** From 0 up to 1, another number for each call; the same for the same seed. */
  random(): number;
}

/** `release`: continues what was held; called after the kill. */
export interface Brought {
  release(): Promise<void> | void;
  /** The process to kill, if it has changed by now. */
  readonly gateway?: GatewayProcess;
  /**
   * The order was not seen at the step: its client has its answer already, or it has ended, for example because another lane let many blocks
   * pass. The step is repeated with another order.
   */
  readonly isMissed?: boolean;
}

export type StepName = keyof typeof steps;

const withinMs = 180_000;
/** A gateway that does not answer for this long does nothing else either. */
const stuckMs = 1_500;
/** How long the store stays closed for one attempt to sign. A gateway that has not proven in time that the store accepts orders does not sign. */
const signedWithinMs = 3_000;
const missed: Brought = { release: () => undefined, isMissed: true };
/** Moves the price of the coin on its curve by a tenth or more. */
const movingLamports = 3_000_000_000n;

async function soon<T>(what: string, promise: Promise<T>): Promise<T> {
  const late = new AbortController();
  const timer = pause(withinMs, undefined, { signal: late.signal }).then(
    () => Promise.reject(new Error(`never came: ${what}`)),
    () => new Promise<never>(() => undefined),
  );
  try {
    return await Promise.race([promise, timer]);
  } finally {
    late.abort();
  }
}

/** Waits until the gateway has done what it can without waiting for others: some turns of its event loop. */
async function atRest({ gateway }: Round): Promise<void> {
  for (let i = 0; i < 3; i++) await (await fetch(`${gateway.url}/livez`)).text();
}

async function stateOf({ world: { db }, wallet, wish }: Pick<Round, 'world' | 'wallet' | 'wish'>): Promise<OrderState | null> {
  const own = 'SELECT state FROM orders WHERE spend_wallet = ? OR signature = ? ORDER BY id DESC LIMIT 1';
  const row = await db.get(own, wallet, wish.signature ?? '');
  return row === null ? null : (String(row['state']) as OrderState);
}

/** `isMissed` if the client gets its answer without such a call. */
async function held(round: Round, method: string, at: 'request' | 'answer'): Promise<Brought> {
  const hold = round.world.gate.hold(method, round.wallet, at);
  round.begin();
  const isHeld = await soon(`${method} of ${round.wallet}`, Promise.race([hold.reached.then(() => true), round.answer.then(() => false)]));
  if (isHeld) return hold;
  hold.release();
  return missed;
}

/** Half of the request has arrived. */
async function arriving(round: Round): Promise<Brought> {
  const { hostname, port } = new URL(round.gateway.url);
  const body = JSON.stringify(round.wish.body);
  const socket = connect(Number(port), hostname);
  // The kill cuts it.
  socket.on('error', () => undefined);
  const lines = [
    `POST ${round.wish.path} HTTP/1.1`,
    'host: crash',
    `authorization: Bearer ${round.world.apiKey}`,
    'content-type: application/json',
    `idempotency-key: ${round.wish.idempotencyKey}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  await new Promise<void>((resolve) => socket.write(`${lines.join('\r\n')}\r\n\r\n${body.slice(0, body.length / 2)}`, () => resolve()));
  await atRest(round);
  return {
    release: () => {
      socket.destroy();
      round.begin();
    },
  };
}

/** The gateway asks for the wallet's balance. */
async function quoting(round: Round): Promise<Brought> {
  return await held(round, 'getMultipleAccounts', 'request');
}

/** The node has not received the simulation. */
async function simulating(round: Round): Promise<Brought> {
  return await held(round, 'simulateTransaction', 'request');
}

/** The node has simulated it, and the answer is held. */
async function simulated(round: Round): Promise<Brought> {
  return await held(round, 'simulateTransaction', 'answer');
}

/** The message is with the signing process, which is stopped. */
async function signing(round: Round): Promise<Brought> {
  const hold = await held(round, 'simulateTransaction', 'answer');
  if (hold.isMissed === true) return hold;
  await round.gateway.stopSigner();
  await hold.release();
  await atRest(round);
  return { release: () => undefined };
}

/** Signed; the store does not accept it yet. */
async function storing(round: Round): Promise<Brought> {
  const { db, kind } = round.world;
  const endMs = performance.now() + withinMs;
  for (let attempt = 0; ; attempt++) {
    if ((await signing(round)).isMissed === true) return missed;
    const lines = auditLines(round);
    // Not before the message is with the signing process. On a busy machine this takes the longer, the more attempts have failed.
    await pause(attempt * 100);
    const writes = await holdWrites(db, kind, round.wallet);
    round.gateway.continueSigner();
    try {
      await until('the signature', () => auditLines(round) > lines, signedWithinMs);
      await atRest(round);
      return writes;
    } catch (error) {
      await writes.release();
      // Its client asks again, unless the order was signed and stored just now.
      if (performance.now() > endMs) throw error;
    }
  }
}

/** In the middle of the transaction that stores it. */
async function inserting(round: Round): Promise<Brought> {
  const { world, wallet } = round;
  const stall = await stallStoring(world.db, world.kind, wallet);
  round.begin();
  await until('the transaction to stand still', () => (world.kind === 'SQLite' ? isStuck(round) : stall.isReached()), withinMs);
  return stall;
}

/** Whether the gateway is in work that cannot be interrupted. */
async function isStuck({ gateway }: Round): Promise<boolean> {
  return await fetch(`${gateway.url}/livez`, { signal: AbortSignal.timeout(stuckMs) }).then(
    () => false,
    (error: unknown) => error instanceof Error && error.name === 'TimeoutError',
  );
}

function auditLines({ world }: Round): number {
  return world.auditFiles().reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length, 0);
}

/** Stored as being sent; no node has received it. */
async function sending(round: Round): Promise<Brought> {
  return await held(round, 'sendTransaction', 'request');
}

/** The node has it, and its answer never arrives. */
async function sent(round: Round): Promise<Brought> {
  return await held(round, 'sendTransaction', 'answer');
}

/** The client has its answer. */
async function answered(round: Round): Promise<Brought> {
  round.begin();
  await soon('the answer', round.answer);
  return { release: () => undefined };
}

function followed(...states: readonly OrderState[]) {
  return async (round: Round): Promise<Brought> => {
    round.begin();
    const state = await until(
      `the order to be ${states.join(' or ')}`,
      async () => {
        const now = await stateOf(round);
        return now !== null && (states.includes(now) || endStates.has(now)) && now;
      },
      withinMs,
    );
    return { release: () => undefined, isMissed: !states.includes(state) };
  };
}

/** Its message lands and fails, because the price moved while it was on its way. */
async function failing(round: Round): Promise<Brought> {
  const { chain, coins } = round.world;
  const hold = await held(round, 'sendTransaction', 'request');
  if (hold.isMissed === true) return hold;
  const coin = coins.find(({ mint }) => mint === round.mint);
  if (coin === undefined) throw new Error('the coin does not exist');
  const before = tokensOf(chain, coin);
  const trade = (what: QuotedTrade): void => {
    const { err, logs } = tradeOnChain(chain, coin, 'pump', what, 1n);
    if (err !== null) throw new Error(logs.join('\n'));
  };
  trade({ exact: 'quoteIn', amount: movingLamports });
  await hold.release();
  await until('the order to be seen', async () => !['simulated', 'submitted'].includes((await stateOf(round)) ?? ''), withinMs);
  // Moved back, otherwise the curve would complete at some time.
  return { release: () => trade({ exact: 'baseIn', amount: tokensOf(chain, coin) - before }) };
}

/** Its gateway was killed before, and the next one has just claimed the order. */
async function recovering(round: Round): Promise<Brought> {
  const hold = await sent(round);
  if (hold.isMissed === true) return hold;
  const gateway = await round.restart();
  await pause(round.random() * 400);
  return { ...hold, gateway };
}

/** Anywhere in its first moments. */
async function anywhere(round: Round): Promise<Brought> {
  round.begin();
  await pause(round.random() * 60);
  return { release: () => undefined };
}

/** One lane at a time: these steps stop the signing process or the store, or move the price. */
export const aloneSteps: ReadonlySet<StepName> = new Set(['signing', 'storing', 'inserting', 'failing']);

/** Steps that do not exist for a transaction that its caller signed, or not in the same way as for a custodial wallet. */
export const custodialSteps: ReadonlySet<StepName> = new Set(['quoting', 'signing', 'storing', 'inserting']);

/** Where an order is when a process is killed, in the order of its life. */
export const steps = {
  arriving,
  quoting,
  simulating,
  simulated,
  signing,
  storing,
  inserting,
  sending,
  sent,
  answered,
  processed: followed('processed', 'confirmed'),
  confirmed: followed('confirmed'),
  failing,
  recovering,
  anywhere,
} as const satisfies Readonly<Record<string, (round: Round) => Promise<Brought>>>;
