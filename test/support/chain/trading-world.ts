import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { RecordSeal } from '@sluice/gateway/auth/record-seal.ts';
import { openKeystore, type Keystore } from '@sluice/trading/signer/custody/keystore.ts';
import { randomPassphraseCost } from '@sluice/trading/signer/custody/seal.ts';
import { startGateway, type Gateway, type GatewayOptions } from '../../../cli/gateway/gateway.ts';
import { openTrading, type Trading } from '@sluice/trading/api/trading.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { unsealedEvents } from '@sluice/gateway/stream/delivery/private-events.ts';
import { startIngest } from '@sluice/ingest/ingest.ts';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import { createBus } from '@sluice/shared/bus/create.ts';
import { agreedClock } from '@sluice/shared/runtime/clock/agreed-time.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { createMarket } from '@sluice/shared/market/create.ts';
import type { MarketStore } from '@sluice/shared/market/market.ts';
import { InProcessPoolDirectory } from '@sluice/shared/market/pools/in-process-pool-directory.ts';
import type { Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { decodeTransaction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { Scope } from '@sluice/shared/wire/values/plans.ts';
import { wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { TransactionRecord } from '../../simnet/chain.ts';
import type { ChainOptions } from '../../simnet/chain-options.ts';
import { minimumBalance } from '../../simnet/ledger/rent.ts';
import { wallet } from '../../simnet/runtime/wallets.ts';
import { createChain, type SimChain } from '../../simnet/sim-chain.ts';
import { startSimnet, type Simnet } from '../../simnet/simnet.ts';
import { startTamperedNode, type TamperedNode } from './tampered-node.ts';
import { testSealKey, until } from '../gateway.ts';
import { consumeMarket } from '../product/market-consumer.ts';
import { testConfig } from '../test-config.ts';
import { makeKey, openEmbeddedStore } from '../keys.ts';
import { maker, trader } from './quoted-trades.ts';

/** The keystore of a cluster that is configured by its address. */
export const keystoreName = 'cluster';
const lamports = 400_000n * 10n ** 9n;
const rawUsdc = 10n ** 13n;
const rawOther = 10n ** 16n;
/** An order is final after a second and a quarter, and its blockhash is valid for six seconds. */
const usualSlotMs = 40;
/** How long, and how often, a client asks again: a fifth of the reported times, so that tests are faster. */
const patienceMs = 45_000;
export const againAfterMs = 200;
const log = createLog({ level: 'silent', name: 'test' });

/** An HTTP answer for a client without types. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

export interface Asked {
  /** An API key. Default: the operator's. Empty: none. */
  readonly key?: string;
  readonly idempotencyKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface WalletOptions {
  readonly accountId?: string | null;
  readonly funds?: bigint;
  readonly usdc?: boolean;
}

/** Custodial wallets that the chain knows from the start. */
const richWallets = 16;
function richWallet(index: number): Keypair {
  if (index >= richWallets) throw new RangeError('as many wallets have USDC from the start as there are');
  return wallet('trading', `rich ${index}`);
}

export interface TradingWorldOptions {
  /** Whether the events of the chain are published to the stream. */
  readonly ingest?: boolean;
  /** Further wallets with SOL and USDC, by label. */
  readonly funded?: readonly Keypair[];
  readonly slotMs?: number;
  /** The venues that ingest reads; all by default. */
  readonly venues?: Config['venues'];
  readonly genesis?: Pick<ChainOptions, 'accounts' | 'execute'>;
}

interface WorldParts {
  readonly dataDir: string;
  readonly chain: SimChain;
  readonly simnet: Simnet;
  readonly node: TamperedNode;
  readonly store: Store;
  readonly keystore: Keystore;
  readonly bus: Bus;
  /** Ingest fills it. */
  readonly directory: InProcessPoolDirectory;
  /** Ingest and its followers fill it, with candles. */
  readonly market: MarketStore;
  readonly config: Config;
  readonly operatorKey: string;
}

/** A running chain, a store with custodial wallets and keys, and gateways that trade on it over HTTP. */
export class TradingWorld {
  readonly chain: SimChain;
  readonly simnet: Simnet;
  /** Sits between the gateways and the simulated node, and records the calls. */
  readonly node: TamperedNode;
  readonly store: Store;
  readonly operatorKey: string;
  readonly #parts: WorldParts;
  readonly #closers: (() => Promise<unknown>)[];
  #wallets = 0;
  #rich = 0;

  constructor(parts: WorldParts, closers: (() => Promise<unknown>)[]) {
    [this.chain, this.simnet, this.node, this.store, this.operatorKey] = [
      parts.chain,
      parts.simnet,
      parts.node,
      parts.store,
      parts.operatorKey,
    ];
    [this.#parts, this.#closers] = [parts, closers];
  }

  /** A gateway with its own signing process, on this world's store. */
  async gateway(
    options: Partial<Pick<GatewayOptions, 'transport' | 'page' | 'metadata'>> & { readonly config?: Partial<Config> } = {},
  ): Promise<TradingGateway> {
    const { bus, directory, market, config, operatorKey } = this.#parts;
    const gateway = await startGateway({
      ...options,
      directory,
      market,
      config: { ...config, ...options.config },
      bus,
      log,
      signal: new AbortController().signal,
    });
    this.#closers.push(() => gateway.close());
    return new TradingGateway(gateway, operatorKey);
  }

  /** The trading half of a gateway, without its HTTP interface. It places orders in this store. */
  async trading(store: Store = this.store): Promise<Trading> {
    const { bus, config } = this.#parts;
    const hub = { delivery: { listen: () => undefined } };
    const trading = openTrading({
      directory: new InProcessPoolDirectory(),
      config,
      store,
      bus,
      seal: new RecordSeal(testSealKey, agreedClock(store.time)),
      events: unsealedEvents,
      hub,
      simulated: () => true,
      solUsd: () => null,
      prices: { known: () => null, read: async () => null },
      readPrices: async () => new Map(),
      clock: agreedClock(store.time),
      log,
    });
    this.#closers.push(() => trading.close());
    await trading.start();
    return trading;
  }

  /**
   * A custodial wallet with SOL; the operator's by default. With `usdc` it starts with SOL, USDC and the simulated chain's other quote
   * coin.
   */
  async wallet({ accountId = null, funds = lamports, usdc = false }: WalletOptions = {}): Promise<string> {
    const { publicKey, seed } = usdc ? richWallet(this.#rich++) : wallet('trading', `custodial ${this.#wallets++}`);
    const imported = await this.#parts.keystore.import(seed, null, accountId);
    if (imported === null) throw new Error('the wallet is there already');
    if (funds > 0n && !usdc) {
      this.chain.airdrop(publicKey, funds);
      await until('the airdrop', () => (this.chain.account(publicKey)?.lamports ?? 0n) === funds);
    }
    return publicKey;
  }

  /** A key with these scopes; the operator's by default. */
  async key(scopes: readonly Scope[], accountId: string | null = null): Promise<string> {
    return (await makeKey(this.store, { plan: 'enterprise', scopes, accountId })).key;
  }

  async account(id: string): Promise<string> {
    const made = await this.store.accounts.create({ id, wallet: null, plan: 'enterprise', createdAtMs: Date.now() });
    if (made !== 'stored') throw new Error(made);
    return id;
  }

  /** Messages that nodes received, each once, by signature. */
  sent(): ReadonlySet<string> {
    const wires = this.node.calls.flatMap(({ method, params }) => (method === 'sendTransaction' ? [String(params[0])] : []));
    return new Set([...new Set(wires)].map(signatureIn));
  }

  /** Transactions in the chain that this wallet paid for. */
  landed(payer: string): readonly string[] {
    return this.chain.signaturesFor(payer).flatMap(({ accountKeys, signature }) => (accountKeys[0] === payer ? [signature] : []));
  }

  async close(): Promise<void> {
    this.chain.stop();
    for (const end of this.#closers.splice(0).toReversed()) await end();
  }
}

/** The effect of a landed transaction on the wallet that paid for it, from the chain's balances. */
export interface Effect {
  readonly tokens: bigint;
  /** Of a quote coin that is not SOL. */
  readonly quoteCoins: bigint;
  readonly lamports: bigint;
  readonly fee: bigint;
  /** Rent of the accounts that were created, less that of the accounts that were closed. */
  readonly rent: bigint;
}

/** For a transaction that closed none of the accounts that it created. */
export function effectOf(
  chain: Pick<SimChain, 'account'>,
  record: TransactionRecord,
  { publicKey, mint, quoteMint }: { readonly publicKey: string; readonly mint: string; readonly quoteMint: string },
): Effect {
  const { accountKeys, preBalances, postBalances, preTokenBalances, postTokenBalances, fee } = record;
  const tokens = (of: string): bigint => {
    const held = (all: typeof preTokenBalances): bigint =>
      all.reduce((sum, one) => (one.owner === publicKey && one.mint === of ? sum + one.amount : sum), 0n);
    return held(postTokenBalances) - held(preTokenBalances);
  };
  const payer = accountKeys.indexOf(publicKey);
  const rent = accountKeys.reduce((sum, address, i) => {
    const [before, after] = [preBalances[i]!, postBalances[i]!];
    if (i === payer || (before === 0n) === (after === 0n)) return sum;
    // The created accounts may have received fees, too.
    return after === 0n ? sum - before : sum + minimumBalance(chain.account(address)!.data.length);
  }, 0n);
  const quoteCoins = quoteMint === wrappedSolMint ? 0n : tokens(quoteMint);
  return { tokens: tokens(mint), quoteCoins, lamports: postBalances[payer]! - preBalances[payer]!, fee, rent };
}

/** For a transaction in the form that nodes receive. */
export function signatureIn(wireBase64: string): string {
  const decoded = decodeTransaction(Buffer.from(wireBase64, 'base64'));
  if (decoded.kind === 'malformed') throw new Error(decoded.reason);
  return decoded.signatures[0] ?? '';
}

/** One gateway as its clients see it. */
export class TradingGateway {
  readonly gateway: Gateway;
  readonly host: string;
  readonly #operatorKey: string;

  constructor(gateway: Gateway, operatorKey: string) {
    [this.gateway, this.host, this.#operatorKey] = [gateway, `127.0.0.1:${gateway.port}`, operatorKey];
  }

  async post(path: string, body: unknown, asked: Asked = {}): Promise<Answered> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const { idempotencyKey } = asked;
    const headers = {
      'content-type': 'application/json',
      ...this.#authorization(asked),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      ...asked.headers,
    };
    return answered(await fetch(`http://${this.host}${path}`, { method: 'POST', headers, body: text }));
  }

  /**
   * Repeats requests that were refused temporarily, as clients should do. On a machine that was suspended for a second, the halt is
   * unknown and nodes answer late. A request whose order may exist is not repeated.
   */
  async ask(path: string, body: unknown, asked: Asked = {}, mayRepeat = isForTheMoment): Promise<Answered> {
    for (const endMs = performance.now() + patienceMs; ;) {
      const answer = await this.post(path, body, asked);
      if (!mayRepeat(answer) || performance.now() > endMs) return answer;
      await pause(againAfterMs);
    }
  }

  async get(path: string, asked: Asked = {}): Promise<Answered> {
    return answered(await fetch(`http://${this.host}${path}`, { headers: this.#authorization(asked) }));
  }

  /** Waits until it trades: the signing process, the kill switch and the chain's blockhash are known. */
  async ready(publicKey: string, mint: string): Promise<this> {
    let last: unknown = null;
    await until('the gateway to trade', async () => {
      const { status, body } = await this.post('/trade/buy', { publicKey, mint, amount: 0.001, dryRun: true });
      last = body;
      return status !== 503;
    }).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(last)}`);
    });
    return this;
  }

  #authorization({ key = this.#operatorKey }: Asked): Record<string, string> {
    return key === '' ? {} : { authorization: `Bearer ${key}` };
  }
}

/** The request had no effect, and a later one may succeed. */
export function isForTheMoment({ status, body }: Answered): boolean {
  const { code, details } = (body['error'] ?? {}) as { readonly code?: string; readonly details?: Readonly<Record<string, unknown>> };
  return status === 503 && (code === 'TRADING_HALTED' || code === 'UPSTREAM_UNAVAILABLE') && details?.['orderId'] === undefined;
}

async function answered(answer: Response): Promise<Answered> {
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> };
}

export async function startTradingWorld({
  ingest = false,
  funded = [],
  slotMs = usualSlotMs,
  venues = testConfig.venues,
  genesis = {},
}: TradingWorldOptions = {}): Promise<TradingWorld> {
  const closers: (() => Promise<unknown>)[] = [];
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-trading-'));
  closers.push(async () => rmSync(dataDir, { recursive: true, force: true }));
  try {
    const rich = Array.from({ length: richWallets }, (_, index) => richWallet(index));
    const all = [maker, trader, ...rich, ...funded].map(({ publicKey: address }) => ({
      address,
      lamports,
      usdc: rawUsdc,
      other: rawOther,
    }));
    const chain = createChain({ seed: 'trading', market: false, funded: all, slotMs, ...genesis });
    const simnet = await startSimnet({ chain, autoStart: false });
    closers.push(() => simnet.close());
    const node = await startTamperedNode(simnet.rpcUrl);
    closers.push(() => node.close());
    const passphraseFile = join(dataDir, 'passphrase');
    writeFileSync(passphraseFile, 'a passphrase for nothing of worth\n', { mode: 0o600 });
    const store = await openEmbeddedStore(dataDir);
    closers.push(() => store.close());
    const opened = await openKeystore(store, keystoreName, 'a passphrase for nothing of worth', randomPassphraseCost);
    if (!opened.ok) throw new Error(opened.reason);
    const { keystore } = opened;
    const bus = await createBus({ redisUrls: null, log });
    closers.push(() => bus.close());
    const config: Config = {
      ...testConfig,
      dataDir,
      venues,
      trading: 'live',
      keystorePassphraseFile: passphraseFile,
      rpc: { httpUrls: [node.url], wsUrls: [simnet.wsUrl] },
    };
    const { key: operatorKey } = await makeKey(store, { plan: 'enterprise' });
    chain.start();
    const directory = new InProcessPoolDirectory();
    const market = await createMarket({ redisUrls: null, log });
    closers.push(() => market.close());
    if (ingest) closers.push(...(await followChain(config, bus, directory, market)));
    return new TradingWorld({ dataDir, chain, simnet, node, store, keystore, bus, directory, market, config, operatorKey }, closers);
  } catch (error) {
    for (const end of closers.toReversed()) await end();
    throw error;
  }
}

async function followChain(
  config: Config,
  bus: Bus,
  pools: InProcessPoolDirectory,
  market: MarketStore,
): Promise<readonly (() => Promise<unknown>)[]> {
  const candles = consumeMarket({ bus, market, log });
  const ingest = await startIngest({ config, bus, market, pools, log, signal: new AbortController().signal });
  await until('ingest to see the chain', () => ingest.stats().endpointsUp === 1 && ingest.stats().leads);
  return [() => candles.close(1_000), () => ingest.close()];
}
