import type { Config } from '@sluice/shared/config/config.ts';
import { SettingError } from '@sluice/shared/config/settings/setting-error.ts';
import type { EndpointSpec } from '@sluice/shared/wire/rest/endpoint.ts';
import { InProcessMarket } from '@sluice/shared/market/in-process-market.ts';
import type { MarketReader } from '@sluice/shared/market/market.ts';
import type { PoolLookup } from '@sluice/shared/market/pools/pool-directory.ts';
import { InProcessPoolDirectory } from '@sluice/shared/market/pools/in-process-pool-directory.ts';
import type { Metric } from '@sluice/shared/operations/metric.ts';
import type { Parts } from '@sluice/shared/operations/readiness.ts';
import { TokenMetadataBook } from '@sluice/shared/metadata/book.ts';
import { MetadataFetcher } from '@sluice/shared/metadata/fetch.ts';
import { venues } from '@sluice/venues/registry.ts';
import { logSuspensions } from '@sluice/shared/solana/rpc/answers/suspensions.ts';
import type { DashboardOptions } from '@sluice/gateway/accounts/gate.ts';
import { dashboardRoutes } from '@sluice/gateway/accounts/routes.ts';
import { createSessionCallers } from '@sluice/gateway/accounts/sessions/session-callers.ts';
import type { Authenticator } from '@sluice/gateway/auth/principal.ts';
import { chainRpc } from '@sluice/gateway/reads/chain/chain-rpc.ts';
import { faucetOf } from '@sluice/gateway/reads/chain/faucet.ts';
import { RpcAccountReader } from '@sluice/gateway/reads/chain/rpc-account-reader.ts';
import { joinFleet } from '@sluice/gateway/operations/fleet.ts';
import { browserPages } from '@sluice/site/dashboard/browser-pages.ts';
import { dashboardPages, docsAssets } from '@sluice/site/dashboard/serve-page.ts';
import { documentEndpoints } from '@sluice/site/docs/documents.ts';
import { errorAnswer } from '@sluice/gateway/http/answers.ts';
import { clientAddressOf } from '@sluice/gateway/http/callers/client-address.ts';
import type { BoundEndpoint } from '@sluice/gateway/http/endpoint.ts';
import { foreignPages } from '@sluice/gateway/http/callers/foreign-pages.ts';
import { createKeyless } from '@sluice/gateway/http/callers/keyless.ts';
import { OpenRequests } from '@sluice/gateway/http/open-requests.ts';
import { explainRoute } from '../explain/endpoint.ts';
import { openKeys, openSeal, type KeysOptions, type OpenKeys } from './keys.ts';
import { createRouter, type Route, type Router, type RouterOptions } from '@sluice/gateway/http/router.ts';
import { drain, orClose, type LifePhase } from '@sluice/gateway/operations/process-life.ts';
import type { ReadCounters } from '@sluice/gateway/operations/metrics.ts';
import { createOperations } from '@sluice/gateway/operations/operations.ts';
import { PoolReader } from '@sluice/gateway/reads/pools/pool-reader.ts';
import { marketMetrics, Markets } from '@sluice/trading/quote/markets.ts';
import { answersWithinMs, quoteEndpoints } from '@sluice/trading/quote/quotes.ts';
import type { CountingLimiter } from '@sluice/gateway/ratelimit/limiter.ts';
import { MarketHealth } from '@sluice/gateway/reads/market-health.ts';
import { createPriceReads } from '@sluice/gateway/reads/tokens/price-reads.ts';
import { createReads, type ReadsParts } from '@sluice/gateway/reads/reads.ts';
import { KeyLimits } from '@sluice/gateway/ratelimit/key-limit.ts';
import { createAdmission } from '@sluice/gateway/stream/session/admission.ts';
import { decideHandshake, streamPaths, type Handshake, type HandshakeParts } from '@sluice/gateway/stream/session/handshake.ts';
import { Hub } from '@sluice/gateway/stream/hub.ts';
import { usageEndpoints, type UsageOfKeys } from '@sluice/gateway/usage/endpoints.ts';
import { orderEndpoints } from '@sluice/trading/api/endpoints/order-endpoints.ts';
import { triggerReadEndpoints } from '@sluice/trading/api/endpoints/trigger-endpoints.ts';
import { tradingReports } from '@sluice/trading/api/order-report.ts';
import { custodyOf, openTrading, type Custody, type Trading } from '@sluice/trading/api/trading.ts';
import { startTransport, type TransportChoice } from '@sluice/gateway/transport/start.ts';
import type { HttpRequest, Transport, TransportHandlers, UpgradeOutcome } from '@sluice/gateway/transport/transport.ts';

