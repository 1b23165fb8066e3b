import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../support/gateway.ts';
import { runProgram, type RunningProgram } from '../support/processes.ts';
import { hasPromtool, promtool } from '../support/product/promtool.ts';
import { startRedis, type TestRedis } from '../support/servers/redis.ts';

/** What each process reports to operators, at its own port. */
const operating = join(import.meta.dirname, '../../operating');
let folder: string;
let redis: TestRedis;
const programs: RunningProgram[] = [];
let ingest: RunningProgram;
const urls = { gateway: '', ingest: '', publicGateway: '' };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-operations-'));
  redis = await startRedis();
  const start = (program: string, env: Readonly<Record<string, string>>, args: readonly string[] = []): RunningProgram => {
    const running = runProgram(program, { folder, env }, args);
    programs.push(running);
    return running;
  };
  const simnet = start('cli/sluice.ts', {}, ['simnet', '--port', '0', '--trades-per-second', '30', '--json']);
  const rpcUrl = await new Promise<string>((resolve) => {
    let output = '';
    simnet.child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const found = /https?:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0];
      if (found !== undefined) resolve(found);
    });
  });
  const env = { REDIS_URL: redis.url, SOLANA_RPC_URL: rpcUrl, PORT: '0', METRICS_PORT: '0', TRADING: 'paper' };
  ingest = start('ingest/src/main.ts', env);
  const gateway = start('cli/gateway.ts', env);
  const portOf = async (program: RunningProgram): Promise<string> =>
    `http://127.0.0.1:${String((await program.logged('operations_listening'))['port'])}`;
  [urls.ingest, urls.gateway] = await Promise.all([portOf(ingest), portOf(gateway)]);
  urls.publicGateway = String((await gateway.logged('listening'))['url']);
  await until(
    'both to be ready',
    async () => (await ready(urls.ingest)).status === 200 && (await ready(urls.gateway)).status === 200,
    40_000,
  );
}, 90_000);
afterAll(async () => {
  for (const program of programs) program.child.kill('SIGKILL');
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Readiness {
  readonly status: number;
  readonly parts: Readonly<Record<string, { readonly ok: boolean; readonly reason: string | null }>>;
}

async function ready(url: string): Promise<Readiness> {
  const answer = await fetch(`${url}/readyz`);
  const { parts } = (await answer.json()) as Readiness;
  return { status: answer.status, parts };
}

async function scrape(url: string): Promise<string> {
  const answer = await fetch(`${url}/metrics`);
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return answer.text();
}

function namesIn(text: string): Set<string> {
  return new Set(text.split('\n').flatMap((line) => (line === '' || line.startsWith('#') ? [] : [line.split(/[ {]/)[0]!])));
}

it('every metric that an alert or the dashboard names exists', async () => {
  const exported = new Set([...namesIn(await scrape(urls.gateway)), ...namesIn(await scrape(urls.ingest))]);
  const text =
    readFileSync(join(operating, 'prometheus/alerts.yml'), 'utf8') + readFileSync(join(operating, 'grafana/sluice.json'), 'utf8');
  const named = new Set(text.match(/\b(sluice_(gateway|ingest)|process|nodejs)_[a-z0-9_]*[a-z0-9]\b/g));
  expect(named.size).toBeGreaterThan(60);
  expect([...named].filter((name) => !exported.has(name))).toEqual([]);
});

it.runIf(hasPromtool)('is well formed according to promtool', async () => {
  for (const url of [urls.gateway, urls.ingest]) {
    const checked = promtool(['check', 'metrics'], await scrape(url));
    expect(checked).toEqual({ ok: true, output: '' });
  }
  expect(promtool(['check', 'metrics'], 'sluice_bad 1\n# TYPE sluice_bad counter\n').ok).toBe(false);
});

it('labels have few values, and name no client, key or coin', async () => {
  const labels = new Map<string, Set<string>>();
  for (const url of [urls.gateway, urls.ingest]) {
    for (const [, name, value] of (await scrape(url)).matchAll(/[{,]([a-z_]+)="([^"]*)"/g)) {
      labels.set(name!, (labels.get(name!) ?? new Set()).add(value!));
    }
  }
  const known = ['endpoint', 'kind', 'lane', 'le', 'of', 'part', 'source', 'state', 'step', 'venue', 'version'];
  expect([...labels.keys()].filter((name) => !known.includes(name))).toEqual([]);
  for (const [name, values] of labels) {
    expect(values.size, name).toBeLessThan(40);
    for (const value of values) expect(value.length, value).toBeLessThan(25);
  }
});

it("the gateway's own port reports the same, to this machine", async () => {
  expect([...namesIn(await scrape(urls.publicGateway))].toSorted()).toEqual([...namesIn(await scrape(urls.gateway))].toSorted());
  for (const url of [urls.gateway, urls.ingest]) {
    expect(await (await fetch(`${url}/livez`)).json()).toEqual({ live: true });
    expect((await fetch(`${url}/status`)).status).toBe(404);
    expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(405);
  }
});

it('the metrics count what happens', async () => {
  const value = (text: string, name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  await until('events', async () => value(await scrape(urls.gateway), 'sluice_gateway_events_total') > 100);
  await until('a report of ingest', async () => value(await scrape(urls.gateway), 'sluice_gateway_lag_seconds') >= 0);
  const [gateway, ofIngest] = [await scrape(urls.gateway), await scrape(urls.ingest)];
  expect(value(ofIngest, 'sluice_ingest_leads')).toBe(1);
  expect(value(ofIngest, 'sluice_ingest_slot_age_seconds')).toBeLessThan(5);
  expect(value(ofIngest, 'sluice_ingest_publish_delay_seconds_count')).toBeGreaterThan(0);
  expect(value(ofIngest, 'sluice_ingest_decoded_total{venue="pump",source="events"}')).toBeGreaterThan(0);
  expect(value(gateway, 'sluice_gateway_stream_latency_seconds_count')).toBeGreaterThan(0);
  expect(value(gateway, 'sluice_gateway_lag_seconds')).toBeGreaterThanOrEqual(0);
  expect(value(gateway, 'nodejs_eventloop_delay_seconds_count')).toBeGreaterThan(0);
  expect(value(gateway, 'process_open_fds')).toBeGreaterThan(10);
  interface Status {
    readonly lag: { readonly slots: number | null; readonly ms: number };
    readonly parts: Readiness['parts'];
    /** Null until ingest has reported that it leads. Its first report may be older. */
    readonly chain: { readonly slot: number; readonly watermark: number | null } | null;
    readonly sources: readonly unknown[];
  }
  const status = async (): Promise<Status> => (await (await fetch(`${urls.publicGateway}/api/status`)).json()) as Status;
  await until(
    'a report of the leading ingest, and the lag',
    async () => (await status()).chain !== null && (await status()).lag.slots !== null,
  );
  const { lag, parts, chain, sources } = await status();
  expect(chain!.slot).toBeGreaterThan(chain!.watermark ?? 0);
  // The node offers logs and whole transactions.
  const isUp = { endpoint: 1, host: null, state: 'up' };
  expect(sources).toMatchObject([isUp, isUp]);
  expect(lag.slots).toBeLessThan(50);
  expect(lag.ms).toBeLessThan(30_000);
  expect(parts['ingest']).toEqual({ ok: true, reason: null });
});

it('the unhealthy part is named', async () => {
  const ill = async (url: string): Promise<readonly string[]> => {
    const { status, parts } = await ready(url);
    const names = Object.entries(parts).flatMap(([name, { ok }]) => (ok ? [] : [name]));
    expect(status).toBe(names.length === 0 ? 200 : 503);
    return names;
  };
  ingest.child.kill('SIGSTOP');
  await until('ingest to be reported as missing', async () => (await ill(urls.gateway)).join() === 'ingest');
  ingest.child.kill('SIGCONT');
  await until('ingest to be available again', async () => (await ill(urls.gateway)).length === 0);
  redis.pause();
  await until('the bus to be reported as missing', async () => (await ill(urls.gateway)).includes('bus'));
  await until('ingest to report it', async () => (await ill(urls.ingest)).join() === 'bus');
  redis.resume();
  await until('all to be healthy', async () => (await ill(urls.gateway)).length + (await ill(urls.ingest)).length === 0);
});
