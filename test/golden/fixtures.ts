import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Recorded mainnet data next to the repository; suites that read it are skipped where it is absent. */
export const fixturesFolder = fileURLToPath(new URL('../../../shared/fixtures/', import.meta.url));
export const fixturesPresent = existsSync(fixturesFolder);
/** For titles, so that a skipped suite says why. */
export const fixturesNote = fixturesPresent ? 'recorded mainnet data' : 'SKIPPED: no ../shared/fixtures next to the repository';

export function fixtureNames(kind: 'transactions' | 'accounts'): string[] {
  return fixturesPresent ? readdirSync(`${fixturesFolder}${kind}`).filter((name) => name.endsWith('.json')) : [];
}

export function fixtureBytes(path: string): Buffer {
  return readFileSync(`${fixturesFolder}${path}`);
}

export function fixtureJson(path: string): unknown {
  return JSON.parse(readFileSync(`${fixturesFolder}${path}`, 'utf8'));
}

/** The answer itself, with or without the JSON-RPC envelope around it. */
export function fixtureTransaction(name: string): Readonly<Record<string, unknown>> {
  const json = fixtureJson(`transactions/${name}.json`) as Record<string, unknown>;
  return (json['result'] ?? json) as Record<string, unknown>;
}

/** Bytes and owner of an account fixture, in either of its two JSON shapes. */
export function fixtureAccount(name: string): { readonly owner: string; readonly data: Uint8Array } {
  const json = fixtureJson(`accounts/${name}.json`) as Record<string, Record<string, unknown>>;
  const account = (json['account'] ?? json['result']?.['value']) as { owner: string; data: [string, string] };
  return { owner: account.owner, data: Buffer.from(account.data[0], 'base64') };
}