export interface GatewayOptions extends KeysOptions {
  /** State of the market that ingest writes. If omitted, an empty one in this process. */
  readonly market?: MarketReader;
  /** Off-chain metadata of tokens. If omitted, it is fetched from the public internet. */
  readonly metadata?: TokenMetadataBook;
  /** Directory of pools. If omitted, an empty one: then only pools whose addresses can be computed from the mint are found. */
  readonly directory?: PoolLookup;
  /** If it is aborted during the start, everything started so far is closed, and the start rejects. */
  readonly signal: AbortSignal;
  /** Counts the requests of keys. Its creator closes it. If omitted, one is created; with Redis it counts over all gateways. */
  readonly limiter?: CountingLimiter;
  /** Where the custodial wallets are. If omitted, the custody of the chain in the settings. */
  readonly custody?: Custody;
  /** Folder with the compiled page of the dashboard. If omitted, the folder of the compiled program. */
  readonly page?: string;
  /** Further pages and routes. */
  readonly routes?: readonly Route[];
  /** Further endpoints. */
  readonly endpoints?: readonly BoundEndpoint[];
  readonly transport?: TransportChoice;
  /** Metrics and readiness of what else runs in this process, for `/metrics` and `/readyz`. */
  readonly embeddedIngest?: { readonly metrics: () => readonly Metric[]; readonly parts: () => Parts };
}

export interface Gateway {
  readonly port: number;
  /** `http://127.0.0.1:8080`, or with `https`. */
  readonly url: string;
  readonly transport: 'uws' | 'node';
  /** All endpoints that it serves. */
  readonly endpoints: readonly EndpointSpec[];
  /** Closes every connection that uses this credential (`Principal.credential`). */
  disconnect(credential: string): number;
  /** Asks clients to reconnect elsewhere, closes them with 4012, and ends. May be called more than once. */
  close(): Promise<void>;
}

/** Serves the stream and HTTP until `close`. Rejects with a `SettingError` if it cannot listen, or the store in DATA_DIR cannot be opened. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, bus, log, signal, embeddedIngest = noIngest } = options;
  signal.throwIfAborted();
  const keys = await openKeys(options);
  const sealing = openSeal(keys, config);
  const fleet = await orClose(joinFleet({ config, bus, seal: sealing.seal, log, limiter: options.limiter }), keys);
  const limits = new KeyLimits(fleet.limiter, keys.clock);
  const admit = createAdmission({ authenticator: keys.authenticator, limits, tickets: fleet.tickets });
  const { market = new InProcessMarket(config.memory.market), directory = new InProcessPoolDirectory() } = options;
  const store = keys.dashboard?.store ?? null;
  const subscriber = await orClose(bus.subscriber(), fleet, keys);
  let transport: Transport | null = null;
  let phase: LifePhase = 'running';
  const hub = new Hub({
    authenticator: keys.authenticator,
    admit,
    subscriber,
    events: sealing.events,
    history: config.memory.history,
    publish: (room, message, binary) => transport?.publish(room, message, binary),
    market,
    servesKeyless: config.pumpPortalKeyless,
    slotAgeMs: () => reading.health.slotAgeMs(),
    changedVenues: () => reading.health.changedVenues,
    clock: keys.clock,
    log,
  });
  const stopFollowingKeys = followKeyChanges(keys.authenticator, hub);
  const reading = openReading({ ...options, market, directory, clock: keys.clock, paperBalanceOf: () => trading.paperBalanceOf }, hub);
  const addressOf = addressReader(config);
  const trading: Trading = openTrading({ ...options, ...reading, ...sealing, clock: keys.clock, directory, store, hub });
  const usage: UsageOfKeys = { minutes: limits.minutes, streams: hub.connections.usages, gateways: () => fleet.size() };
  const explaining = explainRoute(config, log);
  const requests = new OpenRequests();
  const isDraining = (): boolean => phase !== 'running';
  const parts = { config, fleet, hub, ...reading, store, requests, transport: () => transport, isDraining, log };
  const operations = createOperations({ ...parts, trading: tradingReports(trading, reading.quoteMetrics), embeddedIngest });
  const endpoints: readonly BoundEndpoint[] = [
    ...operations.endpoints,
    ...reading.endpoints,
    ...trading.endpoints,
    ...orderEndpoints({ orders: store?.orders ?? null }),
    explaining.endpoint,
    ...triggerReadEndpoints({ triggers: store?.triggers ?? null, paper: config.trading === 'paper' }),
    ...usageEndpoints({ limits, tickets: fleet.tickets, usage, clock: keys.clock }),
    ...(await documentEndpoints({ config, addressOf, assets: docsAssets(options.page) })),
    ...(options.endpoints ?? []),
  ];
  const router = createRouter({
    endpoints,
    streamPaths,
    ...openPages(keys, options, { port: () => transport?.port ?? config.port, addressOf, usage, trading, reading }),
    authenticator: keys.authenticator,
    limits,
    addressOf,
    admitKeyless: config.pumpPortalKeyless ? createKeyless(addressOf) : null,
    corsOrigins: config.corsOrigins,
    log,
  });
  const { sharePort, drainWaitMs } = config.operations;
  // On a shared port the listener closes at once. Clients that still connect were in its queue, and no other process would serve them.
  const isRefusing = (): boolean => (sharePort ? phase === 'ending' : isDraining());
  const end = async (): Promise<void> => {
    stopFollowingKeys();
    for (const part of [hub, reading, explaining, operations, transport, trading, subscriber, fleet, keys]) await part?.close();
  };
  try {
    await hub.start();
    await reading.health.start();
    await trading.start();
    signal.throwIfAborted();
    await operations.start();
    const handlers = handlersOf(router, { admit, hub, addressOf, isDraining: isRefusing, requests, config, clock: keys.clock, log });
    transport = await listen(options, handlers);
    signal.throwIfAborted();
  } catch (error) {
    await end();
    throw error;
  }
  const life = { hub, transport, requests, waitMs: drainWaitMs, enter: (next: LifePhase) => void (phase = next), clock: keys.clock, log };
  return running(transport, options, hub, endpoints, async () => {
    await drain(life);
    await end();
  });
}

const noIngest: NonNullable<GatewayOptions['embeddedIngest']> = { metrics: () => [], parts: () => ({}) };

/** Rejects with a `SettingError` if it cannot listen on the configured address. */
async function listen({ config, transport = 'auto', log }: GatewayOptions, handlers: TransportHandlers): Promise<Transport> {
  const { host, port, tls, operations } = config;
  const outcome = await startTransport(transport, { host, port, tls, streamPaths, sharePort: operations.sharePort, log }, handlers);
  if (!outcome.ok) throw new SettingError(outcome.fault.setting, outcome.fault.what, outcome.cause);
  return outcome.transport;
}

