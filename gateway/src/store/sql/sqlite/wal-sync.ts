import { close as closeFile, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { StoreUnavailableError } from '../../store-unavailable.ts';

const flushFile = promisify(fdatasync);
const release = promisify(closeFile);

/** Makes commits durable without blocking the thread that commits. */
export interface WalSync {
  /** Call it after a commit. Resolves once this commit and all earlier ones are on the disk. Once the disk has failed, every call rejects. */
  wrote(): Promise<void>;
  /** Call it after a read. Resolves once every commit that the read may have seen is on the disk. Rejects as `wrote` does. */
  seen(): Promise<void>;
  /** Call it before the connection is closed. */
  close(): Promise<void>;
}

/**
 * For a connection with `journal_mode = WAL` and `synchronous = NORMAL`: SQLite writes a commit to the write-ahead log, and this
 * function flushes the log to the disk. With `FULL`, SQLite would flush it itself and block the thread meanwhile. All commits made
 * during one flush share the next one. The log stays the same file while a connection is open. Closing our descriptor of it releases
 * no lock, because SQLite's locks are on other files.
 */
export function createWalSync(databaseFile: string, flush: (fd: number) => Promise<void> = flushFile): WalSync {
  let fd: number | null = null;
  let written = 0;
  let durable = 0;
  let running: Promise<void> | null = null;
  /** The commits that the running flush makes durable. */
  let covered = 0;
  let next: Promise<void> | null = null;
  let fault: StoreUnavailableError | null = null;

  async function flushNow(): Promise<void> {
    covered = written;
    try {
      // The file exists, because something was committed.
      fd ??= openSync(`${databaseFile}-wal`, 'r+');
      await flush(fd);
      durable = covered;
    } catch (error) {
      // It is unknown what reached the disk. A second attempt could succeed without having written it.
      fault = new StoreUnavailableError(error);
      throw fault;
    } finally {
      running = null;
    }
  }

  /** A flush that has not begun yet. */
  function nextFlush(): Promise<void> {
    const begin = (): Promise<void> => {
      next = null;
      if (fault !== null) return Promise.reject(fault);
      running = flushNow();
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
      return nextFlush();
    },
    seen() {
      if (fault !== null) return Promise.reject(fault);
      if (durable === written) return Promise.resolve();
      return running !== null && covered === written ? running : nextFlush();
    },
    async close() {
      await (next ?? running)?.catch(() => undefined);
      if (fd !== null) await release(fd);
      fd = null;
    },
  };
}
