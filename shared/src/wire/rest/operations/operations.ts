import { Type, type Static } from 'typebox';
import { defineEndpoint } from '../endpoint.ts';
import { venueNames } from '../../venues.ts';
import { Closed, Count, Epoch, FreeText, Group, Nullable, Slot, Titled, Version } from '../../values/values.ts';

const Percentile = (description: string) => Nullable(Type.Number({ minimum: 0 }), description);
const latencies = (count: string, p50: string) =>
  Closed({
    count: Count(count),
    p50: Percentile(p50),
    p90: Percentile('90th percentile.'),
    p99: Percentile('99th percentile.'),
    max: Type.Number({ minimum: 0, description: 'Longest.' }),
  });
/** RPC endpoints of one gateway (`SOLANA_RPC_URL`). */
export const maxEndpoints = 16;
export const maxIngestNameChars = 128;
export const maxVersionChars = 32;
const IngestName = (description: string) => Type.String({ maxLength: maxIngestNameChars, description });
/** Ways in which one ingest process reads the chain. */
export const maxFeeds = 8;
export const maxSourceNameChars = 32;
/** Sources in one answer: the endpoints of all ingest processes. */
export const maxSources = 256;
export const sourceStates = ['up', 'lagging', 'down'] as const;
/** The part of a host name that may be shown. */
const Host = () =>
  Nullable(
    Type.String({ maxLength: 253, examples: ['helius-rpc.com'] }),
    'The last two labels of its host name; null for an IP address or a local name. Nothing else of the URL is shown, because it may contain a key.',
  );
