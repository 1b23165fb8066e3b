import { tokensOf } from '../support/chain/quoted-trades.ts';
import { order, type FinalAnswer } from './client.ts';
import { laneCount, type CrashWorld } from './crash-world.ts';
import type { GatewayProcess, Victim } from './gateway-process.ts';
import { aloneSteps, custodialSteps, steps, type Brought, type Round, type StepName } from './steps.ts';
import { judgeAll, settled, type Case, type Judgement } from './truth.ts';
import { newWish, ways, type Way } from './wishes.ts';

/**
 * One kill: at which steps orders must be (in the order in which they get there), which process dies, and whether the orders have expired
 * when a gateway starts again.
 */
export interface Kill {
  readonly steps: readonly StepName[];
  readonly victim: Victim;
  readonly late: boolean;
}

export interface CrashReport extends Judgement {
  /** How many orders were at each step when a process was killed. */
  readonly cutOff: Readonly<Partial<Record<StepName, number>>>;
  readonly killed: { readonly gateways: number; readonly signers: number };
  readonly startsMs: readonly number[];
}

/** Orders for one step. */
const maxMissed = 20;
/** More blocks than a blockhash lives. */
const lateBlocks = 200;

/** Random numbers that depend only on a seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Carries out the kills on all lanes at once, waits until every order has ended, and compares the result with the chain. */
export async function runCrashes(world: CrashWorld, kills: readonly Kill[], seed: number): Promise<CrashReport> {
  const cases: Promise<Case>[] = [];
  const counts: Partial<Record<StepName, number>> = {};
  const queue = [...kills];
  const random = randomFrom(seed);
  const inTurn = createTurns();
  const lanes = Array.from({ length: laneCount }, async (_, lane) => {
    for (let kill = queue.shift(); kill !== undefined; kill = queue.shift()) {
      const one = kill;
      // Its start takes long, so it is not part of a turn.
      await (await world.gateway(lane)).signerReady();
      const carry = (): Promise<void> => carryOut(world, lane, one, random, cases);
      await (kill.steps.some((step) => aloneSteps.has(step)) ? inTurn(carry) : carry());
      for (const step of kill.steps) counts[step] = (counts[step] ?? 0) + 1;
      await world.checkAudit();
    }
  });
  await Promise.all(lanes);
  for (let lane = 0; lane < laneCount; lane++) await world.gateway(lane);
  const ended = await Promise.all(cases);
  await settled(world);
  return { ...(await judgeAll(world, ended)), cutOff: counts, killed: { ...world.killed }, startsMs: world.startsMs };
}

async function newCase(
  world: CrashWorld,
  gateway: GatewayProcess,
  step: StepName,
  way: Way,
  random: () => number,
): Promise<Omit<Case, 'answer'>> {
  const [onCurve, inPool] = world.coins;
  if (onCurve === undefined || inPool === undefined) throw new Error('there are two coins');
  const isSell = step !== 'failing' && random() < 0.3;
  const coin = isSell || step === 'failing' || random() < 0.5 ? onCurve : inPool;
  const wallet = await world.newWallet(isSell ? coin : undefined);
  const { publicKey } = wallet;
  const before = { lamports: world.chain.account(publicKey)?.lamports ?? 0n, tokens: tokensOf(world.chain, coin, publicKey) };
  const { mint } = coin;
  const options = { side: isSell ? 'sell' : 'buy', wallet, mint, slippage: step === 'failing' ? 5 : 45 } as const;
  return { wish: await newWish(way, options, { url: gateway.url, apiKey: world.apiKey }), wallet: publicKey, mint, before };
}

/** Gives turns, one after the other. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
}

async function carryOut(world: CrashWorld, lane: number, kill: Kill, random: () => number, cases: Promise<Case>[]): Promise<void> {
  const brought: Brought[] = [];
  for (const step of kill.steps) {
    let one = await steps[step](await newRound(world, lane, step, random, cases));
    for (let orders = 1; one.isMissed === true; orders++) {
      if (orders === maxMissed) throw new Error(`${orders} orders were not seen at the step ${step}`);
      one = await steps[step](await newRound(world, lane, step, random, cases));
    }
    brought.push(one);
  }
  const gateway = brought.findLast((one) => one.gateway !== undefined)?.gateway ?? (await world.gateway(lane));
  // Within SQLite only its end stops a gateway.
  await end(world, gateway, kill.steps.includes('inserting') && kill.victim === 'signer' ? 'both' : kill.victim);
  // Before the blocks: the other lane cannot wait for the store all that time.
  for (const one of brought) await one.release();
  if (kill.late) for (let block = 0; block < lateBlocks; block++) world.chain.advance();
}

async function end(world: CrashWorld, gateway: GatewayProcess, victim: Victim): Promise<void> {
  await gateway.kill(victim);
  if (victim !== 'signer') world.killed.gateways++;
  if (victim !== 'gateway') world.killed.signers++;
}

async function newRound(world: CrashWorld, lane: number, step: StepName, random: () => number, cases: Promise<Case>[]): Promise<Round> {
  const gateway = await world.gateway(lane);
  const turn = ways[cases.length % ways.length]!;
  const way = turn === 'sent' && custodialSteps.has(step) ? 'pumpportal' : turn;
  const one = await newCase(world, gateway, step, way, random);
  let resolveAnswer: (answer: Promise<FinalAnswer>) => void = () => undefined;
  const answer = new Promise<FinalAnswer>((resolve) => (resolveAnswer = resolve));
  const ended = answer.then((last) => ({ ...one, answer: last }));
  // Reported to the caller that waits for all of them, unless a kill failed before.
  ended.catch(() => undefined);
  cases.push(ended);
  // Its own gateway while that runs.
  const urls = (): readonly string[] => (gateway.isAlive ? [gateway.url] : world.urls(lane));
  let begun = false;
  return {
    world,
    gateway,
    wallet: one.wallet,
    mint: one.mint,
    wish: one.wish,
    begin: () => {
      if (!begun) resolveAnswer(order(one.wish, { apiKey: world.apiKey, urls }));
      begun = true;
    },
    answer,
    random,
    restart: async () => {
      await end(world, gateway, 'gateway');
      return world.gateway(lane);
    },
  };
}
