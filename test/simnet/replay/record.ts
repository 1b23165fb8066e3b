import { createWriteStream } from 'node:fs';
import type { Block, Chain } from '../chain.ts';
import { encodeTransaction } from '../rpc/encode-transaction.ts';
import { toJson } from '../rpc/json.ts';

/** Bytes that wait for the disk. With more, transactions are dropped and counted. */
const maxWaitingBytes = 64 * 1024 * 1024;
/** Frozen slots that wait for their confirmation. With more, the oldest are dropped and counted. */
const maxWaitingSlots = 1_024;

export interface RecorderReport {
  readonly transactions: number;
  /** Not written: the disk was too slow, or they were never confirmed. */
  readonly leftOut: number;
}

export interface Recorder {
  /** Writes out what waits and closes the file. Rejects if the file could not be written. */
  close(): Promise<RecorderReport>;
}

/** One line: the getTransaction result (base64), in the form that `readRecording` reads. */
function lines(block: Block): readonly string[] {
  return block.transactions.flatMap((transaction) => {
    const encoded = encodeTransaction(transaction, 'base64', 1);
    const blockTime = transaction.blockTime > 0 ? transaction.blockTime : null;
    return encoded.ok ? [toJson({ blockTime, slot: transaction.slot, transactionIndex: transaction.index, ...Object(encoded.value) })] : [];
  });
}

/** Writes every transaction that the chain confirms to a `.jsonl` file, one getTransaction result for each line. */
export function record(chain: Chain, file: string): Recorder {
  const output = createWriteStream(file);
  const waiting = new Map<number, Block>();
  let written = 0;
  let leftOut = 0;
  const failed = new Promise<never>((_resolve, reject) => output.once('error', reject));
  failed.catch(() => unlisten());
  const write = (block: Block): void => {
    const ready = lines(block);
    const taken = output.writableLength <= maxWaitingBytes ? ready : [];
    leftOut += block.transactions.length - taken.length;
    written += taken.length;
    if (taken.length > 0) output.write(`${taken.join('\n')}\n`);
  };
  const unlisten = chain.listen({
    onFrozen: (block) => {
      waiting.set(block.slot, block);
      const [oldest] = waiting;
      if (waiting.size <= maxWaitingSlots || oldest === undefined) return;
      leftOut += oldest[1].transactions.length;
      waiting.delete(oldest[0]);
    },
    onConfirmed: (slot) => {
      for (const [frozen, block] of waiting) {
        if (frozen > slot) continue;
        waiting.delete(frozen);
        write(block);
      }
    },
    onDead: (slots) => {
      for (const slot of slots) waiting.delete(slot);
    },
  });
  return {
    close: async () => {
      unlisten();
      for (const block of waiting.values()) leftOut += block.transactions.length;
      waiting.clear();
      const ended = new Promise<void>((resolve) => output.end(resolve));
      await Promise.race([ended, failed]);
      return { transactions: written, leftOut };
    },
  };
}
