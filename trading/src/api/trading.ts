import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '@sluice/shared/runtime/clock/clock.ts';
import type { Bus } from '@sluice/shared/bus/bus.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import type { PoolLookup } from '@sluice/shared/market/pools/pool-directory.ts';
import type { EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import { pumpPortalLocalEndpoint, pumpPortalTradeEndpoint } from '@sluice/shared/wire/rest/trading/pumpportal.ts';
import { tradeBatchEndpoint } from '@sluice/shared/wire/rest/trading/batch.ts';
import {
  tradeBuyEndpoint,
  tradeSellEndpoint,
  transactionBuyEndpoint,
  transactionSellEndpoint,
  transactionSendEndpoint,
} from '@sluice/shared/wire/rest/trading/trade.ts';
import { armTriggerEndpoint, cancelTriggerEndpoint, cancelTriggersEndpoint } from '@sluice/shared/wire/rest/trading/triggers.ts';
import { positionsEndpoint } from '@sluice/shared/wire/rest/wallets/positions.ts';
import type { SealOutcome } from '@sluice/gateway/accounts/wallets.ts';
import type { RecordSeal } from '@sluice/gateway/auth/record-seal.ts';
import { paperKeystore, keystoreName, passphraseFileOf } from '../signer/custody/passphrase.ts';
import { bindEndpoint, type BoundEndpoint } from '@sluice/gateway/http/endpoint.ts';
import { noSigner, SigningProcess } from '../signer/client/client.ts';
import { takeGatewayId } from '@sluice/gateway/store/gateway-id.ts';
import { Halt } from '@sluice/gateway/store/halt/halt.ts';
import type { TokenPrices } from '@sluice/gateway/reads/tokens/token-prices.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import type { PrivateEvents } from '@sluice/gateway/stream/delivery/private-events.ts';
import type { Hub } from '@sluice/gateway/stream/hub.ts';
import type { OrderAnswer, OrderCall } from './order-call.ts';
import { openDesk, type TradingDesk } from './desk.ts';
import { OrderPublisher } from '../model/order-publisher.ts';
import { BundleWatch } from '../model/bundle-watch.ts';
import { OrderStats } from '../model/order-stats.ts';
import { watchChainIdentity } from '../nodes/chain-identity.ts';
import type { LogWatchParts } from '../triggers/engine/log-watch.ts';
import { TriggerStats } from '../triggers/firing/trigger-stats.ts';
import { createSendNodes } from '../nodes/nodes.ts';
import { noDesk, type OrderReport } from './order-report.ts';
import { noPaper, openPaperTrading } from '../place/paper/paper-trading.ts';
import { tradingOff } from '../place/admission/admission.ts';
import type { Outcome, Refusal } from '../place/outcome.ts';
import type { PlaceOrder } from '../place/place-order.ts';
import { createWalletAccess } from '@sluice/gateway/accounts/wallet-access.ts';
import { readSecretKey } from '../signer/custody/secret-key-text.ts';
import { createTradingRole, roleName, type RoleReport, type TradingRole } from './role/trading-role.ts';
import { positionsBinding } from '../positions/positions-endpoint.ts';
import type { SendBundle, SendFirst } from '../place/first-send.ts';
import { firstRound, firstRoundOfBundle, createLanes } from '../send/lanes.ts';

/** How long `start` waits until the open orders are loaded. After that it resolves anyway, because the gateway can serve reads without them. */
const followStoredWithinMs = 3_000;

/** Where the custodial wallets are. */
export interface Custody {
  readonly keystore: string;
  /** Null if there is no passphrase; then nothing is signed. */
  readonly passphraseFile: string | null;
}

export interface TradingOptions {
  readonly config: Config;
  /** If omitted, the custody of the chain in the settings. */
  readonly custody?: Custody;
  /** Null if there is no store; then there are no orders. */
  readonly store: Store | null;
  readonly bus: Bus;
  /** Seals the calls that gateways hand over to each other. */
  readonly seal: RecordSeal;
  /** Makes the bus entries of order events. */
  readonly events: PrivateEvents;
  readonly hub: { readonly delivery: Pick<Hub['delivery'], 'listen'> };
  readonly directory: PoolLookup;
  /** Whether the chain is simulated; false while that is unknown. */
  readonly simulated: () => boolean;
  /** Price of SOL in USD; null if it is unknown. */
  readonly solUsd: () => number | null;
  readonly prices: TokenPrices;
  /** Reads the prices of mints from the state of the market. Those that cannot be read now are missing. */
  readonly readPrices: LogWatchParts['readPrices'];
  /** The time that is stored with orders. */
  readonly clock: Clock;
  readonly log: Logger;
}

export type Trading = ReturnType<typeof createTrading>;

/** Where the wallets are that trade: by default, in the custody of the chain in the settings. On paper, live wallets are out of reach. */
export function custodyOf({ config, custody }: Pick<TradingOptions, 'config' | 'custody'>): Custody {
  const named = custody ?? { keystore: keystoreName(config), passphraseFile: passphraseFileOf(config) };
  return config.trading === 'paper' ? { keystore: paperKeystore, passphraseFile: null } : named;
}

/** Opens the trading half of a gateway. Without RPC endpoints or without a store, it refuses all orders. */
export function openTrading(options: TradingOptions): Trading {
  const { config, store } = options;
  return config.rpc === null || store === null
    ? noTrading()
    : createTrading({ ...options, rpc: config.rpc, custody: custodyOf(options), store });
}

const specs: readonly EndpointSpec[] = [
  tradeBuyEndpoint,
  tradeSellEndpoint,
  tradeBatchEndpoint,
  transactionBuyEndpoint,
  transactionSellEndpoint,
  transactionSendEndpoint,
  pumpPortalTradeEndpoint,
  pumpPortalLocalEndpoint,
  armTriggerEndpoint,
  cancelTriggerEndpoint,
  cancelTriggersEndpoint,
];

function noTrading(): Trading {
  return {
    placeOrder: async () => tradingOff,
    endpoints: [...[...specs, positionsEndpoint].map((spec) => bindEndpoint(spec, () => tradingOff)), ...noPaper.endpoints],
    paperBalanceOf: null,
    sealWallet: async () => ({ ok: false, reason: 'unavailable' }),
    start: async () => undefined,
    report: () => null,
    fault: () => null,
    slot: () => 0,
    close: async () => undefined,
  };
}

function bindSpecs(answer: (spec: EndpointSpec, call: OrderCall) => Promise<OrderAnswer>): BoundEndpoint[] {
  return specs.map((spec) =>
    bindEndpoint(spec, ({ principal, request, params, query, body }) => {
      const owner = principal === null ? null : { keyId: principal.keyId, accountId: principal.accountId };
      const idempotencyKey = request.headers.get('idempotency-key') ?? null;
      return answer(spec, { owner, idempotencyKey, params, query, body, maxTriggers: principal?.plan.triggers ?? 0 });
    }),
  );
}

interface TradingParts extends TradingOptions {
  readonly rpc: NonNullable<Config['rpc']>;
  readonly custody: Custody;
  readonly store: Store;
}

const notHere: Refusal = { error: 'UPSTREAM_UNAVAILABLE', message: 'This gateway does not hold the trading role.', retryAfterSeconds: 1 };

/** Opens what every gateway needs, whether or not it holds the trading role, so that a successor can sign and send at once. */
function openParts({ config, rpc, custody, store, bus, events, simulated, log }: TradingParts, signal: AbortSignal) {
  const { trading: mode, signerLimits: limits, signerSocket, signerDir, broadcast } = config;
  const nodes = createSendNodes(rpc.httpUrls);
  const gatewayId = takeGatewayId(store.dataDir);
  const halt = new Halt(store, log);
  const signer = mode === 'live' ? new SigningProcess({ store, ...custody, signerSocket, signerDir, limits, halt, log }) : noSigner;
  const lanes = createLanes({ nodes, ...broadcast, maySend: () => !halt.halted, signal });
  const sendFirst: SendFirst = (signature, wire, blockEngineOnly) => firstRound(signature, wire, lanes, blockEngineOnly);
  const sendBundle: SendBundle = (bundle) => firstRoundOfBundle(bundle, lanes);
  return {
    gatewayId,
    sendFirst,
    sendBundle,
    nodes,
    halt,
    signer,
    lanes,
    publisher: new OrderPublisher({ bus, events, simulated, log }),
    stats: new OrderStats(),
    triggerStats: new TriggerStats(),
    bundleWatch: new BundleWatch(log),
    wallets: createWalletAccess(store.wallets, custody.keystore),
  };
}

function roleFault({ holder }: RoleReport): string | null {
  return holder === null ? 'No gateway is known to hold the trading role.' : null;
}

/** The desk of a gateway: open while the gateway holds the trading role, and while no other gateway is known to hold it. */
class DeskOfRole {
  readonly #openDesk: (takesOverAtOnce: boolean) => TradingDesk;
  readonly #closing = new Set<Promise<void>>();
  #desk: TradingDesk | null = null;
  /** Set: the desk closes at the next look, and none is opened any more. */
  isEnding = false;

  constructor(open: (takesOverAtOnce: boolean) => TradingDesk) {
    this.#openDesk = open;
  }

  get open(): TradingDesk | null {
    return this.#desk;
  }

  /** Opens the desk with the role, and closes it when another gateway has the role. While Redis does not answer, the desk stays open. */
  follow({ report, held, isShared }: Pick<TradingRole, 'report' | 'held' | 'isShared'>, mode: Config['trading']): TradingDesk | null {
    if (this.isEnding || report.holder === 'other') this.#close();
    else if (held) this.#desk ??= this.#openDesk(isShared && mode === 'live');
    return this.#desk;
  }

  /** Resolves when every desk is closed. */
  async close(): Promise<void> {
    this.#close();
    await Promise.all(this.#closing);
  }

  #close(): void {
    const closed = this.#desk?.close();
    this.#desk = null;
    if (closed === undefined) return;
    this.#closing.add(closed);
    void closed.finally(() => this.#closing.delete(closed));
  }
}

/** Seals the wallet of this secret key; null: a new wallet. */
async function sealSecretKey(signer: Pick<SigningProcess, 'seal'>, secretKey: string | null): Promise<SealOutcome> {
  const read = secretKey === null ? null : readSecretKey(secretKey);
  if (read !== null && !read.ok) return { ok: false, reason: 'secret_key', what: read.reason };
  const wallet = await signer.seal(read?.seed ?? null);
  read?.seed.fill(0);
  return wallet === null ? { ok: false, reason: 'unavailable' } : { ok: true, wallet };
}

/** The trading half of a gateway. */
function createTrading(options: TradingParts) {
  const { config, custody, store, bus, seal, hub, prices, simulated, log } = options;
  const life = new AbortController();
  const { trading: mode } = config;
  const { gatewayId, ...parts } = openParts(options, life.signal);
  const { nodes, halt, signer, lanes, publisher, stats, triggerStats, bundleWatch } = parts;
  const taking = new AbortController();
  const chain = watchChainIdentity({ nodes, log, signal: taking.signal });
  const paper = mode === 'paper' ? openPaperTrading({ store, chain, wallets: parts.wallets }) : noPaper;
  const { keystore } = custody;
  const kind = { mode, keystore };
  const positionsName = `positions${roleName({ seal, kind }).slice('trading'.length)}`;
  const ofDesk = { ...options, ...parts, gatewayId: gatewayId.id, keystore, positionsName, chain, holdsRole: () => role.held };
  const desks = new DeskOfRole((takesOverAtOnce) => openDesk({ ...ofDesk, takesOverAtOnce }));
  const hurry = (): void => desks.open?.positions.hurry();
  const positions = positionsBinding({ store, mode, keystore, chain, prices, simulated, hurry, signal: life.signal });
  const followRole = (): TradingDesk | null => desks.follow(role, mode);
  const run = async (endpoint: string, call: OrderCall): Promise<OrderAnswer> => {
    const desk = followRole();
    if (desk === null) return notHere;
    await desk.ready;
    const found = desk.endpoints.get(endpoint);
    return found === undefined ? { error: 'NOT_FOUND' } : found.run(call);
  };
  const role = createTradingRole({
    bus,
    redisUrls: config.redisUrls,
    seal,
    kind,
    run,
    onChange: () => void followRole(),
    log,
  });
  hub.delivery.listen({
    onEntry: (entry, lazy, replayed) => {
      for (const listener of desks.open?.listeners ?? []) listener.onEntry(entry, lazy, replayed);
    },
    onLost: (last) => desks.open?.listeners.forEach((listener) => listener.onLost(last)),
  });
  return {
    /** Places an order of a custodial wallet, without HTTP. Refuses if another gateway holds the trading role. */
    placeOrder: async (...order: Parameters<PlaceOrder>): Promise<Outcome> => {
      const desk = desks.open;
      if (!role.held || desk === null) return notHere;
      await desk.ready;
      return desk.placeOrder(...order);
    },
    // Endpoints that cannot spend need a desk, but not the role.
    endpoints: bindSpecs((spec, call) =>
      role.held || (desks.open !== null && spec.access !== 'trade') ? run(spec.id, call) : role.hand(spec, call),
    ).concat(paper.endpoints, positions),
    paperBalanceOf: paper.balanceOf,
    sealWallet: async (secretKey: string | null): Promise<SealOutcome> =>
      mode === 'paper' ? { ok: false, reason: 'paper' } : sealSecretKey(signer, secretKey),
    /** Claims the trading role. Resolves within seconds; the open orders are loaded as soon as nodes and store answer. */
    start: async (): Promise<void> => {
      await role.start();
      await Promise.race([desks.open?.storedFollowed, pause(followStoredWithinMs, undefined, { ref: false })]);
    },
    /** Null if this gateway does not trade. */
    report: (): OrderReport | null => ({
      stats,
      triggerStats,
      brokenBundles: bundleWatch.broken,
      mode,
      halted: halt.halted,
      role: role.report,
      lanes: lanes.all,
      ...(desks.open?.report() ?? noDesk),
      signer: { fault: signer.fault, ready: signer.isReady, counts: signer.counts },
    }),
    /** Why no order would be accepted now. Null if orders would be accepted, or if trading is off. */
    fault: (): string | null => (mode === 'off' ? null : (signer.fault ?? roleFault(role.report) ?? desks.open?.fault() ?? null)),
    /** Newest slot that the endpoints agree on; 0 before the first, and if this gateway does not hold the trading role. */
    slot: (): number => desks.open?.slot() ?? 0,
    close: async (): Promise<void> => {
      await role.close();
      desks.isEnding = true;
      taking.abort();
      await signer.close();
      await desks.close();
      await publisher.close();
      halt.close();
      life.abort();
      gatewayId.release();
    },
  };
}
