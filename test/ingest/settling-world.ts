import { afterEach } from 'vitest';
import type { Config } from '@sluice/shared/config/config.ts';
import { createInProcessBus } from '@sluice/shared/bus/in-process/in-process-bus.ts';
import { InProcessMarket } from '@sluice/shared/market/in-process-market.ts';
import { solPricePool } from '@sluice/venues/registry.ts';
import { clockSysvar } from '@sluice/shared/solana/well-known.ts';
import { programId as whirlpoolProgram } from '@sluice/venues/orca/whirlpool/program.ts';
import { startIngest } from '@sluice/ingest/ingest.ts';
import { readRecord, type LogRecord } from '../../ingest/src/publisher/log-tail.ts';
import { recordingLog, type LogLine } from './harness.ts';
import { fastClock } from '../support/clocks.ts';
import { until } from '../support/until.ts';
import { testConfig } from '../support/test-config.ts';
import { addressOf, pumpProgram, signatureOf, whirlpoolBytes } from './pump-frames.ts';
import { dataLine, invoked, routedTradeLogs } from './log-frames.ts';
import { curveBuy } from './some-trades.ts';
import { wholeTransaction } from './whole-transaction.ts';
import { accountAnswers, accountJson, startScriptedNode, type Answer, type ScriptedNode } from './scripted-node.ts';

/** Busy machines answer late. */
export const patient = fastClock(0.2);
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** A block as `getBlock` shows its signatures. */
export interface Shown {
  readonly bank: string;
  /** Further signatures. */
  readonly others?: readonly string[];
  readonly names: readonly string[];
  /** Transactions as a whole block shows them, in place of the usual ones. */
  readonly whole?: readonly unknown[];
  readonly parent?: number;
}

const coin = addressOf('coin');
export const tradeOf = (name: string): string => `${signatureOf(name)}:3.0`;
/** Each transaction buys for another amount, from the initial reserves. */
const amounts: Readonly<Record<string, bigint>> = { a: 5_000_000_000n, b: 1_000_000_000n, c: 2_000_000_000n, d: 3_000_000_000n };
const logsOf = (name: string): string[] =>
  routedTradeLogs(curveBuy({ solAmount: amounts[name]!, virtualSol: 30_000_000_000n + amounts[name]! }));
const clock = accountJson('Sysvar1111111111111111111111111111111111111', Buffer.alloc(40));
const price = accountJson(whirlpoolProgram, whirlpoolBytes(150));

export class World {
  readonly nodes: ScriptedNode[] = [];
  /** By slot: the block that every node shows, unless `shownBy` has another one. */
  readonly blocks = new Map<number, Shown>();
  readonly shownBy = new Map<ScriptedNode, (slot: number) => Answer | undefined>();
  /** Answers to `getTransaction`, by signature. */
  readonly transactions = new Map<string, Answer>();
  /** The same of one node, by the node. */
  readonly transactionsOf = new Map<ScriptedNode, ReadonlyMap<string, Answer>>();
  confirmedSlot = 1_000;
  readonly lines: LogLine[] = [];
  /** Accounts that every node shows. */
  readonly accounts = new Map([[solPricePool.address, price]]);
  readonly bus = createInProcessBus();
  readonly market = new InProcessMarket();
  ingest!: Awaited<ReturnType<typeof startIngest>>;

  /** Endpoints that report nothing by themselves; the ingest process leads. */
  static async of(count: number, blockClock = patient, sources: Config['sources'] = ['logs']): Promise<World> {
    const world = new World();
    const accounts = accountAnswers(world.accounts, 1_000);
    for (let index = 0; index < count; index++) {
      const node = await startScriptedNode();
      closers.push(() => node.close());
      node.onCall = (method, params) => {
        if (method === 'getBlock') return world.#block(node, params);
        if (method === 'getSlot') return { result: world.confirmedSlot };
        const signature = String(params[0]);
        return world.transactionsOf.get(node)?.get(signature) ?? world.transactions.get(signature) ?? accounts(method, params);
      };
      world.nodes.push(node);
    }
    closers.push(() => world.bus.close());
    const rpc = { httpUrls: world.nodes.map(({ httpUrl }) => httpUrl), wsUrls: world.nodes.map(({ wsUrl }) => wsUrl) };
    const { bus, market } = world;
    const { signal } = new AbortController();
    const clocks = { clock: fastClock(10), blockClock };
    world.ingest = await startIngest({
      config: { ...testConfig, rpc, sources },
      bus,
      market,
      ...clocks,
      log: recordingLog(world.lines),
      signal,
    });
    closers.push(() => world.ingest.close());
    await until('all are up', () => {
      const { endpoints, leads } = world.ingest.stats();
      return leads && endpoints.every(({ state, slot }) => state === 'up' && slot > 1_000);
    });
    for (const node of world.nodes) node.reportsSlots = false;
    return world;
  }

