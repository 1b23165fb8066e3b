import type { AccountReader } from '@sluice/gateway/reads/chain/account-reader.ts';
import { repeat } from '../repeat.ts';
import type { WatchedAccounts } from './watched-accounts.ts';

/** Most accounts in one read. */
const maxAccountsARead = 100;
/** How often it checks which accounts need a read. */
const confirmEveryMs = 50;
/** Pause after a failed read. */
const failurePauseMs = 500;
/** How often some accounts are read although nothing seems wrong with them. */
const auditEveryMs = 2_000;

/** Reads accounts in the background for what subscriptions do not report: the state at their start, and which endpoint is right if they differ. */
export function keepAccounts(watched: WatchedAccounts, reader: AccountReader, signal: AbortSignal) {
  const counts = { reads: 0, failures: 0, audits: 0 };
  let reading = false;
  let notBeforeMs = 0;
  let auditAtMs = performance.now();

  async function read(addresses: readonly string[]): Promise<void> {
    reading = true;
    counts.reads++;
    try {
      // The reader joins these reads in one call. Separate reads show for each account whether a majority agrees on it.
      await Promise.all(addresses.map(async (address) => watched.addRead([address], await reader.read([address]))));
    } catch {
      // No node answers. Unconfirmed accounts are read when they are requested, and that read reports the error.
      counts.failures++;
      notBeforeMs = performance.now() + failurePauseMs;
    } finally {
      reading = false;
    }
  }

  function check(): void {
    const nowMs = performance.now();
    watched.check();
    if (reading || nowMs < notBeforeMs || watched.size === 0) return;
    const needed = watched.toRead(maxAccountsARead);
    if (needed.length > 0) void read(needed);
    else if (nowMs >= auditAtMs) {
      auditAtMs = nowMs + auditEveryMs;
      counts.audits++;
      void read(watched.nextToAudit(maxAccountsARead));
    }
  }

  repeat(confirmEveryMs, check, signal);
  return counts;
}
