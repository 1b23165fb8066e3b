import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StoreAuthenticator } from '@sluice/gateway/auth/authenticator.ts';
import { newApiKey, newKeyId } from '@sluice/gateway/auth/key-format.ts';
import type { Principal } from '@sluice/gateway/auth/principal.ts';
import { authenticatorOf, makeKey, openEmbeddedStore } from '../../support/keys.ts';
import type { BenchRow } from '../row.ts';

const keyCount = 1_000;
const warmupChecks = 50_000;
const checks = 200_000;
const targetUs = 20;

/** Checks of API keys from the embedded store, 1,000 keys in turn. Each check is timed. */
export async function run(): Promise<BenchRow[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-auth-'));
  const store = await openEmbeddedStore(dataDir);
  const keys: string[] = [];
  for (let count = 0; count < keyCount; count++) keys.push((await makeKey(store, { plan: 'premium', label: `key ${count}` })).key);
  const authenticator = await authenticatorOf(store);
  try {
    const unknownKeys = keys.map(() => newApiKey(newKeyId()).key);
    const known = measure(authenticator, keys, (principal) => principal !== null);
    const unknown = measure(authenticator, unknownKeys, (principal) => principal === null);
    return [
      {
        name: 'Authentication of a known key',
        figure: `p50 ${known.p50Us.toFixed(2)} µs, p99 ${known.p99Us.toFixed(2)} µs`,
        target: `p99 ≤ ${targetUs} µs`,
        pass: known.p99Us <= targetUs,
        note: `${checks.toLocaleString('en-US')} checks of ${keyCount.toLocaleString('en-US')} keys in turn, each check is timed; refusal of an unknown key: p50 ${unknown.p50Us.toFixed(2)} µs, p99 ${unknown.p99Us.toFixed(2)} µs`,
      },
    ];
  } finally {
    await authenticator.close();
    await store.close();
    rmSync(dataDir, { recursive: true });
  }
}

interface Cost {
  readonly p50Us: number;
  readonly p99Us: number;
}

function measure(authenticator: StoreAuthenticator, keys: readonly string[], expected: (principal: Principal | null) => boolean): Cost {
  const check = (index: number): void => {
    if (!expected(authenticator.authenticate(keys[index % keys.length]!))) throw new Error('a check of a key gave the wrong result');
  };
  for (let index = 0; index < warmupChecks; index++) check(index);
  const tookUs = new Float64Array(checks);
  for (let index = 0; index < checks; index++) {
    const startedAt = performance.now();
    check(index);
    tookUs[index] = (performance.now() - startedAt) * 1000;
  }
  tookUs.sort();
  return { p50Us: tookUs[Math.floor(checks * 0.5)]!, p99Us: tookUs[Math.floor(checks * 0.99)]! };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.table(await run());
