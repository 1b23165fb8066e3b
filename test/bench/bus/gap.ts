import { createHash } from 'node:crypto';
import { createInProcessBus } from '@sluice/shared/bus/in-process/in-process-bus.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { venues } from '@sluice/venues/registry.ts';
import { Continuity } from '../../../ingest/src/continuity/continuity.ts';
import { Publisher } from '../../../ingest/src/publisher/publisher.ts';
import { BlockFetcher } from '../../../ingest/src/sources/blocks/block-fetcher.ts';
import { TransactionFetcher } from '../../../ingest/src/sources/rpc/transaction-fetcher.ts';
import { silentLog } from '../../contract/bus-harness.ts';
import { createHarness } from '../../ingest/harness.ts';
import { until } from '../../support/until.ts';
import { ammProgram, keyOf } from '../../ingest/pump-frames.ts';
import { dataLine, invoked } from '../../ingest/log-frames.ts';
import { poolBuy } from '../../ingest/some-trades.ts';
import type { BenchRow } from '../row.ts';
import { ms } from '../stream/stream-rig.ts';
import { logsSighting } from '../../ingest/sightings.ts';

const waiting = 20_000;
const listed = 60_000;
const slots = 150;
const firstSlot = 1_000;
const lastSlot = firstSlot + slots - 1;
const pageSize = 1_000;
const rounds = 5;

const signatureAt = (index: number): string =>
  encodeBase58(Buffer.concat([0, 1].map((half) => createHash('sha256').update(`${half} ${index}`).digest())));
const slotAt = (index: number): number => firstSlot + Math.floor((index * slots) / listed);

/** Pages of each program as a node sends them, newest first, in the form in which they arrive; by the signature before them. */
type Pages = ReadonlyMap<string, ReadonlyMap<string | undefined, string>>;

function pagesOf(signatures: readonly string[]): Pages {
  const rows = signatures.map((signature, index) => ({ signature, slot: slotAt(index), err: null, memo: null, blockTime: 1 }));
  return new Map(
    venues.map(({ programId }, program) => {
      const pages = new Map<string | undefined, string>();
      const own = rows.filter((_, index) => index % venues.length === program).toReversed();
      for (let at = 0; at < own.length; at += pageSize) pages.set(own[at - 1]?.signature, JSON.stringify(own.slice(at, at + pageSize)));
      return [programId, pages];
    }),
  );
}

/** An endpoint on which everything is confirmed up to the last slot. It reports no index in the block. */
function endpoint(pages: Pages, tip: () => number): Rpc {
  const list = async (program: string, { before }: { readonly before?: string }): Promise<unknown> => {
    await new Promise(setImmediate);
    return JSON.parse((tip() < firstSlot ? undefined : pages.get(program)?.get(before)) ?? '[]') as unknown;
  };
  return {
    call: async (method, params) => {
      if (method === 'getSlot') return tip();
      if (method === 'getSignaturesForAddress') return list(String(params[0]), params[1] as { readonly before?: string });
      if (method === 'getFirstAvailableBlock') return 1;
      if (method === 'getBlocks') return Array.from({ length: slots }, (_, index) => firstSlot + index);
      throw new Error(`${method} is not supported`);
    },
  };
}

/** The longest turn of the event loop until `done`. */
async function longestTurnMs(done: () => boolean): Promise<number> {
  let longest = 0;
  let before = performance.now();
  while (!done()) {
    await new Promise(setImmediate);
    const now = performance.now();
    longest = Math.max(longest, now - before);
    before = now;
  }
  return longest;
}

async function round(signatures: readonly string[], pages: Pages): Promise<number> {
  const ended = new AbortController();
  const bus = createInProcessBus();
  const publisher = new Publisher(bus, silentLog);
  // Nobody reports the pools' accounts, so their events wait.
  const { pipeline } = createHarness({ answer: () => new Promise(() => undefined) });
  for (const [index, signature] of signatures.entries()) {
    const slot = slotAt(index);
    pipeline.see(signature, slot);
    if (index % (listed / waiting) !== 0) continue;
    const event = poolBuy({ pool: keyOf(`pool ${index % 97}`) });
    pipeline.takeNew(logsSighting({ signature, slot, logs: invoked(ammProgram, 1, [dataLine(event)]), receivedUs: 1 }));
  }
  if (pipeline.waiting !== waiting) throw new Error(`${pipeline.waiting} events wait`);
  let tip = firstSlot - 1;
  const rpcs = [endpoint(pages, () => tip), endpoint(pages, () => tip)];
  const continuity = new Continuity({
    rpcs,
    programs: venues.map(({ programId }) => programId),
    genesis: '',
    bus,
    publisher,
    pipeline,
    blocks: new BlockFetcher(rpcs[0]!),
    transactions: new TransactionFetcher(rpcs[0]!),
    slot: () => tip,
    watermarkOfOthers: async () => null,
    onLoss: () => undefined,
    onUnseen: () => undefined,
    publish: (outgoing) => publisher.push(outgoing),
    log: silentLog,
    signal: ended.signal,
  });
  publisher.requestLead();
  await until('it leads', () => publisher.leads);
  const running = continuity.run();
  await until('it begins', () => continuity.stats.gaps.rounds > 0);
  tip = lastSlot;
  for (let slot = firstSlot; slot <= lastSlot; slot++) continuity.slot(slot, slot - 1);
  continuity.resumed();
  // A round that was running at that time may not have seen these slots. The watermark does not pass waiting events.
  const roundsBefore = continuity.stats.gaps.rounds;
  const longest = await longestTurnMs(() => continuity.stats.gaps.rounds >= roundsBefore + 2);
  ended.abort();
  await running;
  await publisher.close(0);
  await bus.close();
  return longest;
}

/** How long a round of the gap filler blocks the event loop. It compares everything that nodes list with what was published. */
export async function run(): Promise<BenchRow[]> {
  const signatures = Array.from({ length: listed }, (_, index) => signatureAt(index));
  const pages = pagesOf(signatures);
  const turns: number[] = [];
  for (let turn = 0; turn < rounds; turn++) turns.push(await round(signatures, pages));
  // The rest of the machine can only add time.
  const longest = Math.min(...turns);
  const count = (number: number): string => number.toLocaleString('en');
  return [
    {
      name: 'A round of the gap filler: longest block of the event loop',
      figure: ms(longest),
      target: '≤ 10 ms',
      pass: longest <= 10,
      note: `${count(waiting)} events wait for their pools, two endpoints list ${count(listed)} transactions each; lowest of ${rounds} rounds`,
    },
  ];
}
