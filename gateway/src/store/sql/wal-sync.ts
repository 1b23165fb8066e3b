import { close as closeFile, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { StoreAwayError } from '../store-away.ts';

const flushFile = promisify(fdatasync);
const release = promisify(closeFile);

/** Makes durable what was committed, beside the thread that commits. */
export interface WalSync {
  /** Something was committed. Resolves once it, and all before it, is on the disk. Rejects where the disk failed: for good. */
  wrote(): Promise<void>;
  /** Something was read. Resolves once all that may have been seen is on the disk. Rejects as `wrote`. */
  seen(): Promise<void>;
  /** To be called before the connection is closed. */
  close(): Promise<void>;
}

/**
 * For a connection with `journal_mode = WAL` and `synchronous = NORMAL`, which writes a commit to the log but leaves the disk to whoever
 * calls: SQLite itself (with `FULL`) would stop the whole process for as long as the disk takes. Everything that is committed while
 * the disk is busy is written by its next turn, together. The log stays the same file as long as a connection is open, and has no
 * locks that closing it would let go.
 */
export function createWalSync(databaseFile: string, flush: (fd: number) => Promise<void> = flushFile): WalSync {
  let fd: number | null = null;
  let written = 0;
  let durable = 0;
  let running: Promise<void> | null = null;
  /** What the turn that runs makes durable. */
  let covered = 0;
  let next: Promise<void> | null = null;
  let fault: StoreAwayError | null = null;

  async function turn(): Promise<void> {
    covered = written;
    try {
      // It is there: something was committed.
      fd ??= openSync(`${databaseFile}-wal`, 'r+');
      await flush(fd);
      durable = covered;
    } catch (error) {
      // What the disk has of it nobody knows, and a second try would not tell.
      fault = new StoreAwayError(error);
      throw fault;
    } finally {
      running = null;
    }
  }

  /** A turn that has not begun yet. */
  function nextTurn(): Promise<void> {
    const begin = (): Promise<void> => {
      next = null;
      if (fault !== null) return Promise.reject(fault);
      running = turn();
      return running;
    };
    if (running === null && next === null) return begin();
    next ??= (running ?? Promise.resolve()).then(begin, begin);
    return next;
  }

  return {
    wrote() {
      if (fault !== null) return Promise.reject(fault);
      written++;
      return nextTurn();
    },
    seen() {
      if (fault !== null) return Promise.reject(fault);
      if (durable === written) return Promise.resolve();
      return running !== null && covered === written ? running : nextTurn();
    },
    async close() {
      await (next ?? running)?.catch(() => undefined);
      if (fd !== null) await release(fd);
      fd = null;
    },
  };
}