  /** A slot after all that were reported. */
  get next(): number {
    return Math.max(...this.nodes.map(({ slot }) => slot)) + 1;
  }

  slot(slot: number, parent: number, nodes: readonly ScriptedNode[] = this.nodes): void {
    for (const node of nodes) {
      node.slot = Math.max(node.slot, slot);
      node.notify('slotNotification', 'slotSubscribe', { slot, parent, root: 1 });
    }
  }

  confirm(slot: number, nodes: readonly ScriptedNode[] = this.nodes): void {
    this.confirmedSlot = slot;
    for (const node of nodes) {
      node.notify('accountNotification', 'accountSubscribe', { context: { slot }, value: clock }, ([address]) => address === clockSysvar);
    }
  }

  logs(name: string, slot: number, nodes: readonly ScriptedNode[] = this.nodes): void {
    for (const node of nodes) node.logs(signatureOf(name), logsOf(name), { slot });
  }

  published(trades: number): Promise<unknown> {
    return until(`${trades} trades are published`, () => this.ingest.stats().events.trades === trades);
  }

  async log(): Promise<LogRecord[]> {
    return (await this.bus.tail(4_096)).flatMap((entry) => readRecord(entry) ?? []);
  }

  /** Trades in the log that were not retracted, with their slots. */
  async trades(): Promise<Record<string, number>> {
    const found = new Map<string, number>();
    for (const record of await this.log()) {
      if (record.kind === 'published' && record.topics.includes('trades')) found.set(record.id, record.slot);
      else if (record.kind === 'retracted') found.delete(record.id);
    }
    return Object.fromEntries(found);
  }

  async retracted(): Promise<string[]> {
    return (await this.log()).flatMap((record) => (record.kind === 'retracted' ? [record.id] : []));
  }

  async isNamed(slot: number, as: 'alive' | 'dead' | 'unknown' = 'alive'): Promise<boolean> {
    return (await this.log()).some((record) => record.kind === 'slots' && record.verdict[as]?.includes(slot) === true);
  }

  settled(slot: number, as?: 'alive' | 'dead' | 'unknown'): Promise<unknown> {
    return until(`slot ${slot} is settled`, () => this.isNamed(slot, as));
  }

  /** Whole quote coins in the candles of the coin, once `slot` is settled. */
  async volume(): Promise<number> {
    await until('the market has the log', async () => (await this.market.checkpoint())?.offset === (await this.bus.tail(1))[0]?.offset);
    const buckets = await this.market.buckets(coin, '1h', 0, 4_000_000_000, 10);
    return buckets.reduce((sum, { volumeQuote }) => sum + volumeQuote, 0);
  }

  #block(node: ScriptedNode, [place, options]: readonly unknown[]): Answer {
    const slot = Number(place);
    const other = this.shownBy.get(node)?.(slot);
    if (other !== undefined) return other;
    const shown = this.blocks.get(slot);
    return shown === undefined
      ? { error: { code: -32004, message: `Block not available for slot ${slot}` } }
      : answerOf(slot, shown, (options as { readonly transactionDetails: string }).transactionDetails === 'full');
  }
}

export function answerOf(
  slot: number,
  { bank, names, whole = names.map((name) => wholeOf(name)), parent = slot - 1, others = [] }: Shown,
  isFull = false,
): Answer {
  const [blockhash, previousBlockhash] = [addressOf(`${bank} ${slot}`), addressOf(`${bank} ${parent}`)];
  const content = isFull ? { transactions: whole } : { signatures: [...names.map(signatureOf), ...others] };
  return { result: { blockhash, previousBlockhash, parentSlot: parent, blockHeight: slot, blockTime: 1, ...content } };
}

/** A buy for so many lamports as the whole transaction and as logs, both with the path `0`. */
const buyFor = (solAmount: bigint): Buffer => curveBuy({ solAmount, virtualSol: 30_000_000_000n + solAmount });
export const wholeOf = (name: string, solAmount = amounts[name]!) => ({ ...wholeTransaction(signatureOf(name), [buyFor(solAmount)]) });
export const shortLogsOf = (name: string, solAmount = amounts[name]!): string[] => invoked(pumpProgram, 1, [dataLine(buyFor(solAmount))]);
