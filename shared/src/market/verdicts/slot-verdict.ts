import type { BusEntry, LogEntry } from '../../bus/bus.ts';
import { parseJson } from '../../codec/bytes.ts';

/**
 * The entry that ingest writes into the log, after the events of a slot, once it is known whether the slot lives. Readers that wait for
 * confirmed events need it. It is not an event, and is not sent to clients.
 */
export interface SlotVerdict {
  /** Confirmed slots. */
  readonly alive: readonly number[];
  readonly dead: readonly number[];
  /** Events of confirmed slots whose transaction the confirmed block lacks. They were retracted before the verdict. */
  readonly retracted?: readonly IdsOfSlot[];
  /** Trades of confirmed slots in the order of the block, if the log does not have those of a mint in this order. */
  readonly reordered?: readonly IdsOfSlot[];
  /**
   * Slots that cannot be decided. Their events are not retracted, and are never treated as confirmed; `lost` reports them.
   */
  readonly unknown?: readonly number[];
  /**
   * Every slot up to this one is decided: if no verdict names it, it is treated as confirmed. A reader that missed a verdict therefore waits
   * only until the next one.
   */
  readonly decidedTo?: number;
  /**
   * What happened on the chain and is not in the stream: no endpoint shows it, or ingest had no room for it while the log did not accept
   * it.
   */
  readonly lost?: SlotLoss;
}

export interface IdsOfSlot {
  readonly slot: number;
  readonly ids: readonly string[];
}

/** Slots `from`..`to`, of which events are missing in the stream. */
export interface SlotLoss {
  readonly from: number;
  readonly to: number;
  /** Transactions that are known to be missing; at most `maxLostSignatures`. */
  readonly signatures: readonly string[];
  /** Only records of this topic are missing. Absent: any event can be. */
  readonly topic?: string;
}

const maxLostSignatures = 16;

export function joinLosses(one: SlotLoss, other: SlotLoss): SlotLoss {
  const signatures = [...new Set([...one.signatures, ...other.signatures])].slice(0, maxLostSignatures);
  const topic = one.topic === other.topic && one.topic !== undefined ? { topic: one.topic } : {};
  return { from: Math.min(one.from, other.from), to: Math.max(one.to, other.to), signatures, ...topic };
}

/** No channel has such a topic. */
const verdictTopic = '~slots';

export function verdictEntry({ alive, dead, retracted, reordered, unknown, decidedTo, lost }: SlotVerdict): BusEntry {
  const verdict = { type: 'slots', alive, dead, retracted, reordered, unknown, decidedTo, lost };
  return { topics: [verdictTopic], record: Buffer.from(JSON.stringify(verdict)) };
}

/** Null if the entry is not a verdict. */
export function readVerdict({ topics, record }: Pick<LogEntry, 'topics' | 'record'>): SlotVerdict | null {
  if (topics[0]?.topic !== verdictTopic) return null;
  return parseJson(record) as SlotVerdict;
}
