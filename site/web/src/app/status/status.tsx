import { age, ago } from '../../format/text.ts';
import { whole } from '../../format/price.ts';
import { useLoaded, useNow } from '../../parts/hooks.ts';
import { ModeBadge } from '../../parts/mode.tsx';
import { DocsLink } from '../../parts/links.tsx';
import { AsOf, Empty, Fact, Fault } from '../../parts/parts.tsx';
import { Chain, type ChainStatus } from './chain.tsx';
import { Sources, type SourcesStatus } from './sources.tsx';

interface Latencies {
  readonly count: number;
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p99: number | null;
  readonly max: number;
}

/** The parts of `GET /status` that the page shows. */
interface Status extends SourcesStatus {
  readonly version: string;
  readonly apiVersion: string;
  readonly node: string;
  readonly transport: string | null;
  readonly uptimeMs: number;
  readonly draining: boolean;
  readonly lag: { readonly slots: number | null; readonly ms: number | null };
  readonly parts: Readonly<Record<string, { readonly ok: boolean; readonly reason: string | null }>>;
  readonly chain: ChainStatus | null;
  readonly bus: { readonly kind: string; readonly linkUp: boolean; readonly epoch: string | null };
  readonly stream: {
    readonly connections: number;
    readonly topics: number;
    readonly events: number;
    readonly gaps: number;
    readonly slowCloses: number;
    readonly latencyUs: Latencies;
  };
  readonly orders: {
    readonly open: number;
    readonly stored: number;
    readonly finalized: number;
    readonly failed: number;
    readonly expired: number;
    readonly executionUs: Readonly<Record<string, Latencies>>;
  } | null;
  readonly trading: { readonly mode: 'off' | 'paper' | 'live'; readonly halted: boolean; readonly role: 'self' | 'other' | null } | null;
}

const refreshMs = 3_000;
/** Figures of a gateway that does not answer are shown for this time. */
const staleAfterMs = 10_000;

async function readStatus(): Promise<Status> {
  const response = await fetch('/status');
  if (!response.ok) throw new Error(`The gateway answered ${response.status}.`);
  return (await response.json()) as Status;
}

const micros = (value: number | null | undefined): string =>
  value === null || value === undefined
    ? '–'
    : value < 1_000
      ? `${Math.round(value)} µs`
      : value < 1_000_000
        ? `${(value / 1_000).toFixed(1)} ms`
        : `${(value / 1_000_000).toFixed(2)} s`;

export function StatusPage() {
  const { value: status, fault, readAtMs } = useLoaded(readStatus, 'status', refreshMs);
  const now = useNow();
  const isStale = fault !== null && status !== null && now - readAtMs > staleAfterMs;
  return (
    <>
      <div class="page-head">
        <h1>Status</h1>
        {fault !== null && <span class="badge off">no answer</span>}
        {status !== null && fault === null && (
          <span class={Object.values(status.parts).every(({ ok }) => ok) ? 'badge ok' : 'badge off'}>
            {Object.values(status.parts).every(({ ok }) => ok) ? 'all parts work' : 'a part does not work'}
          </span>
        )}
        <ModeBadge />
        {status !== null && <AsOf readAtMs={readAtMs} />}
        <DocsLink page="http-operations" about="status and metrics" />
      </div>
      <Fault text={fault} />
      {status === null && fault === null && <Empty>Loading …</Empty>}
      {isStale && <p class="warn">The last answer came {ago(readAtMs, now)}.</p>}
      {status !== null && !isStale && <Report status={status} />}
    </>
  );
}

function Report({ status }: { readonly status: Status }) {
  const { stream, orders } = status;
  return (
    <div class="cards">
      <Chain chain={status.chain} lag={status.lag} gaps={stream.gaps} />
      <Sources status={status} />
      <section class="card" aria-labelledby="parts">
        <h2 id="parts">Parts</h2>
        <dl class="facts list">
          {Object.entries(status.parts).map(([name, { ok, reason }]) => (
            <Fact key={name} name={name}>
              <span class={ok ? 'buy' : 'sell'}>{ok ? 'works' : (reason ?? 'does not work')}</span>
            </Fact>
          ))}
        </dl>
      </section>
      <section class="card" aria-labelledby="gateway">
        <h2 id="gateway">This gateway</h2>
        <dl class="facts list">
          <Fact name="Running for">{status.draining ? `${age(status.uptimeMs)}, ends now` : age(status.uptimeMs)}</Fact>
          <Fact name="Connected clients">{whole(stream.connections)}</Fact>
          <Fact name="Topics that they follow">{whole(stream.topics)}</Fact>
          <Fact name="Events received">{whole(stream.events)}</Fact>
          <Fact name="Slow clients closed">{whole(stream.slowCloses)}</Fact>
          <Fact name="Bus">{`${status.bus.kind}${status.bus.linkUp ? '' : ', not connected'}`}</Fact>
        </dl>
      </section>
      <section class="card" aria-labelledby="versions">
        <h2 id="versions">Versions</h2>
        <dl class="facts list">
          <Fact name="sluice">{status.version}</Fact>
          {status.chain !== null && <Fact name="sluice ingest">{status.chain.version ?? 'unknown'}</Fact>}
          <Fact name="API">{status.apiVersion}</Fact>
          <Fact name="Node.js">{status.node}</Fact>
          <Fact name="Transport">{status.transport ?? '–'}</Fact>
        </dl>
      </section>
      <section class="card" aria-labelledby="latency">
        <h2 id="latency">Latency</h2>
        <table>
          <thead>
            <tr>
              <th>Step</th>
              <th class="number">Median</th>
              <th class="number">p90</th>
              <th class="number">p99</th>
            </tr>
          </thead>
          <tbody>
            <LatencyRow name="stream" of={stream.latencyUs} />
            {orders !== null &&
              Object.entries(orders.executionUs).map(([name, of]) => <LatencyRow key={name} name={`order: ${name}`} of={of} />)}
          </tbody>
        </table>
      </section>
      {orders !== null && (
        <section class="card" aria-labelledby="order-counts">
          <h2 id="order-counts">Orders of this gateway</h2>
          <dl class="facts list">
            <Trading trading={status.trading} />
            <Fact name="Open">{orders.open}</Fact>
            <Fact name="Stored">{orders.stored}</Fact>
            <Fact name="Finalized">{orders.finalized}</Fact>
            <Fact name="Failed">{orders.failed}</Fact>
            <Fact name="Expired">{orders.expired}</Fact>
          </dl>
        </section>
      )}
    </div>
  );
}

const modeTexts = { off: 'off: orders are refused', paper: 'paper: nothing is sent', live: 'live' } as const;

function Trading({ trading }: Pick<Status, 'trading'>) {
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

function LatencyRow({ name, of }: { readonly name: string; readonly of: Latencies }) {
  return (
    <tr>
      <td>{name}</td>
      <td class="number">{micros(of.p50)}</td>
      <td class="number">{micros(of.p90)}</td>
      <td class="number">{micros(of.p99)}</td>
    </tr>
  );
}
