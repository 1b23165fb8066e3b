import { useState } from 'preact/hooks';
import { whole } from '../../format/price.ts';
import { Card, Fact, Select } from '../../parts/parts.tsx';
import { nameOfKey, type ListedKey } from './listed-key.ts';

const [width, height, top] = [600, 110, 4];
/** The chart reaches at least this number of requests, so that a few do not look like many. */
const minScale = 10;
/** A limit that is more than this many times the peak is named below the chart, and not drawn. */
const maxLimitToPeak = 10;
const noRequests: readonly number[] = [];

interface UsageProps {
  /** At least one. */
  readonly keys: readonly ListedKey[];
  /** The key that is shown first. */
  readonly own: string | null;
  /** Gateways that run. The counts are those of one of them. */
  readonly gateways: number;
}

/** What a key has used in the last hour, and its limits. */
export function Usage({ keys, own, gateways }: UsageProps) {
  const [chosen, setChosen] = useState<string | null>(null);
  const shown = keys.find(({ id }) => id === chosen) ?? keys.find(({ id }) => id === own) ?? keys[0]!;
  const { minutes, stream, planLimits } = shown;
  const [accepted, refused] = [minutes?.accepted ?? noRequests, minutes?.refused ?? noRequests];
  const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);
  return (
    <Card
      id="usage"
      title="Usage in the last hour"
      aside={
        <Select
          label="Key"
          class="inline"
          value={shown.id}
          onChange={setChosen}
          options={keys.map((key) => [key.id, nameOfKey(key)] as const)}
        />
      }
    >
      <dl class="facts big">
        <Fact name="Requests this minute">
          {whole(accepted.at(-1) ?? 0)} / {whole(planLimits.requestsPerMinute)}
        </Fact>
        <Fact name="Requests in the hour">{whole(sum(accepted))}</Fact>
        <Fact name="Refused by the limit">
          <span class={sum(refused) > 0 ? 'sell' : ''}>{whole(sum(refused))}</span>
        </Fact>
        <Fact name="Connections">
          {whole(stream.connections)} / {whole(planLimits.connections)}
        </Fact>
        <Fact name="Subscriptions">
          {whole(stream.subscriptions)} / {whole(planLimits.subscriptions)}
        </Fact>
      </dl>
      <UsageBars accepted={accepted} refused={refused} limit={planLimits.requestsPerMinute} />
      {gateways > 1 && (
        <p class="faint">
          These are the numbers of the gateway that answered, since its start. {whole(gateways)} gateways run, and each counts its own.
        </p>
      )}
    </Card>
  );
}

/** One bar for each minute: accepted requests, and refused ones above them. `limit`: requests a minute that the plan allows. */
function UsageBars({ accepted, refused, limit }: Record<'accepted' | 'refused', readonly number[]> & { readonly limit: number }) {
  const totals = accepted.map((count, at) => count + (refused[at] ?? 0));
  const peak = Math.max(0, ...totals);
  const isLimitDrawn = limit <= maxLimitToPeak * Math.max(peak, minScale);
  const scale = Math.max(peak, minScale, isLimitDrawn ? limit : 0);
  const y = (count: number): number => height - (count / scale) * (height - top);
  const step = width / Math.max(1, totals.length);
  const bar = (at: number, from: number, to: number, className: string) =>
    to > from && <rect class={className} x={at * step + 1} width={step - 2} y={y(to)} height={y(from) - y(to)} />;
  const share = Math.round((peak / limit) * 1_000) / 10;
  return (
    <figure class="usage">
      <svg
        viewBox={`0 0 ${width} ${height + 2}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Requests a minute: at most ${whole(peak)}, which is ${share} % of the limit of ${whole(limit)}`}
      >
        {isLimitDrawn && <line x1="0" x2={width} y1={y(limit)} y2={y(limit)} class="limit" />}
        <line x1="0" x2={width} y1={height} y2={height} class="axis" />
        {totals.map((total, at) => (
          <g key={at}>
            {bar(at, 0, accepted[at]!, 'accepted')}
            {bar(at, accepted[at]!, total, 'refused')}
          </g>
        ))}
      </svg>
      <figcaption class="row between faint">
        <span>an hour ago</span>
        <span>
          peak {whole(peak)} a minute, {share} % of the limit{isLimitDrawn ? ' (dashed)' : ''}
        </span>
        <span>now</span>
      </figcaption>
    </figure>
  );
}
