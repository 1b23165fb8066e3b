import { statSync } from 'node:fs';
import { join } from 'node:path';
import { ProgramCoder } from '@sluice/programs/idl/coder.ts';
import { idlInFolder, programsIn } from '@sluice/programs/idl/folder.ts';
import { systemClock } from '@sluice/shared/runtime/clock/clock.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { Recent } from '@sluice/shared/runtime/collections/recent.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { RpcSocket, type SocketHandlers } from '@sluice/shared/solana/pubsub/rpc-socket.ts';
import { slotSubscription, type Subscription } from '@sluice/shared/solana/pubsub/subscription.ts';
import { createRpc, RpcError, type Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import type { TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import type { ProgramRecord } from '@sluice/shared/wire/events/program-events.ts';
import { listProgram } from '../../rpc/listing.ts';
import { readProgramNotification } from '../../pubsub/accounts.ts';
import { readLogsNotification } from '../../pubsub/logs.ts';
import type { AccountState } from '../../sighting.ts';
import type { FromPrograms, ProgramCounts, ProgramSettings } from '../messages.ts';
import { Outbox } from './outbox.ts';
import { eventAuthorityOf, readRecords, recordOf, type WatchedProgram } from './transaction-records.ts';
import { TransactionQueue, type TransactionJob } from './transaction-queue.ts';

const rpcTimeoutMs = 5_000;
/** How often the folder is compared, and each program with the lists of the nodes. */
const folderEveryMs = 2_000;
const listEveryMs = 5_000;
/** Nodes list a transaction some time after they confirm it. */
const overlapSlots = 32;
/** Transactions and account states that are remembered, so that none is passed on twice. */
const maxSeen = 50_000;
const accountsPrefix = 'accounts:';
/** Bytes of an account that nodes send. A longer one is refused. */
const maxAccountBytes = 32_768;

/**
 * Reads the programs of a folder of IDLs, with connections of its own, once transactions are confirmed. Each program is compared with the nodes' lists of its
 * transactions, so what a connection missed is read later, and what cannot be read becomes a loss.
 */
export class ProgramThread {
  readonly #settings: ProgramSettings;
  readonly #emit: (message: FromPrograms) => void;
  readonly #log: Logger;
  readonly #rpc: Rpc;
  readonly #life = new AbortController();
  readonly #programs = new Map<string, WatchedProgram>();
  readonly #files = new Map<string, string>();
  #seen = new Recent<number>(maxSeen);
  readonly #outbox: Outbox;
  readonly #queue: TransactionQueue;
  #sockets = new AbortController();
  /** The newest slot that a node reported. */
  #tip = 0;
  #isListing = false;

  constructor(settings: ProgramSettings, emit: (message: FromPrograms) => void, log: Logger) {
    this.#settings = settings;
    this.#emit = emit;
    this.#log = log;
    this.#rpc = createRpc(settings.httpUrls, { timeoutMs: rpcTimeoutMs });
    this.#outbox = new Outbox(emit);
    this.#queue = new TransactionQueue(
      this.#rpc,
      this.#life.signal,
      (view, job) => this.#take(view, job),
      (job) => this.#lose(job),
    );
  }

  start(): void {
    this.#readFolder();
    const timers = [setInterval(() => this.#readFolder(), folderEveryMs), setInterval(() => void this.#list(), listEveryMs)];
    this.#life.signal.addEventListener('abort', () => timers.forEach((timer) => clearInterval(timer)), { once: true });
    void this.#list();
  }

  taken(): void {
    this.#outbox.taken();
  }

  /** Compares the newest slots again, because not all of them may be in the log. */
  recheck(since: ProgramSettings['since']): void {
    this.#seen = new Recent<number>(maxSeen);
    for (const watched of this.#programs.values()) {
      const newest = since[watched.programId];
      if (newest !== undefined) watched.completeTo = Math.max(0, newest - this.#settings.recheckSlots);
    }
  }

  close(): void {
    this.#life.abort();
    this.#sockets.abort();
    this.#outbox.close();
  }

  /** Loads what is new or has changed. A file that is refused changes nothing: the IDL before it stays in use. */
  #readFolder(): void {
    const { folder } = this.#settings;
    let programs: readonly string[];
    try {
      programs = programsIn(folder);
    } catch (error) {
      this.#log.warn({ err: error }, 'idl_folder_unreadable');
      return;
    }
    const before = this.#subscriptionNames();
    for (const programId of programs) this.#readFile(programId);
    for (const programId of [...this.#programs.keys()].filter((known) => !programs.includes(known))) {
      this.#programs.delete(programId);
      this.#files.delete(programId);
    }
    if (this.#subscriptionNames() !== before) this.#connect();
    const counts: Record<string, ProgramCounts> = {};
    for (const [programId, watched] of this.#programs) counts[programId] = watched.counts;
    this.#emit({ kind: 'counts', counts });
  }

  #readFile(programId: string): void {
    const { folder, since, recheckSlots } = this.#settings;
    const stats = statSync(join(folder, `${programId}.json`), { throwIfNoEntry: false });
    const version = `${stats?.size} ${stats?.mtimeMs}`;
    if (this.#files.get(programId) === version) return;
    this.#files.set(programId, version);
    const known = this.#programs.get(programId);
    const outcome = idlInFolder(folder, programId);
    if (!outcome.ok) {
      this.#log.warn({ program: programId, reason: outcome.reason, inUse: known !== undefined }, 'idl_refused');
      if (known !== undefined) known.counts.fault = outcome.reason;
      return;
    }
    const { idl } = outcome;
    const coder = new ProgramCoder(idl);
    this.#log.info({ program: programId, name: idl.name, refused: idl.refused.length }, 'idl_loaded');
    if (known !== undefined) {
      known.coder = coder;
      known.counts.fault = null;
      known.counts.name = idl.name;
      return;
    }
    const counts = { name: idl.name, events: 0, instructions: 0, accounts: 0, refused: 0, dropped: 0, late: 0, fault: null };
    const newest = since[programId];
    const completeTo = newest === undefined ? null : Math.max(0, newest - recheckSlots);
    const eventAuthority = eventAuthorityOf(programId);
    this.#programs.set(programId, {
      programId,
      coder,
      eventAuthority,
      counts,
      refused: new Set(),
      completeTo,
      accountsTo: newest ?? null,
      followers: 0,
      begins: false,
      flooded: false,
    });
  }

  #subscriptionNames(): string {
    return this.#subscriptions()
      .map(({ name }) => name)
      .join(' ');
  }

  #subscriptions(): Subscription[] {
    const slice = { dataSlice: { offset: 0, length: maxAccountBytes } };
    return [...this.#programs.values()].flatMap(({ programId, coder }) => [
      {
        name: `logs:${programId}`,
        method: 'logsSubscribe',
        params: [{ mentions: [programId] }, { commitment: 'confirmed' }],
        required: false,
      },
      ...(coder.idl.accounts.length === 0
        ? []
        : [
            {
              name: accountsPrefix + programId,
              method: 'programSubscribe',
              params: [programId, { encoding: 'base64', commitment: 'confirmed', ...slice }],
              required: false,
            },
          ]),
    ]);
  }

  #connect(): void {
    this.#sockets.abort();
    this.#sockets = new AbortController();
    const { signal } = this.#sockets;
    const subscriptions = this.#subscriptions();
    if (subscriptions.length === 0) return;
    for (const [index, url] of this.#settings.wsUrls.entries()) {
      const handlers = this.#handlers(signal);
      new RpcSocket({
        url,
        index,
        subscriptions: [...subscriptions, slotSubscription(false)],
        handlers,
        nowUs,
        log: this.#log,
        signal,
      }).start();
    }
  }

  #handlers(signal: AbortSignal): SocketHandlers {
    const followed = new Set<WatchedProgram>();
    // The socket of a folder that has changed says nothing when it ends.
    signal.addEventListener('abort', () => this.#unfollow(followed), { once: true });
    return {
      onSlot: ({ slot }) => this.#reached(slot),
      onNotification: (method, params, receivedUs) => {
        if (method === 'logsNotification') {
          const outcome = readLogsNotification(params);
          if (typeof outcome === 'string') return;
          this.#add({ signature: outcome.signature, slot: outcome.slot, receivedUs, late: false, programs: this.#named(outcome.logs) });
        } else if (method === 'programNotification') {
          const state = readProgramNotification(params, receivedUs);
          if (state !== 'malformed') this.#takeAccount(state);
        }
      },
      onSubscribed: ({ name }) => {
        const watched = name.startsWith(accountsPrefix) ? this.#programs.get(name.slice(accountsPrefix.length)) : undefined;
        if (watched === undefined || followed.has(watched)) return;
        followed.add(watched);
        if (watched.followers++ === 0) watched.begins = true;
      },
      onDown: () => this.#unfollow(followed),
    };
  }

  /** The watched programs that ran; all, if the log does not show it. */
  #named(logs: readonly string[]): readonly string[] {
    const named = [...this.#programs.keys()].filter((program) => logs.some((line) => line.startsWith(`Program ${program} invoke`)));
    return named.length > 0 ? named : [...this.#programs.keys()];
  }

  /** A connection does not follow the accounts of these programs any more. */
  #unfollow(followed: Set<WatchedProgram>): void {
    for (const watched of followed) if (--watched.followers === 0 && !watched.begins) watched.accountsTo = this.#tip;
    followed.clear();
  }

  /** Where accounts are followed again, their changes in between are lost. Before they ever were followed, nothing is. */
  #reached(slot: number): void {
    this.#tip = Math.max(this.#tip, slot);
    for (const watched of this.#programs.values()) {
      if (!watched.begins) continue;
      watched.begins = false;
      if (watched.accountsTo !== null) this.#outbox.lose(watched.programId, watched.accountsTo, Math.max(watched.accountsTo, slot));
      watched.accountsTo = slot;
    }
  }

  #add(job: TransactionJob): void {
    if (this.#seen.peek(job.signature) !== undefined) return;
    this.#seen.set(job.signature, job.slot);
    this.#queue.add(job);
  }

  #lose({ programs, slot, signature }: TransactionJob): void {
    for (const programId of programs) {
      const watched = this.#programs.get(programId);
      if (watched === undefined) continue;
      watched.counts.dropped++;
      watched.flooded = true;
      this.#outbox.lose(programId, slot, slot, signature);
    }
  }

  #take(view: TransactionView, job: TransactionJob): void {
    if (view.err !== null) return;
    const { signature, receivedUs, late } = job;
    const { simulated } = this.#settings;
    const origin = { slot: view.slot ?? job.slot, signature, blockTime: view.blockTime, receivedUs, late, simulated };
    if (late) for (const program of job.programs) this.#programs.get(program)!.counts.late++;
    const isCut = readRecords(view, origin, this.#programs, {
      record: (watched, record) => this.#pass(watched, record),
      refuse: (watched, name, reason) => this.#refuse(watched, name, reason),
    });
    if (isCut) this.#lose(job);
  }

  #takeAccount({ address, owner, data, slot, receivedUs }: AccountState): void {
    const watched = this.#programs.get(owner);
    const id = `${address}:${slot}.account`;
    if (watched === undefined || this.#seen.peek(id) !== undefined) return;
    this.#seen.set(id, slot);
    const decoded = watched.coder.decode('accounts', data);
    if (decoded.kind === 'unknown') return;
    if (decoded.kind === 'refused') return this.#refuse(watched, decoded.name, decoded.reason);
    if (data.length >= maxAccountBytes) return this.#refuse(watched, decoded.name, `it has ${maxAccountBytes} bytes or more`);
    const origin = { slot, signature: null, blockTime: null, receivedUs, late: false, simulated: this.#settings.simulated };
    const record = recordOf(watched, id, decoded.name, origin, decoded.data, { type: 'programAccount', address });
    if (typeof record === 'string') this.#refuse(watched, decoded.name, record);
    else this.#pass(watched, record);
  }

  #pass(watched: WatchedProgram, record: ProgramRecord): void {
    const kinds = { programEvent: 'events', programInstruction: 'instructions', programAccount: 'accounts' } as const;
    watched.counts[kinds[record.type]]++;
    if (this.#outbox.add(record)) return;
    watched.counts.dropped++;
    watched.flooded = true;
  }

  #refuse(watched: WatchedProgram, name: string, reason: string): void {
    watched.counts.refused++;
    if (watched.refused.has(name)) return;
    watched.refused.add(name);
    this.#log.warn({ program: watched.programId, name, reason }, 'program_record_refused');
  }

  /** Compares each program with the nodes' lists. */
  async #list(): Promise<void> {
    if (this.#isListing) return;
    this.#isListing = true;
    const { signal } = this.#life;
    try {
      const tip = Number(await this.#rpc.call('getSlot', [{ commitment: 'confirmed' }], signal));
      for (const watched of this.#programs.values()) {
        if (signal.aborted) return;
        await this.#listOne(watched, tip);
      }
    } catch (error) {
      // The next comparison begins where this one did.
      if (!(error instanceof RpcError || error instanceof TypeError)) throw error;
      if (!signal.aborted) this.#log.debug({ err: error }, 'programs_not_listed');
    } finally {
      this.#isListing = false;
    }
  }

  async #listOne(watched: WatchedProgram, tip: number): Promise<void> {
    const { programId, completeTo, flooded } = watched;
    watched.flooded = false;
    const next = completeTo === null ? tip : Math.max(completeTo, tip - overlapSlots);
    if (completeTo !== null && flooded) this.#outbox.lose(programId, completeTo, tip);
    else if (completeTo !== null) {
      const found = await listProgram(
        { rpc: this.#rpc, program: programId, tip, clock: systemClock, signal: this.#life.signal },
        completeTo,
      );
      if (found.from > completeTo) this.#outbox.lose(programId, completeTo, found.from - 1);
      for (const { signature, slot } of found.items) this.#add({ signature, slot, receivedUs: nowUs(), late: true, programs: [programId] });
    }
    watched.completeTo = next;
  }
}
