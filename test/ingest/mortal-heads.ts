import type { Bus, BusEntry, Lease } from '@sluice/shared/bus/bus.ts';
import { RpcError, type Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { nowUs } from '@sluice/shared/runtime/clock/now-us.ts';
import { Continuity } from '../../ingest/src/continuity/continuity.ts';
import type { Pipeline } from '../../ingest/src/pipeline/pipeline.ts';
import { Publisher } from '../../ingest/src/publisher/publisher.ts';
import { BlockFetcher } from '../../ingest/src/sources/blocks/block-fetcher.ts';
import { TransactionFetcher } from '../../ingest/src/sources/rpc/transaction-fetcher.ts';
import { manualClock } from '../support/clocks.ts';
import { createHarness, recordingLog } from './harness.ts';
import { keyOf, pumpProgram, signatureOf } from './pump-frames.ts';
import { dataLine, invoked } from './log-frames.ts';
import { curveBuy } from './some-trades.ts';
import { wholeTransaction } from './whole-transaction.ts';
import { logsSighting } from './sightings.ts';

/** Most turns of the event loop that any step may take. */
const maxTurns = 5_000;
/** Time for the bounds of reading blocks. It passes with the turns of steps that wait, and not otherwise. */
const blockClock = manualClock();
const turnMs = 10;

export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
}

export async function untilTurn(what: string, met: () => boolean): Promise<void> {
  for (let turn = 0; !met(); turn++) {
    if (turn === maxTurns) throw new Error(`Not within ${maxTurns} turns: ${what}`);
    await turns(1);
    await blockClock.pass(turnMs);
  }
}

const eventOf = (transaction: number): Buffer => curveBuy({ mint: keyOf(`coin ${transaction}`) });
const signatureAt = (transaction: number): string => signatureOf(`mortal ${transaction}`);
export const tradeOf = (transaction: number): string => `${signatureAt(transaction)}:0`;

export interface ChainBlock {
  readonly slot: number;
  readonly parent: number;
  readonly transactions: readonly number[];
}

/** Blocks on any fork; those up to the confirmed one can be read by RPC. */
export class ForkingChain {
  readonly blocks = new Map<number, ChainBlock>();
  confirmed = 0;

  /** Slots of the chain that ends here, oldest first. */
  upTo(slot: number): number[] {
    const chain: number[] = [];
    for (let at = slot; at > 0; at = this.blocks.get(at)!.parent) chain.unshift(at);
    return chain;
  }

  rpc(): Rpc {
    const landed = (): { signature: string; slot: number; err: null; transaction: number }[] =>
      this.upTo(this.confirmed).flatMap((slot) =>
        this.blocks.get(slot)!.transactions.map((transaction) => ({ signature: signatureAt(transaction), slot, err: null, transaction })),
      );
    const answers: Readonly<Record<string, (params: readonly unknown[]) => unknown>> = {
      getSlot: () => this.confirmed,
      getFirstAvailableBlock: () => 1,
      getBlocks: ([from, to]) => this.upTo(this.confirmed).filter((slot) => slot >= Number(from) && slot <= Number(to)),
      getBlock: ([slot]) => {
        if (!this.upTo(this.confirmed).includes(Number(slot))) throw new RpcError('answer', -32_007, 'Slot was skipped');
        const { parent, transactions } = this.blocks.get(Number(slot))!;
        return { blockhash: `block ${Number(slot)}`, parentSlot: parent, signatures: transactions.map(signatureAt) };
      },
      getSignaturesForAddress: ([, options]) => {
        const { before } = options as { readonly before?: string };
        const newestFirst = landed().toReversed();
        return newestFirst.slice(before === undefined ? 0 : newestFirst.findIndex(({ signature }) => signature === before) + 1);
      },
      getTransaction: ([signature]) => {
        const found = landed().find((row) => row.signature === signature);
        return found === undefined ? null : wholeTransaction(found.signature, [eventOf(found.transaction)], found.slot);
      },
    };
    return {
      call: async (method, params, _signal, accept) => {
        await turns(1);
        const answer = answers[method]?.(params);
        if (answer === undefined) throw new Error(`${method} is not answered`);
        void accept?.(answer);
        return answer;
      },
    };
  }
}

export type Heard =
  | { readonly kind: 'slot'; readonly slot: number; readonly parent: number }
  | { readonly kind: 'logs'; readonly slot: number; readonly transaction: number }
  | { readonly kind: 'confirmed'; readonly slot: number };

