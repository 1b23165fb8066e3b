import type { ProgramRecord } from '@sluice/shared/wire/events/program-events.ts';
import { joinLosses, type SlotLoss } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import type { FromPrograms } from '../messages.ts';

/** Records of one message, and messages that the ingest thread has not taken yet. */
const maxBatch = 256;
const maxUntaken = 4;
/** Records that wait. Above this limit, the newest are dropped. */
const maxWaiting = 5_000;
/**
 * Bytes of the records of one program in a second, of all, and how many seconds' worth may come at once. The log has room for 2 MB a second over two
 * minutes, so programs leave it to the venues, and one program leaves some to the others.
 */
const bytesPerSecond = { each: 384 * 1024, all: 768 * 1024 } as const;
const burstSeconds = 3;
/** What a record takes in the log in addition to its JSON. */
const headBytes = 256;
const everyMs = 20;
const lossesEveryMs = 1_000;

/** So many bytes a second. */
class Allowance {
  readonly #perSecond: number;
  #left: number;
  #atMs = performance.now();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#left = perSecond * burstSeconds;
  }

  has(bytes: number): boolean {
    const nowMs = performance.now();
    this.#left = Math.min(this.#perSecond * burstSeconds, this.#left + ((nowMs - this.#atMs) * this.#perSecond) / 1_000);
    this.#atMs = nowMs;
    return this.#left >= bytes;
  }

  use(bytes: number): void {
    this.#left -= bytes;
  }
}

/** Passes records on in order, as fast as they are taken. What a bound leaves out becomes a loss of its program. */
export class Outbox {
  readonly #emit: (message: FromPrograms) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #all = new Allowance(bytesPerSecond.all);
  readonly #allowances = new Map<string, Allowance>();
  #waiting: ProgramRecord[] = [];
  #losses = new Map<string, SlotLoss>();
  #untaken = 0;
  #lossesAtMs = 0;

  constructor(emit: (message: FromPrograms) => void) {
    this.#emit = emit;
    this.#timer = setInterval(() => this.#flush(), everyMs);
  }

  /** False if it was dropped. */
  add(record: ProgramRecord): boolean {
    if (this.#waiting.length < maxWaiting && this.#mayPass(record)) {
      this.#waiting.push(record);
      return true;
    }
    this.lose(record.program, record.slot, record.slot, record.signature);
    return false;
  }

  lose(program: string, from: number, to: number, signature: string | null = null): void {
    const loss = { from, to, signatures: signature === null ? [] : [signature] };
    const known = this.#losses.get(program);
    this.#losses.set(program, known === undefined ? loss : joinLosses(known, loss));
  }

  taken(): void {
    this.#untaken--;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #mayPass(record: ProgramRecord): boolean {
    const bytes = headBytes + JSON.stringify(record).length;
    const own = this.#allowances.get(record.program) ?? new Allowance(bytesPerSecond.each);
    this.#allowances.set(record.program, own);
    if (!own.has(bytes) || !this.#all.has(bytes)) return false;
    own.use(bytes);
    this.#all.use(bytes);
    return true;
  }

  #flush(): void {
    const nowMs = performance.now();
    while (this.#untaken < maxUntaken) {
      const records = this.#waiting.splice(0, maxBatch);
      const isTime = nowMs - this.#lossesAtMs >= lossesEveryMs && this.#losses.size > 0 && this.#waiting.length === 0;
      if (records.length === 0 && !isTime) return;
      const losses = isTime ? [...this.#losses].map(([program, loss]) => ({ program, ...loss })) : [];
      if (isTime) {
        this.#losses = new Map();
        this.#lossesAtMs = nowMs;
      }
      this.#untaken++;
      this.#emit({ kind: 'records', records, losses });
    }
  }
}
