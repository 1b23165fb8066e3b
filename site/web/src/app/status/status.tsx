import type { StatusAnswer } from '@sluice/shared/wire/rest/operations/operations.ts';
import { many, usd, whole } from '../../format/price.ts';
import { age, ago, duration } from '../../format/text.ts';
import { ModeBadge } from '../../parts/mode.tsx';
import { useLoaded, useNow } from '../../parts/hooks.ts';
import { DocsLink } from '../../parts/links.tsx';
import { AsOf, Card, Empty, Fact, Reading } from '../../parts/parts.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { readStatus } from '../../state/server.ts';

const refreshMs = 3_000;
/** Figures of a gateway that does not answer are shown for this time. */
const staleAfterMs = 10_000;
/** The stream has no values in USD with an older price. */
const priceStaleAfterMs = 60_000;

const known = (value: number | null): string => (value === null ? 'unknown' : whole(value));
const orDash = (value: number | null, text: (value: number) => string = whole): string => (value === null ? '–' : text(value));
const slots = (value: number): string => many(value, 'slot');

function micros(value: number | null): string {
  if (value === null) return '–';
  if (value < 1_000) return `${Math.round(value)} µs`;
  return value < 1_000_000 ? `${(value / 1_000).toFixed(1)} ms` : `${(value / 1_000_000).toFixed(2)} s`;
}

export function StatusPage() {
  const { value: status, fault, readAtMs } = useLoaded(readStatus, 'status', refreshMs);
  const now = useNow();
  const isStale = fault !== null && status !== null && now - readAtMs > staleAfterMs;
  const works = Object.values(status?.parts ?? {}).every(({ ok }) => ok);
  return (
    <>
      <div class="page-head">
        <h1>Status</h1>
        {fault !== null && <span class="badge off">no answer</span>}
        {status !== null && fault === null && (
          <span class={works ? 'badge ok' : 'badge off'}>{works ? 'all parts work' : 'a part does not work'}</span>
        )}
        <ModeBadge />
        {status !== null && <AsOf readAtMs={readAtMs} />}
        <DocsLink page="http-operations" about="status and metrics" />
      </div>
      <Reading fault={fault} isRead={status !== null} />
      {isStale && <p class="warn">The last answer came {ago(readAtMs, now)}.</p>}
      {status !== null && !isStale && <Report status={status} />}
    </>
  );
}

function Report({ status }: { readonly status: StatusAnswer }) {
  const { stream, orders, bus } = status;
  return (
    <div class="cards">
      <Chain status={status} />
      <Sources status={status} />
      <Card id="parts" title="Parts">
        <dl class="facts list">
          {Object.entries(status.parts).map(([name, { ok, reason }]) => (
            <Fact key={name} name={name}>
              <span class={ok ? 'buy' : 'sell'}>{ok ? 'works' : (reason ?? 'does not work')}</span>
            </Fact>
          ))}
        </dl>
      </Card>
      <Card id="gateway" title="This gateway">
        <dl class="facts list">
          <Fact name="Running for">{status.draining ? `${age(status.uptimeMs)}, ends now` : age(status.uptimeMs)}</Fact>
          <Fact name="Connected clients">{whole(stream.connections)}</Fact>
          <Fact name="Topics that they follow">{whole(stream.topics)}</Fact>
          <Fact name="Events received">{whole(stream.events)}</Fact>
          <Fact name="Slow clients closed">{whole(stream.slowCloses)}</Fact>
          <Fact name="Bus">{`${bus.kind}${bus.linkUp ? '' : ', not connected'}`}</Fact>
        </dl>
      </Card>
      <Card id="versions" title="Versions">
        <dl class="facts list">
          <Fact name="sluice">{status.version}</Fact>
          {status.chain !== null && <Fact name="sluice ingest">{status.chain.version ?? 'unknown'}</Fact>}
          <Fact name="API">{status.apiVersion}</Fact>
          <Fact name="Node.js">{status.node}</Fact>
          <Fact name="Transport">{status.transport ?? '–'}</Fact>
        </dl>
      </Card>
      <Latency status={status} />
      {orders !== null && (
        <Card id="order-counts" title="Orders of this gateway">
          <dl class="facts list">
            <Trading trading={status.trading} />
            <Fact name="Open">{orders.open}</Fact>
            <Fact name="Stored">{orders.stored}</Fact>
            <Fact name="Finalized">{orders.finalized}</Fact>
            <Fact name="Failed">{orders.failed}</Fact>
            <Fact name="Expired">{orders.expired}</Fact>
          </dl>
        </Card>
      )}
    </div>
  );
}

const modeTexts = { off: 'off: orders are refused', paper: 'paper: nothing is sent', live: 'live' } as const;

function Trading({ trading }: Pick<StatusAnswer, 'trading'>) {
  if (trading === null) return null;
  const { mode, halted, role } = trading;
  return (
    <>
      <Fact name="Trading">{halted ? <span class="sell">halted by the operator</span> : modeTexts[mode]}</Fact>
      {mode !== 'off' && (
        <Fact name="Trading role" title="One of all gateways places the orders. The others hand theirs over to it.">
          {role === 'self' ? 'this gateway' : role === 'other' ? 'another gateway' : 'unknown'}
        </Fact>
      )}
    </>
  );
}

