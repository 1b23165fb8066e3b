import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { ProgramCoder } from '@sluice/programs/idl/coder.ts';
import { readIdl } from '@sluice/programs/idl/idl.ts';
import { fixturesFolder } from '../golden/fixtures.ts';

const require = createRequire(import.meta.url);
const sdkFile = (sdk: string, path: string): string => readFileSync(new URL(path, sdk), 'utf8');
const exported = (name: string, key: string): unknown => (require(name) as Record<string, unknown>)[key];

/** Text of the IDLs of six programs, as their SDKs contain them. That of Jupiter has the old format. */
export const publishedIdls: Readonly<Record<string, () => string>> = {
  '6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P': () => sdkFile(import.meta.resolve('@pump-fun/pump-sdk'), '../../src/idl/pump.json'),
  pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA: () => sdkFile(import.meta.resolve('@pump-fun/pump-sdk'), '../../src/idl/pump_amm.json'),
  dbcij3LWUppWqq96dh6gJWwBifmcGfLSB5D4DuSMaqN: () =>
    JSON.stringify(exported('@meteora-ag/dynamic-bonding-curve-sdk', 'DynamicBondingCurveIdl')),
  cpamdpZCGKUy5JxQXB4dcpGPiikHawvSWAd6mEn1sGG: () => JSON.stringify(exported('@meteora-ag/cp-amm-sdk', 'CpAmmIdl')),
  whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc: () => sdkFile(import.meta.resolve('@orca-so/whirlpools-sdk'), './artifacts/whirlpool.json'),
  JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4: () =>
    JSON.stringify((exported(fileURLToPath(import.meta.resolve('@jup-ag/instruction-parser')), 'program') as { idl: unknown }).idl),
};
export const jupiter = 'JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4';

export function coderOf(programId: string): ProgramCoder {
  const outcome = readIdl(publishedIdls[programId]!(), programId);
  if (!outcome.ok) throw new Error(outcome.reason);
  return new ProgramCoder(outcome.idl);
}

/** All recorded transactions: path below the fixtures, and the answer of `getTransaction`. */
export function recordedTransactions(): readonly (readonly [path: string, answer: Readonly<Record<string, unknown>>])[] {
  if (!existsSync(fixturesFolder)) return [];
  const folders = ['transactions', ...readdirSync(`${fixturesFolder}venues`).map((name) => `venues/${name}`)];
  return folders
    .filter((folder) => !folder.includes('.'))
    .flatMap((folder) => readdirSync(`${fixturesFolder}${folder}`).map((name) => `${folder}/${name}`))
    .flatMap((path) => {
      const json = JSON.parse(readFileSync(`${fixturesFolder}${path}`, 'utf8')) as Record<string, unknown>;
      const answer = (json['result'] ?? json) as Record<string, unknown>;
      return 'meta' in answer ? [[path, answer] as const] : [];
    });
}
