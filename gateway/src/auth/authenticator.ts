import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type { Plans } from '@sluice/shared/config/plans.ts';
import type { Logger } from '@sluice/shared/log/log.ts';
import { keepRemovedMs, type KeyCursor } from '../store/key-table.ts';
import type { Store } from '../store/store.ts';
import { parseApiKey, splitApiKey } from './key-format.ts';
import { KeyRing } from './key-ring.ts';
import { openKeyHash } from './pepper.ts';
import type { Authenticator } from './principal.ts';

/** How often the store is asked whether another process changed the keys, milliseconds. */
const pollMs = 150;
/** Between two looks at the store, however many unknown keys are shown, milliseconds. */
const spacingMs = 50;
/** How long keys that can no longer be checked for revocation go on working, milliseconds. */
const maxStaleMs = 30_000;
/** Keys that are read at once. */
const pageSize = 1_000;
/** How often the store hears which keys were used, milliseconds. */
const noteUsesMs = 10_000;
/** How long the end waits for a store that does not answer, milliseconds. */
const closeTimeoutMs = 3_000;

export interface StoreAuthenticator extends Authenticator {
  /** Records the last uses, if the store answers, and ends. */
  close(): Promise<void>;
}

/**
 * Checks API keys against the store. All live keys are held in memory (at most `maxKeys`), so that a check asks nobody; a change by
 * another process is seen within 250 ms, as what changed alone is read. A key that is unknown has the store looked at early.
 * While the store cannot be read the last known keys hold for `maxStaleMs`, then none does. Rejects where it cannot be read at all.
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
    ring.sweep(Date.now());
    void refresh();
  }, pollMs).unref();
  const usesTimer = setInterval(() => void uses.note(), noteUsesMs).unref();

  return {
    authenticate: (apiKey) => {
      const parts = splitApiKey(apiKey);
      if (parts === null) return null;
      const nowMs = Date.now();
      const found = ring.match(parts, nowMs);
      if (found === null) {
        // Perhaps made or changed since the last look; the same for every key that does not match.
        if (parseApiKey(apiKey) !== null) void refresh();
        return null;
      }
      if (nowMs - reader.readAtMs() > maxStaleMs) return null;
      uses.used(found.keyId, nowMs);
      return found;
    },
    principalOf: (credential) => {
      const nowMs = Date.now();
      return nowMs - reader.readAtMs() > maxStaleMs ? null : ring.byCredential(credential, nowMs);
    },
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

/** Updates the key ring from the store. */
function createReader(store: Store, ring: KeyRing): { read(): Promise<void>; readAtMs(): number } {
  const beginning: KeyCursor = { version: -1, id: '' };
  let seen = -1;
  let readAtMs = Number.NEGATIVE_INFINITY;
  /** Reads all changes after `after`, page by page. Returns the ids. */
  const follow = async (after: KeyCursor): Promise<ReadonlySet<string>> => {
    const ids = new Set<string>();
    for (let cursor = after; ; await nextTurn()) {
      const page = await store.keys.changed(cursor, pageSize);
      const nowMs = Date.now();
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
      const startedAtMs = Date.now();
      const version = await store.keys.version();
      // Away for so long that deleted keys may be forgotten already, or put back to an older state: so the end of a key is not reported.
      const wholly = startedAtMs - readAtMs > keepRemovedMs / 2 || version < seen;
      if (wholly) ring.retain(await follow(beginning), Date.now());
      else if (version !== seen) await follow({ version: seen + 1, id: '' });
      seen = version;
      readAtMs = startedAtMs;
    },
  };
}

/**
 * Runs `work` for each caller, begun after the call: at most one at a time, and one every `spacingMs`. A failure is reported
 * through `onState`, when it begins and, with null, when it is over.
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

interface Uses {
  used(keyId: string, atMs: number): void;
  /** Writes the recorded uses to the store. Only one call runs at a time. */
  note(): Promise<void>;
  /** The final write. It includes uses recorded while another write was running. */
  end(): Promise<void>;
}

/** Notes in memory when keys were used, and in the store every now and then. At most one entry a key. */
function createUses(store: Store, log: Logger): Uses {
  let uses = new Map<string, number>();
  let noting: Promise<void> | null = null;
  const write = async (): Promise<void> => {
    const batch = uses;
    uses = new Map();
    try {
      await store.keys.noteUses(batch);
    } catch (error) {
      // The next call writes them. A later use of the same key replaces this one.
      for (const [keyId, atMs] of batch) if (!uses.has(keyId)) uses.set(keyId, atMs);
      log.warn({ reason: error instanceof Error ? error.message : String(error) }, 'key_uses_not_noted');
    }
  };
  return {
    used: (keyId, atMs) => void uses.set(keyId, atMs),
    note: () => (noting ??= write().finally(() => (noting = null))),
    end: async () => {
      await noting;
      await write();
    },
  };
}
