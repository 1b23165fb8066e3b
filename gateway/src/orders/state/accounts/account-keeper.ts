import type { AccountReader } from '../../../chain/account-reader.ts';
import type { WatchedAccounts } from './watched-accounts.ts';

/** Accounts of one read. */
const maxAccountsARead = 100;
/** How often it is looked which accounts need a read that their subscription can go on from. */
const confirmEveryMs = 50;
/** After a read that failed. */
const failurePauseMs = 500;
/** How often some of the accounts that nothing was wrong with are read all the same. */
const auditEveryMs = 2_000;

export interface KeeperCounts {
  reads: number;
  failures: number;
  audits: number;
}

/** Reads, in the background, what the subscriptions alone do not tell: how each account stood when they began, and which of them is right. */
export function keepAccounts(watched: WatchedAccounts, reader: AccountReader, signal: AbortSignal): { readonly counts: KeeperCounts } {
  const counts: KeeperCounts = { reads: 0, failures: 0, audits: 0 };
  let reading = false;
  let notBeforeMs = 0;
  let auditAtMs = performance.now();

  async function read(addresses: readonly string[]): Promise<void> {
    reading = true;
    counts.reads++;
    try {
      // One call of the reader; of each account by itself it is told whether a majority agrees on it.
      await Promise.all(addresses.map(async (address) => watched.take([address], await reader.read([address]))));
    } catch {
      // Nobody answers: what is not confirmed is read when it is asked for, and whoever asks is told.
      counts.failures++;
      notBeforeMs = performance.now() + failurePauseMs;
    } finally {
      reading = false;
    }
  }

  function look(): void {
    const nowMs = performance.now();
    watched.look();
    if (reading || nowMs < notBeforeMs || watched.size === 0) return;
    const needed = watched.toRead(maxAccountsARead);
    if (needed.length > 0) void read(needed);
    else if (nowMs >= auditAtMs) {
      auditAtMs = nowMs + auditEveryMs;
      counts.audits++;
      void read(watched.nextToAudit(maxAccountsARead));
    }
  }

  const timer = setInterval(look, confirmEveryMs);
  timer.unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  return { counts };
}
