import { TokenBook } from '@sluice/gateway/reads/tokens/token-book.ts';
import { portfolioBinding } from '@sluice/gateway/reads/wallets/portfolio-endpoint.ts';
import { PoolReader } from '@sluice/gateway/reads/pools/pool-reader.ts';
import { MarketHealth } from '@sluice/gateway/reads/market-health.ts';
import { RpcAccountReader } from '@sluice/gateway/reads/chain/rpc-account-reader.ts';
import { LazyEvent } from '../../gateway/src/stream/history/lazy-event.ts';
import { History } from '../../gateway/src/stream/history/history.ts';
import { LogEntry, type BusStatus } from '@sluice/shared/bus/bus.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { ConfirmedSlots } from '@sluice/shared/market/verdicts/confirmed-slots.ts';
import type { MarketReader, MarketSummary } from '@sluice/shared/market/market.ts';
import type { KnownPool, PoolLookup } from '@sluice/shared/market/pools/pool-directory.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { RpcError } from '@sluice/shared/solana/rpc/rpc.ts';
import { venues } from '@sluice/venues/registry.ts';
import type { StreamEvent } from '@sluice/shared/wire/events/events.ts';
import type { Portfolio } from '@sluice/shared/wire/rest/wallets/portfolio.ts';
import type { TokenInfo } from '@sluice/shared/wire/rest/tokens/token.ts';
import type { Chain } from '../simnet/chain.ts';
import { manualClock } from '../support/clocks.ts';
import { entryOf } from '../support/events/stream-events.ts';

const log = createLog({ level: 'silent', name: 'test' });

/** An account as a node reports it. */
export interface NodeAccount {
  owner: string;
  lamports: number;
  data: [string, string];
  executable: boolean;
}

/** A node that answers from a chain, or lies on request of the test. */
export class ScriptedNode implements Rpc {
  calls = 0;
  unavailable = false;
  slot: number | null = null;
  lie: (address: string, account: NodeAccount | null) => unknown = (_address, account) => account;
  answerLie: (answer: unknown) => unknown = (answer) => answer;
  readonly asked: (readonly string[])[] = [];
  readonly #chain: Chain;

  constructor(chain: Chain) {
    this.#chain = chain;
  }

  async call(method: string, params: readonly unknown[], _signal?: AbortSignal, accept?: (answer: unknown) => boolean): Promise<unknown> {
    if (method !== 'getMultipleAccounts') throw new Error(`unexpected ${method}`);
    this.calls++;
    await new Promise((resolve) => setImmediate(resolve));
    if (this.unavailable) throw new RpcError('unreachable', 0, 'unavailable');
    const addresses = params[0] as readonly string[];
    this.asked.push(addresses);
    const answer = this.answerLie({
      context: { slot: this.slot ?? this.#chain.slot },
      value: addresses.map((address) => this.lie(address, this.accountAt(address))),
    });
    void accept?.(answer);
    return answer;
  }

  accountAt(address: string): NodeAccount | null {
    const account = this.#chain.account(address);
    if (account === null) return null;
    const { owner, lamports, data, executable } = account;
    return { owner, lamports: Number(lamports), data: [Buffer.from(data).toString('base64'), 'base64'], executable };
  }
}

const leading = { leads: true, endpointsUp: 1, simulated: true, slot: 0 };

/** A book with a scripted node, and with a log and a record of the market that the test controls. */
export class BookHarness {
  readonly node: ScriptedNode;
  readonly reader: RpcAccountReader;
  readonly history = new History({ maxEntries: 10_000, maxBytes: 64 * 1024 * 1024 });
  readonly health: MarketHealth;
  readonly clock = manualClock();
  readonly slots = new ConfirmedSlots();
  /** Pools of the directory, by mint. */
  readonly known = new Map<string, readonly KnownPool[]>();
  readonly directory: { poolsOf: PoolLookup['poolsOf'] } = { poolsOf: async (mint) => this.known.get(mint) ?? [] };
  readonly book: TokenBook;
  linkUp = true;
  epoch = 'epoch-one-xx';
  summary: MarketSummary = { checkpoint: { epoch: this.epoch, offset: 0 }, minutes: [], price: null };
  /** Resolves before the summary is answered. */
  beforeSummary: () => Promise<void> | void = () => undefined;
  offset = 0;
  readonly #seqs = new Map<string, number>();

  constructor(chain: Chain) {
    this.node = new ScriptedNode(chain);
    this.health = new MarketHealth({ statuses: async () => [], linkUp: () => this.linkUp, clock: this.clock });
    this.reader = new RpcAccountReader([this.node], {
      newestSlot: () => this.health.newestSlot(),
      signal: new AbortController().signal,
    });
    const market: MarketReader = {
      summary: async () => {
        const { summary } = this;
        await this.beforeSummary();
        return summary;
      },
      buckets: async () => [],
      trades: async () => [],
      reportDemand: async () => [],
    };
    this.book = new TokenBook({
      accounts: { read: async (addresses) => ({ ...(await this.reader.read(addresses)), askedAtMs: this.clock.steadyMs() }) },
      market,
      history: this.history,
      health: this.health,
      pools: new PoolReader({ reader: this.reader, venues, directory: this.directory, log }),
      placeOf: (epoch) => (epoch === this.epoch ? { end: this.offset, isWhole: true } : null),
      slots: this.slots,
      offChain: () => null,
      clock: this.clock,
      log,
    });
    this.ingest({});
  }

  /** The status that the leading ingest process reports. */
  ingest(value: Readonly<Record<string, unknown>>): void {
    const status: BusStatus = {
      name: 'ingest:test',
      value: { ...leading, solUsd: { price: 150, slot: 1, ageMs: 100, stale: false }, ...value },
    };
    this.health.take([status]);
  }

  /** Adds one entry to the log. */
  append(event: StreamEvent, topics?: string[]): LogEntry {
    const { record, topics: names } = entryOf(event, ...(topics === undefined ? [] : [topics]));
    const numbered = names.map((topic) => {
      const seq = (this.#seqs.get(topic) ?? 0) + 1;
      this.#seqs.set(topic, seq);
      return { topic, seq };
    });
    const entry = new LogEntry(++this.offset, numbered, record);
    this.history.append(entry);
    this.book.onEntry(entry, new LazyEvent(entry), false);
    return entry;
  }

  /** The answer two seconds later, when the newest price has lasted. */
  async lasting(mint: string): Promise<TokenInfo> {
    this.clock.suspend(2_000);
    return this.info(mint);
  }

  async info(mint: string): Promise<TokenInfo> {
    const outcome = await this.book.find(mint);
    if (!outcome.ok) throw new Error(outcome.reason);
    this.book.refreshIfDue(outcome.token);
    this.book.rendered.clear();
    return JSON.parse(this.book.render(outcome.token).toString()) as TokenInfo;
  }

  /** Answers `GET /portfolio` as a gateway with this node and this history. */
  portfolio(rpc: Rpc, history = this.history): (publicKey: string) => Promise<Portfolio | { readonly error: string }> {
    const { health, book, clock } = this;
    const { signal } = new AbortController();
    const { handler } = portfolioBinding({ rpc, book, health, history, paperBalanceOf: () => null, clock, log, signal });
    return async (publicKey) => {
      const answer = (await handler({ params: { publicKey } } as never)) as { jsonBytes: Uint8Array } | { error: string };
      return 'error' in answer ? answer : (JSON.parse(Buffer.from(answer.jsonBytes).toString()) as Portfolio);
    };
  }
}
