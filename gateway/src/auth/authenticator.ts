import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type { Plans } from '@sluice/shared/config/plans.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { removedRetentionMs, type KeyCursor } from '../store/sql/tables/keys.ts';
import type { Store } from '../store/store.ts';
import { parseApiKey, splitApiKey } from './key-format.ts';
import { KeyRing } from './key-ring.ts';
import { openKeyHash } from './pepper.ts';
import type { Authenticator } from './principal.ts';

/** How often the store is read for changes by other processes. */
const pollMs = 150;
/** Minimum time between two reads of the store, however many unknown keys are used. */
const spacingMs = 50;
/** How long the known keys stay valid while the store cannot be read. */
const maxStaleMs = 30_000;
/** Keys in one read. */
const pageSize = 1_000;
/** How often the last uses of keys are written to the store. */
const noteUsesMs = 10_000;
/** How long `close` waits for a store that does not answer. */
const closeTimeoutMs = 3_000;

export interface StoreAuthenticator extends Authenticator {
  /** Records the last uses, if the store answers, and ends. */
  close(): Promise<void>;
}

/**
 * Checks API keys. All active keys are in memory (at most `maxKeys`), so a check needs no I/O. Only changes are read, so that changes by
 * other processes are seen within 250 ms. An unknown key causes an earlier read. While the store cannot be read, the last known keys stay
 * valid for `maxStaleMs`; after that, no key is valid. Rejects if the store cannot be read at the start.
 */
export async function createAuthenticator(options: {
  readonly store: Store;
  readonly plans: Plans;
  readonly log: Logger;
}): Promise<StoreAuthenticator> {
  const { store, plans, log } = options;
  const revoked = new Set<Parameters<Authenticator['onRevoked']>[0]>();
  const replanned = new Set<Parameters<Authenticator['onReplanned']>[0]>();
  const ring = new KeyRing(plans, await openKeyHash(store), {
    onGone: (credential, reason) => {
      for (const listener of revoked) listener(credential, reason);
    },
    onReplanned: (principal) => {
      for (const listener of replanned) listener(principal);
    },
  });
  const reader = createReader(store, ring);
  await reader.read();
  const closing = new AbortController();
  const refresh = coalesced(
    () => reader.read(),
    closing.signal,
    (fault) => {
      if (fault === null) log.info({}, 'keys_readable_again');
      else log.error({ reason: fault }, 'keys_unreadable');
    },
  );
  const uses = createUses(store, log);
  const pollTimer = setInterval(() => {
    ring.sweep(store.time.nowMs());
    void refresh();
  }, pollMs).unref();
  const usesTimer = setInterval(() => void uses.note(), noteUsesMs).unref();

  return {
    authenticate: (apiKey) => {
      const parts = splitApiKey(apiKey);
      if (parts === null) return null;
      const nowMs = store.time.nowMs();
      const found = ring.match(parts, nowMs);
      if (found === null) {
        // The key may have been created or changed since the last read. This happens for every key that does not match.
        if (parseApiKey(apiKey) !== null) void refresh();
        return null;
      }
      if (performance.now() - reader.readAtMs() > maxStaleMs) return null;
      uses.used(found.keyId, nowMs);
      return found;
    },
    principalOf: (credential) => {
      const isStale = performance.now() - reader.readAtMs() > maxStaleMs;
      return isStale ? null : ring.byCredential(credential, store.time.nowMs());
    },
    noteUse: (keyId) => uses.used(keyId, store.time.nowMs()),
    writeUses: () => uses.note(),
    onRevoked: (listener) => {
      revoked.add(listener);
      return () => void revoked.delete(listener);
    },
    onReplanned: (listener) => {
      replanned.add(listener);
      return () => void replanned.delete(listener);
    },
    refresh,
    close: async () => {
      clearInterval(pollTimer);
      clearInterval(usesTimer);
      revoked.clear();
      replanned.clear();
      closing.abort();
      await Promise.race([refresh().then(() => uses.end()), delay(closeTimeoutMs, undefined, { ref: false })]);
    },
  };
}

function createReader(store: Store, ring: KeyRing): { read(): Promise<void>; readAtMs(): number } {
  let seen = -1;
  let readAtMs = Number.NEGATIVE_INFINITY;
  /** Reads all changes after `after`, page by page. Returns the ids. */
  const follow = async (after: KeyCursor): Promise<ReadonlySet<string>> => {
    const ids = new Set<string>();
    for (let cursor = after; ; await nextTurn()) {
      const page = await store.keys.changed(cursor, pageSize);
      const nowMs = store.time.nowMs();
      for (const key of page) {
        ring.apply(key, nowMs);
        ids.add(key.id);
      }
      const last = page.at(-1);
      if (last === undefined || page.length < pageSize) return ids;
      cursor = last;
    }
  };
  return {
    readAtMs: () => readAtMs,
    read: async () => {
      const startedAtMs = performance.now();
      const version = await store.keys.version();
      // After so long a time, deleted keys may already be missing in the store, or the store was restored to an older state. So read all keys.
      const wholly = startedAtMs - readAtMs > removedRetentionMs / 2 || version < seen;
      if (wholly) ring.retain(await follow({ version: -1, id: '' }), store.time.nowMs());
      else if (version !== seen) await follow({ version: seen + 1, id: '' });
      seen = version;
      readAtMs = startedAtMs;
    },
  };
}

/**
 * Returns a function that resolves after a run of `work` that began after the call. At most one runs at a time, and at most one begins in
 * `spacingMs`. The first failure is reported through `onState`, and with null the first success after it.
 */
function coalesced(work: () => Promise<void>, ended: AbortSignal, onState: (fault: string | null) => void): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | null = null;
  let startedAt = Number.NEGATIVE_INFINITY;
  let failing = false;
  const attempt = async (): Promise<void> => {
    try {
      await work();
      if (failing) onState(null);
      failing = false;
    } catch (error) {
      if (!failing) onState(error instanceof Error ? error.message : String(error));
      failing = true;
    }
  };
  const begin = async (): Promise<void> => {
    await running;
    const waitMs = startedAt + spacingMs - performance.now();
    if (waitMs > 0) await delay(waitMs);
    next = null;
    if (ended.aborted) return;
    startedAt = performance.now();
    running = attempt();
    await running;
  };
  return () => (ended.aborted ? (next ?? running) : (next ??= begin()));
}

/** Records in memory when keys were used, and writes it to the store from time to time. One entry for each key. */
function createUses(store: Store, log: Logger) {
  let uses = new Map<string, number>();
  let noting: Promise<void> | null = null;
  const write = async (): Promise<void> => {
    const batch = uses;
    uses = new Map();
    try {
      await store.keys.noteUses(batch);
    } catch (error) {
      // The next call writes them. A later use of the same key replaces this one.
      uses = new Map([...batch, ...uses]);
      log.warn({ reason: error instanceof Error ? error.message : String(error) }, 'key_uses_not_noted');
    }
  };
  return {
    used: (keyId: string, atMs: number): void => void uses.set(keyId, atMs),
    /** Writes the recorded uses to the store. Only one call runs at a time. */
    note: (): Promise<void> => (noting ??= write().finally(() => (noting = null))),
    /** The final write. It includes uses recorded while another write was running. */
    end: async (): Promise<void> => {
      await noting;
      await write();
    },
  };
}
