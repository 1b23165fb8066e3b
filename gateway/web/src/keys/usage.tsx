import { useEffect, useState } from 'preact/hooks';
import { pageKey, sessionRequest } from '../state/server.ts';
import { useLoaded } from '../parts/hooks.ts';
import { Fact, Fault } from '../parts/parts.tsx';

interface Usage {
  readonly key: { readonly id: string; readonly prefix: string; readonly label: string | null };
  readonly plan: {
    readonly name: string;
    readonly requestsPerMinute: number;
    readonly burst: number;
    readonly connections: number;
    readonly subscriptions: number;
  };
  readonly requests: { readonly remaining: number; readonly counted: 'shared' | 'local' };
  readonly stream: { readonly connections: number; readonly subscriptions: number };
}

const readEveryMs = 5_000;
/** Ten minutes. */
const maxPoints = 120;
const [width, height] = [600, 90];

/** How much of the plan's limits the key of this page uses. */
export function UsageChart() {
  const key = pageKey.value ?? '';
  const { value: usage, fault } = useLoaded(() => sessionRequest<Usage>('/api/usage'), key, readEveryMs);
  const [points, setPoints] = useState<readonly number[]>([]);
  useEffect(() => {
    if (usage === null) return;
    const used = 1 - usage.requests.remaining / usage.plan.burst;
    setPoints((last) => [...last, Math.min(1, Math.max(0, used))].slice(-maxPoints));
  }, [usage]);
  if (usage === null) return <Fault text={fault} />;
  const { plan, requests, stream } = usage;
  const used = plan.burst - requests.remaining;
  return (
    <section class="card" aria-labelledby="usage">
      <div class="row between">
        <h2 id="usage">
          Usage of {usage.key.prefix} {usage.key.label !== null && <small>{usage.key.label}</small>}
        </h2>
        <span class="badge">{plan.name}</span>
      </div>
      <dl class="facts big">
        <Fact name="Requests used of the burst">
          {Math.max(0, used).toLocaleString('en-US')} / {plan.burst.toLocaleString('en-US')}
        </Fact>
        <Fact name="Refill a minute">{plan.requestsPerMinute.toLocaleString('en-US')}</Fact>
        <Fact name="Connections">
          {stream.connections} / {plan.connections.toLocaleString('en-US')}
        </Fact>
        <Fact name="Subscriptions">
          {stream.subscriptions} / {plan.subscriptions.toLocaleString('en-US')}
        </Fact>
      </dl>
      <UsageLine points={points} />
      {requests.counted === 'local' && (
        <p class="warn">The gateways cannot count together at present; these are the numbers of this one.</p>
      )}
      <Fault text={fault} />
    </section>
  );
}

function UsageLine({ points }: { readonly points: readonly number[] }) {
  const step = width / (maxPoints - 1);
  const places = points.map(
    (used, at) => `${(width - (points.length - 1 - at) * step).toFixed(1)},${(height - used * (height - 4)).toFixed(1)}`,
  );
  const last = Math.round((points.at(-1) ?? 0) * 100);
  return (
    <svg
      class="usage"
      viewBox={`0 0 ${width} ${height + 2}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${last} % of the limit is in use`}
    >
      <line x1="0" x2={width} y1="4" y2="4" class="limit" />
      <line x1="0" x2={width} y1={height} y2={height} class="axis" />
      {places.length > 1 && (
        <polygon class="area" points={`${places[0]!.split(',')[0]},${height} ${places.join(' ')} ${width},${height}`} />
      )}
      {places.length > 1 && <polyline class="line" points={places.join(' ')} />}
    </svg>
  );
}