/** An ingest process without sockets that can be killed between any two entries that it writes. */
export class MortalHead {
  readonly publisher: Publisher;
  readonly continuity: Continuity;
  readonly #pipeline: Pipeline;
  readonly #ended = new AbortController();
  #lease: Lease | null = null;
  /** How many more entries it writes; null if it is not going to be killed. */
  #entriesLeft: number | null = null;
  #stalled = false;
  dead = false;

  constructor(
    bus: Bus,
    chain: ForkingChain,
    rpcs: readonly Rpc[] = [chain.rpc()],
    watermarkOfOthers = async (): Promise<number | null> => null,
  ) {
    const log = recordingLog([]);
    const mortal = this.#mortal(bus);
    this.publisher = new Publisher(mortal, log);
    this.#pipeline = createHarness({ publish: (event) => this.continuity.publish(event) }).pipeline;
    this.continuity = new Continuity({
      rpcs,
      programs: [pumpProgram],
      genesis: 'a chain',
      bus: mortal,
      publisher: this.publisher,
      pipeline: this.#pipeline,
      blocks: new BlockFetcher(rpcs[0]!),
      transactions: new TransactionFetcher(rpcs[0]!, { late: true }),
      slot: () => Math.max(0, ...chain.blocks.keys()),
      blockClock,
      watermarkOfOthers,
      onLoss: () => undefined,
      onUnseen: () => undefined,
      publish: (outgoing) => this.publisher.push(outgoing),
      log,
      signal: this.#ended.signal,
    });
    this.continuity.begin();
    this.publisher.requestLead(async () => {
      const status = (await bus.statuses()).find(({ name }) => name === 'watermark');
      return status === undefined ? null : Number(status.value['slot']);
    });
    void this.continuity.run();
  }

  hear(heard: Heard): void {
    const { slot } = heard;
    if (this.dead) return;
    if (heard.kind === 'slot') this.continuity.slot(slot, heard.parent);
    else if (heard.kind === 'confirmed') this.continuity.confirmed(0, slot);
    else if (!this.continuity.isDead(slot, signatureAt(heard.transaction))) {
      const signature = signatureAt(heard.transaction);
      const logs = invoked(pumpProgram, 1, [dataLine(eventOf(heard.transaction))]);
      const seen = logsSighting({ signature, logs, slot, receivedUs: nowUs() });
      const firstSlot = this.#pipeline.see(signature, slot);
      if (firstSlot === null) this.#pipeline.takeNew(seen);
      else if (firstSlot !== slot) this.continuity.seenElsewhere(seen);
    }
  }

  /** One round of the gap filler, complete or not. */
  async round(): Promise<void> {
    const ended = (): number => this.continuity.stats.gaps.rounds + this.continuity.stats.gaps.failedRounds;
    const before = ended();
    await untilTurn('a round', () => {
      this.continuity.resumed();
      this.continuity.recheck();
      return this.dead || !this.publisher.leads || ended() > before;
    });
  }

  /** From now on the bus does not answer its writes. */
  stall(): void {
    this.#stalled = true;
  }

  /** Of its next writes, this many entries are stored; the rest is lost. */
  async kill(entries: number): Promise<void> {
    this.#entriesLeft = entries;
    await turns(4);
    await this.#die();
  }

  async end(): Promise<void> {
    await this.#die();
    this.#ended.abort();
  }

  async #die(): Promise<void> {
    this.dead = true;
    await this.#lease?.close();
  }

  #mortal(bus: Bus): Bus {
    const never = new Promise<never>(() => undefined);
    const publishOf = (publish: (entries: readonly BusEntry[]) => Promise<void>) => async (entries: readonly BusEntry[]) => {
      if (this.dead || this.#stalled) return never;
      if (this.#entriesLeft === null) return publish(entries);
      const written = entries.slice(0, this.#entriesLeft);
      this.#entriesLeft -= written.length;
      if (written.length > 0) await publish(written);
      if (written.length === entries.length) return undefined;
      await this.#die();
      return never;
    };
    return {
      publisher: async (options) => {
        const inner = await bus.publisher(options);
        return {
          publish: publishOf((entries) => inner.publish(entries)),
          setStatus: (...status) => (this.dead ? never : inner.setStatus(...status)),
          close: () => inner.close(),
        };
      },
      lease: (name) => (this.#lease = bus.lease(name)),
      subscriber: (options) => bus.subscriber(options),
      tail: (maxEntries) => bus.tail(maxEntries),
      readTail: (maxEntries, read) => bus.readTail(maxEntries, read),
      setStatus: (...status) => bus.setStatus(...status),
      statuses: () => bus.statuses(),
      timeMs: () => bus.timeMs(),
      close: () => bus.close(),
    };
  }
}