type Latencies = StatusAnswer['stream']['latencyUs'];
const latencyColumns: readonly Column<readonly [name: string, of: Latencies]>[] = [
  { head: 'Step', cell: ([name]) => name },
  { head: 'Median', class: 'number', cell: ([, { p50 }]) => micros(p50) },
  { head: 'p90', class: 'number', cell: ([, { p90 }]) => micros(p90) },
  { head: 'p99', class: 'number', cell: ([, { p99 }]) => micros(p99) },
];

function Latency({ status: { stream, orders } }: { readonly status: StatusAnswer }) {
  const steps = Object.entries(orders?.executionUs ?? {}).map(([name, of]) => [`order: ${name}`, of] as const);
  return (
    <Card id="latency" title="Latency">
      <Table columns={latencyColumns} rows={[['stream', stream.latencyUs], ...steps]} keyOf={([name]) => name} />
    </Card>
  );
}

/** How far the stream has followed the chain, and what is missing in it. */
function Chain({ status: { chain, lag, stream } }: { readonly status: StatusAnswer }) {
  return (
    <Card id="chain" title="Lag and gaps">
      {chain === null && <Empty>No ingest process leads. The stream has stopped.</Empty>}
      <dl class="facts list">
        {chain !== null && (
          <Fact name="Newest slot" title="As of the last report of ingest, which reports four times a second">
            {known(chain.slot)} <small>{lag.ms === null ? '' : `${duration(lag.ms)} ago`}</small>
          </Fact>
        )}
        <Fact name="Behind the chain" title="Compared with the newest slot that nodes report to this gateway">
          {lag.slots === null ? 'unknown' : slots(lag.slots)}
        </Fact>
        {chain !== null && <FromIngest chain={chain} />}
        <Fact name="Losses reported to clients" title="Since the start of this gateway. A client that resumes too late is not counted">
          {whole(stream.gaps)}
        </Fact>
      </dl>
    </Card>
  );
}

function FromIngest({ chain: { slot, watermark, solUsd, gaps, forks } }: { readonly chain: NonNullable<StatusAnswer['chain']> }) {
  const lost = (gaps.lostTransactions ?? 0) + (gaps.lostSlots ?? 0) > 0;
  return (
    <>
      <Fact name="Watermark" title="Up to this slot the stream is complete: it was compared with the records of nodes">
        {known(watermark)} <small>{watermark === null || slot === null ? '' : `${slots(Math.max(0, slot - watermark))} behind`}</small>
      </Fact>
      <Fact name="SOL price">
        {solUsd === null ? (
          'none yet'
        ) : (
          <>
            {usd(solUsd.price)} <small class={solUsd.ageMs > priceStaleAfterMs ? 'sell' : ''}>{duration(solUsd.ageMs)} old</small>
          </>
        )}
      </Fact>
      <Fact name="Gaps filled" title="Transactions that no node delivered live, and that were read from history">
        {many(gaps.filled, 'transaction')}
      </Fact>
      <Fact name="Gaps lost" title="What no node has any more. Clients received a gap">
        <span class={lost ? 'sell' : ''}>
          {many(gaps.lostTransactions, 'transaction')}, {many(gaps.lostSlots, 'slot')}
        </span>
      </Fact>
      <Fact name="Forks" title="Slots that were seen and did not become part of the chain">
        {many(forks.deadSlots, 'dead slot')}, {many(forks.retracted, 'event')} retracted
      </Fact>
    </>
  );
}

type Source = StatusAnswer['sources'][number];
type Endpoint = StatusAnswer['endpoints'][number];

function nodeName({ endpoint, host }: Pick<Source, 'endpoint' | 'host'>): string {
  const number = endpoint === null ? 'node' : `node ${endpoint}`;
  return host === null ? number : `${number}: ${host}`;
}

const sourceColumns: readonly Column<Source>[] = [
  { head: 'Node', cell: nodeName },
  { head: 'State', cell: ({ state }) => <span class={state === 'up' ? 'buy' : 'sell'}>{state}</span> },
  { head: 'Behind', class: 'number', cell: ({ slotsBehind }) => orDash(slotsBehind, slots) },
  { head: 'Reconnects', class: 'number', cell: ({ connects }) => orDash(connects, (count) => whole(Math.max(0, count - 1))) },
  { head: 'Faults', class: 'number', cell: ({ faults }) => orDash(faults) },
];
const endpointColumns: readonly Column<Endpoint>[] = [
  { head: 'Node', cell: nodeName },
  { head: 'State', cell: ({ suspended }) => <span class={suspended ? 'sell' : 'buy'}>{suspended ? 'suspended' : 'in use'}</span> },
  { head: 'Faulty answers', class: 'number', cell: ({ impossibleAnswers }) => whole(impossibleAnswers) },
];

/** The nodes from which ingest processes receive the chain, and those that this gateway asks. */
function Sources({ status: { sources, endpoints, ingest } }: { readonly status: StatusAnswer }) {
  return (
    <Card id="sources" title="Sources" class="sources">
      {ingest.length === 0 && <Empty>No ingest process reports.</Empty>}
      {ingest.map(({ name, value }) => (
        <Table
          key={name}
          caption={[name, ' ', <span class="badge">{value['leads'] === true ? 'publishes' : 'ready to take over'}</span>]}
          columns={sourceColumns}
          rows={sources.filter((source) => source.ingest === name)}
          keyOf={({ endpoint }) => String(endpoint)}
        />
      ))}
      {endpoints.length > 0 && (
        <Table
          caption="Asked by this gateway, for reads and orders"
          columns={endpointColumns}
          rows={endpoints}
          keyOf={({ endpoint }) => String(endpoint)}
        />
      )}
    </Card>
  );
}
