import type { BusEntry, LogEntry } from '../bus/bus.ts';

/**
 * What ingest writes into the log, behind the events of a slot, once it is known whether the slot lives: for those who wait until it
 * is confirmed. It is no event, and reaches no client.
 */
export interface SlotVerdict {
  /** Confirmed. */
  readonly alive: readonly number[];
  readonly dead: readonly number[];
  /** Nobody can say of them whether they are confirmed. Their events are not withdrawn, and never count as confirmed; `lost` reports them. */
  readonly unknown?: readonly number[];
  /** Every slot up to here is decided: what no verdict names counts as confirmed. So readers that missed a verdict wait no longer than for the next. */
  readonly decidedTo?: number;
  /** What happened on the chain and is not told: no endpoint shows it, or ingest had no room to keep it until the log took it. */
  readonly lost?: SlotLoss;
}

/** Slots `from`..`to`, of which events are missing in the stream. */
export interface SlotLoss {
  readonly from: number;
  readonly to: number;
  /** Transactions that are known to be among what is missing; `maxLostSignatures` at most. */
  readonly signatures: readonly string[];
}

const maxLostSignatures = 16;

export function joinLosses(one: SlotLoss, other: SlotLoss): SlotLoss {
  const signatures = [...new Set([...one.signatures, ...other.signatures])].slice(0, maxLostSignatures);
  return { from: Math.min(one.from, other.from), to: Math.max(one.to, other.to), signatures };
}

/** No channel has such a topic. */
const verdictTopic = '~slots';

export function verdictEntry({ alive, dead, unknown, decidedTo, lost }: SlotVerdict): BusEntry {
  const bytes = Buffer.from(JSON.stringify({ type: 'slots', alive, dead, unknown, decidedTo, lost }));
  return { topics: [verdictTopic], json: bytes, msgpack: bytes };
}

/** Null for an entry that is none. */
export function readVerdict({ topics, json }: Pick<LogEntry, 'topics' | 'json'>): SlotVerdict | null {
  if (topics[0]?.topic !== verdictTopic) return null;
  return JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString()) as SlotVerdict;
}
