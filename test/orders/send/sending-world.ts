import { quoteCoins } from '@sluice/shared/wire/values/money.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assembleMarket, planMarket } from '@sluice/gateway/reads/pools/quoted-market.ts';
import { quoteOfOrder } from '@sluice/trading/quote/answer.ts';
import { openStore, type Store } from '@sluice/gateway/store/store.ts';
import { createMessageBuilder, type BuildRequest } from '../../../trading/src/prepare/message-builder.ts';
import {
  endStates,
  type NewOrder,
  type OrderKind,
  type OrderTerms,
  type StoredOrder,
  type PublishedOrder,
} from '@sluice/gateway/store/order-model/order.ts';
import { Broadcaster } from '../../../trading/src/send/broadcaster.ts';
import { Follower } from '../../../trading/src/follow/follower.ts';
import { firstRound, createLanes, type Lanes } from '../../../trading/src/send/lanes.ts';
import { createSendNodes, type SendNode } from '../../../trading/src/nodes/nodes.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { signMessage, type Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { newestPossibleSlot } from '@sluice/shared/solana/newest-slot.ts';
import { tokenAccountBytes } from '@sluice/shared/solana/tokens/token-account.ts';
import { assembleTransaction, decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import { tokenProgram } from '@sluice/shared/solana/well-known.ts';
import { slippageBounds, type Quote, type QuotedPool, type QuotedTrade } from '@sluice/venues/seam/quoting.ts';
import { venues } from '@sluice/venues/registry.ts';
import { minimumBalance } from '../../simnet/ledger/rent.ts';
import { wallet } from '../../simnet/runtime/wallets.ts';
import { createChain, type SimChain } from '../../simnet/sim-chain.ts';
import { startSimnet, type Simnet } from '../../simnet/simnet.ts';
import { launchCoin, maker, trader, type QuotedCoin } from '../../support/chain/quoted-trades.ts';
import { fastClock } from '../../support/clocks.ts';
import { newOrder } from '../../support/orders.ts';
import { startTamperedNode, type TamperedNode } from '../../support/chain/tampered-node.ts';
import { atAnyTime } from '../../support/chain/quote-moment.ts';

/** A chain behind several nodes, a store, and open orders: everything that sending uses. */
export const buyer = wallet('sending', 'buyer');
export const pauper = wallet('sending', 'pauper');
const lamports = 400_000n * 10n ** 9n;
/** 20 times as fast as mainnet, so that an order expires within seconds. */
const slotMs = 20;
/** A token account of Token-2022 with an immutable owner, as this program's coins have it. */
const baseAccountBytes = 170;
export const newestSlot = (): number => newestPossibleSlot;
const log = createLog({ level: 'silent', name: 'test' });

export interface Prepared {
  readonly wire: Uint8Array;
  readonly signature: string;
  readonly blockhash: string;
  readonly lastValidBlockHeight: number;
  readonly terms: OrderTerms;
  readonly trade: QuotedTrade;
  readonly slippageBps: bigint;
  readonly quote: Quote;
  /** Accounts that it creates if they are missing. */
  readonly makes: readonly { readonly address: string; readonly bytes: number }[];
}

export interface Gateway {
  readonly lanes: Lanes;
  readonly broadcaster: Broadcaster;
  readonly follower: Follower;
  readonly changes: PublishedOrder[];
  /** The first round, as the order path starts it. */
  send(message: Prepared): void;
  /** Ends without notifying anyone, like a process that was killed. */
  crash(): void;
  close(): Promise<void>;
}

/** Waits for a condition; fails with a message if it does not come true. */
export async function until(condition: () => boolean | Promise<boolean>, what: string, withinMs = 60_000): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`never came: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

interface WorldParts {
  readonly chain: SimChain;
  readonly coin: QuotedCoin;
  readonly simnets: readonly Simnet[];
  readonly nodes: readonly TamperedNode[];
  readonly store: Store;
  readonly dataDir: string;
}

export class World {
  readonly chain: SimChain;
  readonly coin: QuotedCoin;
  readonly simnets: readonly Simnet[];
  readonly nodes: readonly TamperedNode[];
  readonly sendNodes: readonly SendNode[];
  readonly store: Store;
  /** One for all gateways, because they compare their claims in the store; of each world, because it runs ahead of the real time. */
  readonly clock = fastClock(5);
  readonly #dataDir: string;
  readonly #builder = createMessageBuilder();
  readonly #gateways: Gateway[] = [];
  #price = 1_000n;

  constructor({ chain, coin, simnets, nodes, store, dataDir }: WorldParts) {
    this.chain = chain;
    this.coin = coin;
    this.simnets = simnets;
    this.nodes = nodes;
    this.sendNodes = createSendNodes(nodes.map(({ url }) => url));
    this.store = store;
    this.#dataDir = dataDir;
  }

  pool(): QuotedPool {
    return openPool(this.chain, this.coin).pool;
  }

  /** Quoted, built and signed; all are different. */
  prepare(trade: QuotedTrade, parts: Partial<BuildRequest> = {}, by: Keypair = buyer, slippageBps = 2_000n): Prepared {
    const { name, pool, tokenProgram: baseTokenProgram } = openPool(this.chain, this.coin);
    const outcome = pool.quote(trade, atAnyTime);
    if (!outcome.ok) throw new Error(outcome.fault);
    const { quote } = outcome;
    const bounds = slippageBounds(trade, quote, slippageBps);
    const bytes = { baseAccountBytes, quoteAccountBytes: tokenAccountBytes };
    const order = { user: by.publicKey, trade, quote, ...bounds, baseTokenProgram, quoteTokenProgram: tokenProgram, ...bytes };
    const { blockhash, lastValidBlockHeight } = this.chain.latestBlockhash();
    const wrappingRent = minimumBalance(tokenAccountBytes);
    const around = { baseAccountExists: null, wrappedSolExists: null, wrappingRent, computeUnitLimit: null };
    const built = this.#builder.build({ pool, order, ...around, microLamportsPerUnit: this.#price++, blockhash, ...parts });
    const wire = assembleTransaction(built.message, [signMessage(by, built.message)]);
    const terms: OrderTerms = {
      side: quote.side,
      mint: this.coin.mint,
      pool: name,
      poolAddress: pool.address,
      quoteMint: this.coin.quoteMint,
      baseDecimals: 6,
      quoteDecimals: 9,
      publicKey: by.publicKey,
    };
    const makes = [{ address: built.trade.baseAccount, bytes: baseAccountBytes }, ...built.trade.programAccounts];
    return { wire, signature: signatureOf(wire), blockhash, lastValidBlockHeight, terms, trade, slippageBps, quote, makes };
  }

  /** Stored as by the order path: ready to be sent. */
  async insert(prepared: Prepared, gatewayId: string, kind: OrderKind = 'lightning', more: Partial<NewOrder> = {}): Promise<StoredOrder> {
    const { wire, signature, blockhash, lastValidBlockHeight, terms } = prepared;
    const message = { signature, signedBytes: wire, blockhash, lastValidBlockHeight };
    const { mint, quoteMint, baseDecimals: decimals, quoteDecimals } = terms;
    const priced = { quote: prepared.quote, trade: prepared.trade, market: { decimals }, pool: { quoteMint }, quoteDecimals };
    const quoteJson = JSON.stringify(quoteOfOrder({ mint, slippageBps: prepared.slippageBps }, priced));
    const inserted = await this.store.orders.insert(newOrder(Date.now(), { ...message, terms, kind, quoteJson, ...more }), {
      idempotency: null,
      spend: null,
      followedBy: gatewayId,
    });
    if (inserted.kind !== 'stored') throw new Error(inserted.kind);
    return inserted.order;
  }

  gateway(gatewayId: string): Gateway {
    const gateway = newGateway(gatewayId, this);
    this.#gateways.push(gateway);
    return gateway;
  }

  async stateOf({ id }: StoredOrder): Promise<string | undefined> {
    return (await this.store.orders.byId(id))?.state;
  }

  /** The order after it has ended. */
  async ended(order: StoredOrder, withinMs?: number): Promise<StoredOrder> {
    await until(async () => endStates.has((await this.store.orders.byId(order.id))!.state), `the end of ${order.id}`, withinMs);
    return (await this.store.orders.byId(order.id))!;
  }

  /** Rent of the accounts that this transaction created. */
  rentOf({ signature, makes }: Prepared): bigint {
    const { accountKeys, preBalances, postBalances } = this.chain.transaction(signature)!;
    const isMade = (address: string): boolean => {
      const at = accountKeys.indexOf(address);
      return preBalances[at] === 0n && postBalances[at] !== 0n;
    };
    return makes.reduce((sum, { address, bytes }) => (isMade(address) ? sum + minimumBalance(bytes) : sum), 0n);
  }

  /** Transactions of this wallet that are in the chain now. */
  landed(by: Keypair = buyer): readonly string[] {
    const records = this.chain.signaturesFor(by.publicKey).filter(({ accountKeys }) => accountKeys[0] === by.publicKey);
    return records.map(({ signature }) => signature);
  }

  async close(): Promise<void> {
    this.chain.stop();
    for (const gateway of this.#gateways) await gateway.close();
    for (const node of this.nodes) await node.close();
    for (const simnet of this.simnets) await simnet.close();
    await this.store.close();
    rmSync(this.#dataDir, { recursive: true, force: true });
  }
}

function newGateway(gatewayId: string, { chain, sendNodes, store, clock }: World): Gateway {
  const changes: PublishedOrder[] = [];
  const { signal } = new AbortController();
  const maySend = (): boolean => true;
  const lanes = createLanes({ nodes: sendNodes, jitoUrl: null, senderUrl: null, maySend, signal });
  const broadcaster = new Broadcaster({ lanes, blockHeight: () => chain.blockHeight, clock, signal });
  let dead = false;
  const { orders } = store;
  const follower = new Follower({
    nodes: sendNodes,
    broadcaster,
    orders: {
      openOf: (...args) => orders.openOf(...args),
      openIdsOf: (...args) => orders.openIdsOf(...args),
      byId: (id) => orders.byId(id),
      // A dead process writes nothing more, and releases nothing.
      claim: (...args) => (dead ? Promise.resolve([]) : orders.claim(...args)),
      advanceAll: (...args) => (dead ? new Promise(() => undefined) : orders.advanceAll(...args)),
      release: (...args) => (dead ? Promise.resolve() : orders.release(...args)),
    },
    gatewayId,
    onChange: (order) => changes.push(order),
    newestSlot,
    clock,
    log,
  });
  return {
    lanes,
    broadcaster,
    follower,
    changes,
    send: ({ signature, wire }) => void firstRound(signature, wire, lanes),
    crash() {
      dead = true;
      broadcaster.close();
      void follower.close();
    },
    async close() {
      broadcaster.close();
      if (!dead) await follower.close();
    },
  };
}

export async function startWorld({ nodeCount = 2 }: { readonly nodeCount?: number } = {}): Promise<World> {
  const funded = [maker, trader, buyer].map(({ publicKey: address }) => ({ address, lamports, usdc: 10n ** 13n }));
  const chain = createChain({ seed: 'sending', market: false, funded, slotMs });
  const coin = launchCoin(chain);
  const simnets: Simnet[] = [];
  const nodes: TamperedNode[] = [];
  for (let i = 0; i < nodeCount; i++) {
    const simnet = await startSimnet({ chain, autoStart: false });
    simnets.push(simnet);
    nodes.push(await startTamperedNode(simnet.rpcUrl));
  }
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-sending-'));
  const store = await openStore({ dataDir, databaseUrl: null });
  return new World({ chain, coin, simnets, nodes, store, dataDir });
}

export function signatureOf(wire: Uint8Array): string {
  const decoded = decodeTransaction(wire);
  if (decoded.kind === 'malformed') throw new Error(decoded.reason);
  return decoded.signatures[0]!;
}

function openPool(chain: SimChain, { mint }: QuotedCoin): { name: 'pump' | 'pump-amm'; pool: QuotedPool; tokenProgram: string } {
  const assembled = assembleMarket(planMarket(mint, [...quoteCoins.keys()], venues), (address) => chain.account(address));
  if (assembled.kind !== 'market') throw new Error(JSON.stringify(assembled));
  const open = assembled.market.pools.find(({ pool }) => !pool.complete);
  if (open === undefined) throw new Error('no open pool');
  return { name: open.venue.name as 'pump' | 'pump-amm', pool: open.pool, tokenProgram: assembled.market.tokenProgram };
}
