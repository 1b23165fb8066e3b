import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorTable, type ErrorCode } from '@sluice/shared/wire/errors.ts';
import type { HouseCheck } from './house-check.ts';
import { sourceFiles, type SourceFile } from './source-files.ts';

/** A test that produces the error: its file, and its title there. */
interface Evidence {
  readonly file: string;
  readonly title: string;
}

/** `nothing yet`: no code returns this error. As soon as some code does, a test must be listed here. */
const evidence: Readonly<Record<ErrorCode, Evidence | 'nothing yet'>> = {
  INVALID_REQUEST: { file: 'test/conformance/http-endpoints.test.ts', title: 'names each wrong part of %s' },
  INVALID_MINT: { file: 'test/e2e/quote.test.ts', title: 'text that is not a mint, and coins that no venue trades' },
  INSUFFICIENT_BALANCE: { file: 'test/e2e/quote.test.ts', title: '%s: on its curve, and automatically on the pool that it migrated to' },
  SLIPPAGE_EXCEEDED: { file: 'test/e2e/trade-errors.test.ts', title: 'SLIPPAGE_EXCEEDED: a minOut above what the trade gives' },
  SIMULATION_FAILED: { file: 'test/e2e/trade-errors.test.ts', title: 'SIMULATION_FAILED: with program, its error and the last lines' },
  TRANSACTION_EXPIRED: {
    file: 'test/e2e/trade-errors.test.ts',
    title: 'TRANSACTION_EXPIRED: with a blockhash that no node knows, and with one of sluice that has expired',
  },
  UNAUTHENTICATED: { file: 'test/conformance/http-endpoints.test.ts', title: 'refuses a missing or invalid key' },
  FORBIDDEN: { file: 'test/conformance/http-endpoints.test.ts', title: 'reports which scope or plan is missing' },
  NOT_FOUND: { file: 'test/conformance/http-endpoints.test.ts', title: 'has nothing at %s' },
  METHOD_NOT_ALLOWED: { file: 'test/conformance/http-endpoints.test.ts', title: 'allows no %s at %s' },
  IDEMPOTENCY_IN_PROGRESS: { file: 'test/e2e/trade-errors.test.ts', title: 'IDEMPOTENCY_IN_PROGRESS while the first request is running' },
  IDEMPOTENCY_MISMATCH: { file: 'test/e2e/trade-errors.test.ts', title: 'IDEMPOTENCY_MISMATCH for another request' },
  PAYLOAD_TOO_LARGE: { file: 'test/conformance/http-endpoints.test.ts', title: 'counts a body while it arrives' },
  UNSUPPORTED_MEDIA_TYPE: { file: 'test/conformance/http-endpoints.test.ts', title: 'refuses a body with %s as its type' },
  RATE_LIMIT: { file: 'test/conformance/http-endpoints.test.ts', title: 'refuses requests beyond the limit' },
  INTERNAL: { file: 'test/conformance/http-endpoints.test.ts', title: 'answers 500 if a handler %s' },
  UPSTREAM_UNAVAILABLE: { file: 'test/conformance/http-endpoints.test.ts', title: 'returns the answer of a handler' },
  TRADING_HALTED: { file: 'test/e2e/trade-errors.test.ts', title: 'TRADING_HALTED: within a second, for everything that sends' },
  DRAINING: { file: 'test/conformance/http.test.ts', title: 'reports on open connections that it drains' },
  SLOW_CONSUMER: { file: 'test/conformance/stream.test.ts', title: 'closes a client that does not read with 4008' },
};

/** Every error that a client can receive is produced by a test. An error without a test must not be returned by any code. */
export const producedErrors: HouseCheck = {
  name: 'errors against tests',
  async run(root) {
    const product = sourceFiles(root).filter(({ path }) => /^((gateway|trading|site|ingest)\/src|cli\/gateway)\/.*\.ts$/.test(path));
    return Object.entries(evidence).flatMap(([code, found]) =>
      found === 'nothing yet' ? unproduced(code, product) : faultsOf(root, code as ErrorCode, found),
    );
  },
};

function unproduced(code: string, product: readonly SourceFile[]): readonly string[] {
  return product
    .filter(({ text }) => new RegExp(`\\b(?:error|code): '${code}'|Answer\\(\\w+, '${code}'`).test(text))
    .map(({ path }) => `${path}: returns ${code}, but test/house/produced-errors.ts lists no test for it`);
}

function faultsOf(root: string, code: ErrorCode, { file, title }: Evidence): readonly string[] {
  const path = join(root, file);
  if (!existsSync(path)) return [`${file}: this file must produce ${code}, but does not exist`];
  const text = readFileSync(path, 'utf8');
  if (!text.includes(title)) return [`${file}: has no test "${title}", which must produce ${code}`];
  const { closeCode } = errorTable[code];
  // For some errors a client sees only the close code.
  return text.includes(code) || (closeCode !== undefined && text.includes(String(closeCode))) ? [] : [`${file}: does not name ${code}`];
}