/** The parts of a gateway, in reports about its readiness. */
const partNames = ['bus', 'ingest', 'store', 'clock', 'limits', 'chain', 'trading'];
const PartReports = Type.Record(
  Type.String(),
  Closed({ ok: Type.Boolean(), reason: Nullable(FreeText(), 'What is wrong; null if the part works.') }),
  { description: `The parts that the gateway needs: ${partNames.map((name) => `\`${name}\``).join(', ')}.` },
);
const TradingRole = Nullable(
  Type.Enum(['self', 'other']),
  'The gateway that holds the trading role: this one, or another one, to which this one hands over its orders. Null if it is unknown.',
);
const step = (what: string) => latencies('Orders measured.', `${what}, microseconds, median.`);

const Status = Titled('status', {
  name: Type.Literal('sluice'),
  version: Version('Version of sluice.'),
  apiVersion: Version('Version of the API, as in `X-API-Version`.'),
  node: Version('Version of Node.js.'),
  transport: Nullable(Type.Enum(['uws', 'node']), 'What speaks HTTP.'),
  startedAtMs: Count('Start of this gateway, Unix time in milliseconds.'),
  uptimeMs: Count('Time since then.'),
  draining: Type.Boolean({ description: 'The gateway is about to restart and accepts no new connections.' }),
  lag: Group('How far the stream may be behind the chain.', {
    slots: Nullable(
      Count('How many slots ingest is behind the newest slot that nodes report to this gateway, at least.'),
      'Null if no node reports slots to this gateway.',
    ),
    ms: Nullable(
      Count('Time since a node reported a new slot to ingest, as of the last report of ingest.'),
      'Null if no ingest process reports it.',
    ),
  }),
  parts: PartReports,
  chain: Nullable(
    Closed({
      ingest: IngestName('The ingest process that publishes.'),
      version: Nullable(Type.String({ maxLength: maxVersionChars }), 'Its version.'),
      venues: Nullable(
        Type.Array(Type.Enum([...venueNames]), { maxItems: venueNames.length, description: 'The venues that it reads (`VENUES`).' }),
      ),
      slot: Nullable(Slot('Newest slot that its nodes report.')),
      slotAgeMs: Nullable(Count('Time since a node reported a newer slot.')),
      watermark: Nullable(Slot('Slot up to which the stream is complete, compared with the records of nodes.')),
      solUsd: Nullable(
        Closed({
          price: Type.Number({ exclusiveMinimum: 0, description: 'USD (USDC) for one SOL.' }),
          slot: Slot('Slot of the price.'),
          ageMs: Count('Age of the price. Events have no values in USD if it is older than a minute.'),
        }),
        'The price of SOL that events are valued with; null before the first.',
      ),
      gaps: Group('Counts since it started.', {
        filled: Nullable(Count('Transactions that no node delivered live, and that were read from history.')),
        lostTransactions: Nullable(Count('Transactions that no node delivered live, and that none shows.')),
        lostSlots: Nullable(Count('Slots of which something is missing in the stream.')),
      }),
      sources: Type.Array(
        Closed({
          name: Type.String({ maxLength: maxSourceNameChars, description: 'As in `SOURCES`.' }),
          first: Nullable(Count('Transactions that it reported before all others.')),
          leadMs: Nullable(
            Type.Number({
              minimum: 0,
              description: 'By how much it was first on average, over the transactions that others reported too.',
            }),
          ),
          holes: Nullable(Count('Slots of which it knows that it missed something.')),
          contradicted: Nullable(Count('Transactions that it reported with other contents than the confirmed block has.')),
        }),
        { maxItems: maxFeeds, description: 'The ways in which it reads the chain. Counts since it started.' },
      ),
      forks: Group('Counts since it started.', {
        deadSlots: Nullable(Count('Slots that were seen and did not become part of the chain.')),
        retracted: Nullable(Count('Events that were retracted because of them.')),
      }),
    }),
    'How far the leading ingest process has followed the chain; null if none leads. A field is null if the process does not report it.',
  ),
  sources: Type.Array(
    Closed({
      ingest: IngestName('The ingest process that is connected to it.'),
      endpoint: Nullable(
        Type.Integer({ minimum: 1, maximum: maxEndpoints, description: 'Its place in the settings of that process, from 1.' }),
      ),
      host: Host(),
      state: Type.Enum([...sourceStates], { description: '`lagging`: it is several slots behind the others.' }),
      slotsBehind: Nullable(
        Count('How many slots it is behind the newest one that any node reports to ingest or to this gateway; null before its first slot.'),
      ),
      connects: Nullable(Count('Attempts to connect to it since it started.')),
      faults: Nullable(Count('Frames that no correct node sends.')),
    }),
    { maxItems: maxSources, description: 'The nodes from which ingest processes receive the chain.' },
  ),
  cluster: Closed({ simulated: Nullable(Type.Boolean(), 'Whether the chain is simulated; null while no ingest process reports it.') }),
  endpoints: Type.Array(
    Closed({
      endpoint: Type.Integer({ minimum: 1, maximum: maxEndpoints, description: 'Its place in `SOLANA_RPC_URL`, from 1.' }),
      host: Host(),
      impossibleAnswers: Count('HTTP answers since the start that were longer, or more deeply nested, than any correct one can be.'),
      suspended: Type.Boolean({ description: 'Whether the endpoint is not used for a while, because it sent such an answer.' }),
      suspendedForMs: Count('Time until it is used again; 0 if it is in use.'),
    }),
    { maxItems: maxEndpoints, description: 'The RPC endpoints of this gateway, without their URLs.' },
  ),
  bus: Closed({
    kind: Type.Enum(['in-process', 'redis']),
    linkUp: Type.Boolean(),
    caughtUp: Type.Boolean({ description: 'Whether the history was read completely.' }),
    epoch: Nullable(Epoch(), 'The current epoch of positions.'),
  }),
  stream: Closed({
    connections: Count('Open stream connections.'),
    topics: Count('Topics that clients follow.'),
    events: Count('Events received from the bus.'),
    gaps: Count('Losses reported to clients that followed a topic. Clients that resume too late are not counted.'),
    slowCloses: Count('Connections closed because the client was too slow.'),
    latencyUs: latencies('Events measured.', 'Median time from publishing to sending, microseconds.'),
    history: Closed({
      entries: Count('Events retained for replays.'),
      bytes: Count('Their size in memory.'),
      oldestAtMs: Nullable(Count('When the oldest of them was published, Unix time in milliseconds.')),
    }),
  }),
  orders: Nullable(
    Closed({
      open: Count('Orders that this gateway follows.'),
      stored: Count('Orders that it stored since its start.'),
      finalized: Count('Orders that ended filled.'),
      failed: Count('Orders that ended failed.'),
      expired: Count('Orders that expired.'),
      executionUs: Group('Latencies of the orders that were sent.', {
        quote: step('Quoting'),
        build: step('Building the message'),
        simulate: step('Simulating it'),
        sign: step('Signing it'),
        store: step('Storing the order durably'),
        send: step('Sending the message to the nodes'),
        total: step('From the request to the answer'),
      }),
    }),
    'Execution of orders; null if this gateway does not trade.',
  ),
  trading: Nullable(
    Closed({
      mode: Type.Enum(['off', 'paper', 'live'], { description: 'The setting `TRADING`.' }),
      halted: Type.Boolean({ description: 'The operator has halted trading, or it is unknown whether trading is halted.' }),
      role: TradingRole,
    }),
    'Null if this gateway has no RPC endpoint or no store, and so refuses orders.',
  ),
  triggers: Nullable(
    Closed({
      open: Count('Triggers that have not ended. 0 on a gateway without the trading role.'),
      begun: Count('Firings that began since its start.'),
      late: Count('Firings that began late.'),
      fired: Count('Triggers that ended with an order.'),
      cancelled: Count('Triggers that were cancelled.'),
      expired: Count('Triggers that expired.'),
      failed: Count('Triggers that failed.'),
      sentUs: step('From the event that met a condition to the answer for the sent order'),
    }),
    'Triggers of this gateway; null if it does not trade.',
  ),
  ingest: Type.Array(
    Closed({
      name: FreeText('Its name.'),
      value: Type.Record(Type.String(), Type.Unknown(), { description: 'The report of the process: sources, lag, counts.' }),
    }),
    { maxItems: 1_000, description: 'Ingest processes that report.' },
  ),
});

export type StatusAnswer = Static<typeof Status>;

const operation = { method: 'GET', withApiPrefix: false, access: 'open', tag: 'operations', errors: [] } as const;

export const statusEndpoint = defineEndpoint({
  ...operation,
  id: 'status',
  path: '/status',
  withApiPrefix: true,
  summary: 'Sources, lag, gaps, versions, uptime, and latency percentiles measured by the server.',
  answer: Status,
});

export const liveEndpoint = defineEndpoint({
  ...operation,
  id: 'live',
  path: '/livez',
  summary: 'Liveness: the process runs.',
  answer: Closed({ live: Type.Literal(true) }),
});

export const readyEndpoint = defineEndpoint({
  ...operation,
  id: 'ready',
  path: '/readyz',
  summary: 'Readiness: all parts of the gateway work, and it is not about to restart.',
  description: 'If a part does not work, the details of the error have the same `parts` and `tradingRole`.',
  query: Closed({
    exclude: Type.Optional(
      Type.String({
        maxLength: 200,
        documented: { pattern: `^(${partNames.join('|')})(,(${partNames.join('|')}))*$` },
        description: 'Parts to ignore, comma-separated.',
        examples: ['ingest'],
      }),
    ),
  }),
  answer: Closed({ ready: Type.Literal(true), parts: PartReports, tradingRole: TradingRole }),
  errors: ['DRAINING', 'UPSTREAM_UNAVAILABLE'],
});

export const metricsEndpoint = defineEndpoint({
  ...operation,
  id: 'metrics',
  path: '/metrics',
  summary: "Metrics in Prometheus' text format, for callers on this machine. Others get `NOT_FOUND`.",
  answer: null,
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  errors: ['NOT_FOUND'],
});
