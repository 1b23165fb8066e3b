import { many, whole } from '../../format/price.ts';
import { Empty } from '../../parts/parts.tsx';

interface SourceStatus {
  readonly ingest: string;
  readonly endpoint: number | null;
  readonly host: string | null;
  readonly state: 'up' | 'lagging' | 'down';
  readonly slotsBehind: number | null;
  readonly connects: number | null;
  readonly faults: number | null;
}

/** The nodes, as in `GET /status`. */
export interface SourcesStatus {
  readonly sources: readonly SourceStatus[];
  readonly endpoints: readonly {
    readonly endpoint: number;
    readonly host: string | null;
    readonly impossibleAnswers: number;
    readonly suspended: boolean;
  }[];
  readonly ingest: readonly { readonly name: string; readonly value: Readonly<Record<string, unknown>> }[];
}

/** The nodes from which ingest processes receive the chain, and those that this gateway asks. */
export function Sources({ status: { sources, endpoints, ingest } }: { readonly status: SourcesStatus }) {
  return (
    <section class="card sources" aria-labelledby="sources">
      <h2 id="sources">Sources</h2>
      {ingest.length === 0 && <Empty>No ingest process reports.</Empty>}
      {ingest.map(({ name, value }) => (
        <table key={name}>
          <caption>
            {name} <span class="badge">{value['leads'] === true ? 'publishes' : 'ready to take over'}</span>
          </caption>
          <thead>
            <tr>
              <th>Node</th>
              <th>State</th>
              <th class="number">Behind</th>
              <th class="number">Reconnects</th>
              <th class="number">Faults</th>
            </tr>
          </thead>
          <tbody>
            {sources
              .filter((source) => source.ingest === name)
              .map((source) => (
                <tr key={source.endpoint}>
                  <td>{nodeName(source)}</td>
                  <td class={source.state === 'up' ? 'buy' : 'sell'}>{source.state}</td>
                  <td class="number">{source.slotsBehind === null ? '–' : many(source.slotsBehind, 'slot')}</td>
                  <td class="number">{source.connects === null ? '–' : whole(Math.max(0, source.connects - 1))}</td>
                  <td class="number">{source.faults === null ? '–' : whole(source.faults)}</td>
                </tr>
              ))}
          </tbody>
        </table>
      ))}
      {endpoints.length > 0 && (
        <table>
          <caption>Asked by this gateway, for reads and orders</caption>
          <thead>
            <tr>
              <th>Node</th>
              <th>State</th>
              <th class="number">Faulty answers</th>
            </tr>
          </thead>
          <tbody>
            {endpoints.map((endpoint) => (
              <tr key={endpoint.endpoint}>
                <td>{nodeName(endpoint)}</td>
                <td class={endpoint.suspended ? 'sell' : 'buy'}>{endpoint.suspended ? 'suspended' : 'in use'}</td>
                <td class="number">{whole(endpoint.impossibleAnswers)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function nodeName({ endpoint, host }: { readonly endpoint: number | null; readonly host: string | null }): string {
  const number = endpoint === null ? 'node' : `node ${endpoint}`;
  return host === null ? number : `${number}: ${host}`;
}
