import { Type } from 'typebox';
import { defineEndpoint } from './endpoint.ts';

const Count = (description: string) => Type.Integer({ minimum: 0, description });
const Percentile = (description: string) => Type.Union([Type.Number({ minimum: 0 }), Type.Null()], { description });
const closed = { additionalProperties: false } as const;
const latencies = (count: string, p50: string) =>
  Type.Object(
    {
      count: Count(count),
      p50: Percentile(p50),
      p90: Percentile('90th percentile.'),
      p99: Percentile('99th percentile.'),
      max: Type.Number({ minimum: 0, description: 'Longest.' }),
    },
    closed,
  );
const PartReports = Type.Record(
  Type.String(),
  Type.Object(
    {
      ok: Type.Boolean(),
      reason: Type.Union([Type.String(), Type.Null()], { description: 'What is wrong with it; null where it is well.' }),
    },
    closed,
  ),
  { description: 'The parts that the gateway needs: `bus`, `ingest`, `store`, `limits`, `chain`, `trading`.' },
);
const TradingRole = Type.Union([Type.Enum(['self', 'other']), Type.Null()], {
  description: 'Which gateway holds the trading role: this one, or another, which gets the orders of this one. Null if that is unknown.',
});
const step = (what: string) => latencies('Orders measured.', `${what}, microseconds, median.`);

const Status = Type.Object(
  {
    name: Type.Literal('sluice'),
    version: Type.String({ description: 'Of the program.' }),
    apiVersion: Type.String({ description: 'Of the interface, as in `X-API-Version`.' }),
    node: Type.String({ description: 'Version of Node.js.' }),
    transport: Type.Union([Type.Enum(['uws', 'node']), Type.Null()], { description: 'What speaks HTTP.' }),
    startedAtMs: Count('Start of this gateway, Unix time in milliseconds.'),
    uptimeMs: Count('Time since then.'),
    draining: Type.Boolean({ description: 'A restart is due: it takes no new connections.' }),
    lag: Type.Object(
      {
        slots: Type.Union([Count('Slots that ingest is behind the newest that this gateway hears of.'), Type.Null()], {
          description: 'Null where it hears of none itself.',
        }),
        ms: Type.Union([Count('Time since ingest heard of a new slot, as of its last report.'), Type.Null()], {
          description: 'Null if no ingest process reports it.',
        }),
      },
      { ...closed, description: 'How far the stream may be behind the chain.' },
    ),
    parts: PartReports,
    cluster: Type.Object(
      {
        simulated: Type.Union([Type.Boolean(), Type.Null()], {
          description: 'The chain is simnet; null while no ingest process reports it.',
        }),
      },
      closed,
    ),
    endpoints: Type.Array(
      Type.Object(
        {
          endpoint: Type.Integer({ minimum: 1, description: 'Its place in `SOLANA_RPC_URL`, from 1.' }),
          offences: Count('Answers over HTTP since the start that were longer, or nested deeper, than any true one.'),
          resting: Type.Boolean({ description: 'It sent such an answer, and is not asked for a while.' }),
          restMs: Count('Time until it is asked again; 0 where it is not resting.'),
        },
        closed,
      ),
      { description: 'The RPC endpoints of this gateway; none of their addresses.' },
    ),
    bus: Type.Object(
      {
        kind: Type.Enum(['in-process', 'redis']),
        linkUp: Type.Boolean(),
        caughtUp: Type.Boolean({ description: 'The history was read whole.' }),
        epoch: Type.Union([Type.String(), Type.Null()], { description: 'The run of numbers that positions count in.' }),
      },
      closed,
    ),
    stream: Type.Object(
      {
        connections: Count('Open stream connections.'),
        topics: Count('Topics that somebody follows.'),
        events: Count('Events taken from the bus.'),
        gaps: Count('Gaps reported to clients.'),
        slowCloses: Count('Connections closed as too slow.'),
        latencyUs: latencies('Events measured.', 'From publishing to sending, microseconds, median.'),
        history: Type.Object({ entries: Count('Events retained for replays.'), bytes: Count('Their memory.') }, closed),
      },
      closed,
    ),
    orders: Type.Union(
      [
        Type.Object(
          {
            open: Count('Orders that this gateway follows.'),
            stored: Count('Orders stored by it since its start.'),
            finalized: Count('Orders that ended filled.'),
            failed: Count('Orders that ended failed.'),
            expired: Count('Orders that can land no more.'),
            executionUs: Type.Object(
              {
                quote: step('Quoting'),
                build: step('Building the message'),
                simulate: step('Simulating it'),
                sign: step('Signing it'),
                store: step('Storing the order durably'),
                send: step('Handing the message to the nodes'),
                total: step('From the request to the answer'),
              },
              { ...closed, description: 'Of the orders that were sent.' },
            ),
          },
          closed,
        ),
        Type.Null(),
      ],
      { description: 'Execution of orders; null where this gateway does not trade.' },
    ),
    ingest: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          value: Type.Record(Type.String(), Type.Unknown(), { description: 'The report of the process: sources, lag, counts.' }),
        },
        closed,
      ),
      { description: 'Ingest processes that report.' },
    ),
  },
  { ...closed, title: 'status' },
);

export const statusEndpoint = defineEndpoint({
  id: 'status',
  method: 'GET',
  path: '/status',
  bothForms: true,
  access: 'open',
  tag: 'operations',
  summary: 'Versions, uptime, lag and the percentiles that the server measured itself.',
  answer: Status,
  errors: [],
});

export const liveEndpoint = defineEndpoint({
  id: 'live',
  method: 'GET',
  path: '/livez',
  bothForms: false,
  access: 'open',
  tag: 'operations',
  summary: 'The process lives.',
  answer: Type.Object({ live: Type.Literal(true) }, closed),
  errors: [],
});

export const readyEndpoint = defineEndpoint({
  id: 'ready',
  method: 'GET',
  path: '/readyz',
  bothForms: false,
  access: 'open',
  tag: 'operations',
  summary: 'The gateway may get traffic: every part that it needs works, and no restart is due.',
  description: 'Where a part is ill the error has the same `parts` and `tradingRole` in its details.',
  query: Type.Object(
    { exclude: Type.Optional(Type.String({ maxLength: 200, description: 'Parts, comma-separated, that may be ill: `ingest`, say.' })) },
    closed,
  ),
  answer: Type.Object({ ready: Type.Literal(true), parts: PartReports, tradingRole: TradingRole }, closed),
  errors: ['DRAINING', 'UPSTREAM_UNAVAILABLE'],
});

export const metricsEndpoint = defineEndpoint({
  id: 'metrics',
  method: 'GET',
  path: '/metrics',
  bothForms: false,
  access: 'open',
  tag: 'operations',
  summary: "Metrics in Prometheus' text form, for callers on this machine; to others there is nothing here.",
  answer: null,
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  errors: ['NOT_FOUND'],
});
