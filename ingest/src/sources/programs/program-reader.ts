import type { Bus } from '@sluice/shared/bus/bus.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { joinLosses } from '@sluice/shared/market/verdicts/slot-verdict.ts';
import { Recent } from '@sluice/shared/runtime/collections/recent.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { programUrl } from '@sluice/shared/runtime/thread/programs.ts';
import { beginThread, RestartingThread } from '@sluice/shared/runtime/thread/restarting-thread.ts';
import { programsTopic } from '@sluice/shared/wire/stream/topics.ts';
import type { Publisher } from '../../publisher/publisher.ts';
import type { FromPrograms, ProgramCounts, ProgramLoss, ProgramSettings, ToPrograms } from './messages.ts';

const closeWithinMs = 1_000;
/** Heap of the thread, in megabytes. */
const heapMb = 256;
/** Entries of the log that are read for what it has of each program. */
const tailEntries = 50_000;
/**
 * Slots before the newest record of a program that a new thread compares again: the one before may not have published older transactions yet. None of
 * them waits longer (`transaction-queue.ts`, and two comparisons).
 */
const recheckSlots = 256;
/** How long a loss waits for this process to lead: a restarted one waits until the lease of the one before has ended. */
const lossWaitsMs = 60_000;

export interface ProgramReaderParts {
  readonly config: Config;
  readonly bus: Pick<Bus, 'readTail'>;
  readonly publisher: Pick<Publisher, 'push' | 'leads'>;
  readonly simulated: boolean;
  readonly log: Logger;
}

/**
 * Reads the programs of IDL_DIR in a thread that has its own connections to the nodes, so that it costs the venues nothing but the publication of what it
 * found. Every process reads; the publisher of the leader stores.
 */
export class ProgramReader {
  readonly #parts: ProgramReaderParts;
  readonly #thread: RestartingThread;
  /** Newest slot by program, for a thread that has to start again. */
  #newest: Record<string, number>;
  /** Ids that the log has of the slots that are compared again. */
  #known: Recent<true>;
  #led = false;
  /** Losses that this process may have to report, by program. */
  readonly #losses = new Map<string, { readonly loss: ProgramLoss; readonly atMs: number }>();
  counts: Readonly<Record<string, ProgramCounts>> = {};

  private constructor(parts: ProgramReaderParts, folder: string, { newest, known }: Logged) {
    this.#parts = parts;
    this.#newest = newest;
    this.#known = known;
    const { config, simulated, log } = parts;
    const { httpUrls, wsUrls } = config.rpc!;
    const settings = { folder, httpUrls, wsUrls, level: config.logLevel, simulated };
    this.#thread = new RestartingThread({
      name: 'programs',
      begin: () =>
        beginThread(
          programUrl('programs-thread'),
          'programs',
          { ...settings, since: this.#newest, recheckSlots } satisfies ProgramSettings,
          {
            maxOldGenerationSizeMb: heapMb,
          },
        ),
      onMessage: (message) => this.#take(message as FromPrograms),
      onEnd: () => undefined,
      log,
    });
  }

  /** Null without IDL_DIR. */
  static async open(parts: ProgramReaderParts): Promise<ProgramReader | null> {
    const { idlDir } = parts.config;
    if (idlDir === null) return null;
    return new ProgramReader(parts, idlDir, await readLogged(parts.bus));
  }

  close(): Promise<void> {
    return this.#thread.close({ kind: 'close' } satisfies ToPrograms, closeWithinMs);
  }

  #take(message: FromPrograms): void {
    if (message.kind === 'counts') {
      this.counts = message.counts;
      this.#report();
      return;
    }
    for (const record of message.records) {
      if (this.#known.peek(record.id) !== undefined) continue;
      this.#known.set(record.id, true);
      this.#newest[record.program] = Math.max(this.#newest[record.program] ?? 0, record.slot);
      this.#parts.publisher.push(record);
    }
    for (const loss of message.losses) this.#lose(loss);
    this.#report();
    this.#thread.post({ kind: 'taken' } satisfies ToPrograms);
  }

  #lose(loss: ProgramLoss): void {
    const known = this.#losses.get(loss.program)?.loss;
    const joined = known === undefined ? loss : { program: loss.program, ...joinLosses(known, loss) };
    this.#losses.set(loss.program, { loss: joined, atMs: performance.now() });
  }

  /** The process that led before may have died with records that it had not published. */
  async #recheck(): Promise<void> {
    try {
      const { newest, known } = await readLogged(this.#parts.bus);
      this.#newest = newest;
      this.#known = known;
      this.#thread.post({ kind: 'recheck', since: newest } satisfies ToPrograms);
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'programs_not_rechecked');
      this.#led = false;
    }
  }

  /** A process that does not lead drops its losses after a while: the leader reports its own. */
  #report(): void {
    const { publisher } = this.#parts;
    if (publisher.leads && !this.#led) void this.#recheck();
    this.#led = publisher.leads;
    for (const [program, { loss, atMs }] of this.#losses) {
      if (!publisher.leads && performance.now() - atMs < lossWaitsMs) continue;
      this.#losses.delete(program);
      if (!publisher.leads) continue;
      const { from, to, signatures } = loss;
      const lost = { from, to, signatures, topic: programsTopic(program) };
      publisher.push({ type: 'slots', alive: [], dead: [], lost, ts: { received: nowUs(), published: 0 } });
    }
  }
}

/** What the log has of programs. */
interface Logged {
  /** Newest slot by program. */
  readonly newest: Record<string, number>;
  readonly known: Recent<true>;
}

async function readLogged(bus: ProgramReaderParts['bus']): Promise<Logged> {
  const newest: Record<string, number> = {};
  const known = new Recent<true>(tailEntries);
  const prefix = programsTopic('');
  await bus.readTail(tailEntries, (entry) => {
    const topic = entry.topics[0]?.topic ?? '';
    const event = topic.startsWith(prefix) ? entry.eventOrNull : null;
    if (event === null || !('program' in event)) return null;
    newest[event.program] = Math.max(newest[event.program] ?? 0, event.slot);
    known.set(event.id, true);
    return null;
  });
  return { newest, known };
}