/** `end` drains and ends all. */
function running(
  { port, kind }: Transport,
  { config: { host, tls }, log }: GatewayOptions,
  hub: Hub,
  endpoints: readonly BoundEndpoint[],
  end: () => Promise<void>,
): Gateway {
  log.info({ port, transport: kind }, 'gateway_started');
  let closing: Promise<void> | null = null;
  return {
    port,
    url: `${tls === null ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    transport: kind,
    endpoints: endpoints.map(({ spec }) => spec),
    disconnect: (credential) => hub.connections.disconnect(credential),
    close: () => (closing ??= end().then(() => log.info({}, 'gateway_ended'))),
  };
}

type Reading = ReturnType<typeof openReading>;

/** The read endpoints and what they need. */
function openReading(
  options: GatewayOptions & Pick<ReadsParts, 'market' | 'clock' | 'paperBalanceOf'> & { readonly directory: PoolLookup },
  hub: Hub,
) {
  const { config, bus, market, directory, metadata, clock, paperBalanceOf, log } = options;
  const ended = new AbortController();
  const rpc = chainRpc(config.rpc?.httpUrls ?? null);
  logSuspensions(config.rpc?.httpUrls ?? [], log);
  const health = new MarketHealth({ statuses: () => bus.statuses(), linkUp: () => hub.delivery.linkUp, clock });
  const newestSlot = (): number => health.newestSlot();
  const reader = new RpcAccountReader(rpc.each, { newestSlot, answersWithinMs, signal: ended.signal });
  const fetcher = new MetadataFetcher({ ipfsGateways: config.ipfsGateways });
  const book = metadata ?? new TokenMetadataBook(fetcher);
  const pools = new PoolReader({ reader, venues, directory, log });
  // Clients of its own: a node that refuses to list holders would otherwise be asked last for everything.
  const holderRpcs = chainRpc(config.rpc?.httpUrls ?? null).each;
  const { signal } = ended;
  const reads = createReads({ hub, health, reader, rpc, holderRpcs, market, pools, metadata: book, clock, paperBalanceOf, log, signal });
  const markets = new Markets({ pools });
  const solUsd = (): number | null => health.solUsd()?.price ?? null;
  return {
    endpoints: [...reads.endpoints, ...quoteEndpoints({ markets, reader, solUsd, clock, paperBalanceOf })],
    health,
    /** Whether the chain is simulated; false while that is unknown. */
    simulated: (): boolean => health.simulated === true,
    solUsd,
    prices: reads.prices,
    readPrices: createPriceReads({ book: reads.book, health, slots: hub.fanout.slots }),
    counters: { tokens: reads.book, accounts: reader.counters, rpc: () => rpc.health() } satisfies ReadCounters,
    quoteMetrics: (): Metric[] => marketMetrics(markets.counts),
    close: (): void => {
      ended.abort();
      health.close();
      fetcher.close();
    },
  };
}

interface PageParts extends Pick<DashboardOptions, 'port' | 'usage'>, Pick<RouterOptions, 'addressOf'> {
  readonly trading: Pick<Trading, 'sealWallet'>;
  readonly reading: Pick<Reading, 'simulated'>;
}

/** The dashboard's pages and its own endpoints, and how requests of its sessions are identified; pages only without a store. */
function openPages(
  { dashboard, authenticator, clock }: OpenKeys,
  options: GatewayOptions,
  { trading, reading, ...parts }: PageParts,
): Pick<RouterOptions, 'routes' | 'findSession' | 'clock' | 'browserPages'> {
  const pages = [...dashboardPages(options.page), ...(options.routes ?? [])];
  const forBrowsers = { browserPages: browserPages(options.page) };
  if (dashboard === null) return { ...forBrowsers, routes: pages, clock };
  const { config, log } = options;
  // Wallets on paper have a balance that their owner sets.
  const isSimulated = (): boolean => config.trading === 'live' && reading.simulated();
  const faucet = faucetOf(config.rpc?.httpUrls ?? null, { isSimulated, log });
  const wallets = { keystore: custodyOf(options).keystore, seal: trading.sealWallet, faucet };
  const all = { ...dashboard, ...parts, wallets, authenticator, config, log };
  return { ...forBrowsers, routes: [...pages, ...dashboardRoutes(all)], findSession: createSessionCallers(all), clock };
}

/** The address of a request's client, behind trusted proxies too. */
function addressReader({ trustedProxies }: Config): (request: Pick<HttpRequest, 'remoteAddress' | 'headers'>) => string {
  const clientAddress = clientAddressOf(trustedProxies);
  return ({ remoteAddress, headers }) => clientAddress(remoteAddress, () => headers.get('x-forwarded-for'));
}

/** Applies changes of keys to open connections. Returns a function that stops it. */
function followKeyChanges(authenticator: Authenticator, hub: Hub): () => void {
  const stops = [
    authenticator.onRevoked((credential, reason) => void hub.connections.disconnect(credential, reason)),
    authenticator.onReplanned((principal) => hub.connections.applyPlan(principal)),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

interface ServingParts extends Pick<GatewayOptions, 'config' | 'log'>, Omit<HandshakeParts, 'maxCompressed' | 'connections'> {
  readonly hub: Hub;
  readonly requests: OpenRequests;
}

function handlersOf(router: Router, parts: ServingParts): TransportHandlers {
  const { hub, requests, config, log } = parts;
  const handshakes = { ...parts, connections: hub.connections, maxCompressed: config.compressedConnections };
  const refuseForeign = foreignPages(config, log);
  const outcomeOf = (decided: Handshake): UpgradeOutcome => {
    if (decided.ok) {
      const { options, lines } = decided;
      return { accept: (socket) => hub.connections.open(socket, options), lines, compress: options.compress };
    }
    hub.stats.refusedHandshakes++;
    return { refused: decided.answer };
  };
  return {
    http: (request, body) => refuseForeign(request) ?? requests.count(router.http(request, body)),
    malformed: (request) => router.malformed(request),
    full: (request) => {
      hub.stats.refusedHandshakes++;
      return errorAnswer(
        request,
        'UPSTREAM_UNAVAILABLE',
        'This gateway has few file descriptors left. Connect again later, or to another gateway.',
      );
    },
    fault: (request) => errorAnswer(request, 'INTERNAL'),
    upgrade: (request) => {
      const answer = refuseForeign(request);
      if (answer !== null) return outcomeOf({ ok: false, answer });
      const decided = decideHandshake(request, handshakes);
      return decided instanceof Promise ? decided.then((decide) => () => outcomeOf(decide())) : outcomeOf(decided);
    },
  };
}
