import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { decodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { readTransaction, type TransactionInstruction } from '@sluice/shared/solana/transaction/inner-events.ts';
import { solPricePool, venues } from '@sluice/venues/registry.ts';
import { TransactionDecoder } from '../../ingest/src/sources/decode/transaction-decoder.ts';
import { GrpcSource } from '../../ingest/src/sources/grpc/grpc-source.ts';
import { answerOf, readHead, readUpdate } from '../../ingest/src/sources/grpc/messages.ts';
import { GrpcReader, type ToReader } from '../../ingest/src/sources/grpc/reader.ts';
import type { AccountState, Sighting } from '../../ingest/src/sources/sighting.ts';
import type { TransactionRecord } from '../simnet/chain.ts';
import { encodeTransaction } from '../simnet/rpc/encode-transaction.ts';
import { ScriptedChain, scriptedRecord } from '../simnet/scripted-chain.ts';
import { createChain } from '../simnet/sim-chain.ts';
import { fastClock } from '../support/clocks.ts';
import { fuzzCases } from '../support/fuzz.ts';
import { GrpcNode } from '../support/servers/grpc.ts';
import { UpdateDecoder } from '../../ingest/src/sources/grpc/read-update.ts';
import { accountUpdate, blockUpdate, slotUpdate, status, transactionUpdate } from '../support/servers/grpc-updates.ts';
import { until } from '../support/until.ts';
import { recordingLog, type LogLine } from './harness.ts';
import { pumpProgram } from './pump-frames.ts';

/** Ten seconds of silence are one second. */
const fast = 10;
const token = 'a-secret-token-of-the-operator';
const firstIndex = 3;

let ended = new AbortController();
const closers: (() => void)[] = [];
afterEach(() => {
  ended.abort();
  ended = new AbortController();
  for (const close of closers.splice(0).toReversed()) close();
});

async function startNode(port = 0): Promise<GrpcNode> {
  const node = await GrpcNode.start(port);
  closers.push(() => node.close());
  return node;
}

interface Running {
  readonly source: GrpcSource;
  readonly sightings: Sighting[];
  readonly accounts: AccountState[];
  readonly failed: string[];
  readonly slots: (readonly [slot: number, parent: number | null])[];
  readonly confirmed: (readonly [endpoint: number, slot: number])[];
  readonly lines: LogLine[];
  resumed: number;
  /** The reader learns nothing of what was processed while it is true. */
  holdsBack: boolean;
  release(): void;
}

/** The source with a reader in this thread, whose time is `speed` times faster. */
function start(nodes: readonly { readonly url: string }[], speed = 1, newestSlot = (): number => 0): Running {
  const lines: LogLine[] = [];
  const held: ToReader[] = [];
  const clock = fastClock(speed);
  let reader: GrpcReader | null = null;
  const source = new GrpcSource({
    urls: nodes.map(({ url }) => url),
    token,
    firstIndex,
    filters: { programs: [pumpProgram], watched: venues, accounts: [solPricePool.address] },
    newestSlot,
    log: recordingLog(lines),
    open: ({ settings, onMessage }) => {
      const opened = new GrpcReader(settings(), onMessage, clock);
      reader = opened;
      void opened.run();
      return {
        post: (message) => (running.holdsBack && message.kind === 'taken' ? void held.push(message) : opened.take(message)),
        close: () => opened.take({ kind: 'close' }),
      };
    },
  });
  const running: Running = {
    source,
    sightings: [],
    accounts: [],
    failed: [],
    slots: [],
    confirmed: [],
    lines,
    resumed: 0,
    holdsBack: false,
    release: () => {
      running.holdsBack = false;
      for (const message of held.splice(0)) reader!.take(message);
    },
  };
  source.start(
    {
      isRepeat: () => false,
      sighting: (sighting) => void running.sightings.push(sighting),
      failed: (signature) => void running.failed.push(signature),
      account: (state) => void running.accounts.push(state),
      slot: (slot, parent) => void running.slots.push([slot, parent]),
      block: () => expect.fail('gRPC shows no whole block'),
      confirmedSlot: (endpoint, slot) => void running.confirmed.push([endpoint, slot]),
      resumed: () => void running.resumed++,
    },
    ended.signal,
  );
  return running;
}

const isUp = ({ source }: Running): boolean => source.health().endpoints.every(({ state }) => state === 'up');
const signaturesOf = ({ sightings }: Running): string[] => sightings.map(({ signature }) => signature);
const missedIn = ({ lines }: Running): unknown[] => lines.filter(({ name }) => name === 'slots_not_seen').map(({ data }) => data);
const trade = (name: string): TransactionRecord => scriptedRecord(name, pumpProgram, [Uint8Array.of(1)]);

/** A node that follows a scripted chain, and a source that is up. */
async function startScripted(speed = 1): Promise<{ readonly node: GrpcNode; readonly chain: ScriptedChain; readonly running: Running }> {
  const node = await startNode();
  const chain = new ScriptedChain();
  closers.push(node.follow(chain));
  const running = start([node], speed);
  await until('it subscribes', () => node.subscribers === 1);
  // Slots before the interruption, so that the source knows blocks from which it can ask for a replay.
  for (let count = 0; count < 12; count++) chain.freeze([trade(`before ${count}`)]);
  // The slot is the last that a server sends of a block.
  await until('it is up', () => isUp(running) && running.source.health().slot === 1_012);
  return { node, chain, running };
}

/** With the parts of all instructions, and with plain bytes. */
function plainView(view: ReturnType<typeof readTransaction>): object {
  if (view.kind === 'malformed') throw new Error(view.reason);
  const plain = (one: TransactionInstruction & { readonly stackHeight?: number | null }): object => ({
    programId: one.programId,
    accounts: one.accounts,
    data: Uint8Array.from(one.data),
    stackHeight: one.stackHeight,
  });
  const inner = view.inner === null ? null : [...view.inner].map(([index, list]) => [index, list.map(plain)]);
  return { ...view, instructions: view.instructions.map((one) => ({ ...plain(one), stackHeight: null })), inner };
}

describe('a stream', () => {
  it('reports transactions, slots, confirmations and accounts, and asks for what it needs in the published form', async () => {
    const { node, chain, running } = await startScripted();
    const [prefix] = venues.flatMap(({ programId, watchedAccountPrefixes: [first] }) =>
      first === undefined ? [] : [{ programId, first }],
    );
    const account = { lamports: 7n, owner: prefix!.programId, data: Uint8Array.from([...prefix!.first, 1, 2, 3]), executable: false };
    const address = scriptedRecord('watched', pumpProgram).accountKeys[0]!;
    const failed = scriptedRecord('failed', pumpProgram, [], { err: { InstructionError: [0, { Custom: 1 }] } });
    const block = chain.freeze([trade('one'), failed, scriptedRecord('foreign', address), trade('two')]);
    node.send(accountUpdate(block.slot, address, account));
    // A server that does not know the filter of failed transactions.
    const known = chain.blocks.at(-1)!.transactions[1]!;
    node.sendRaw(transactionUpdate(known).bytes);
    chain.confirm(block.slot);
    await until('all arrive', () => running.confirmed.at(-1)?.[1] === block.slot && running.failed.length === 1);
    expect(signaturesOf(running).slice(12)).toEqual([block.transactions[0]!.signature, block.transactions[3]!.signature]);
    expect(running.sightings.at(-1)).toMatchObject({
      kind: 'whole',
      source: 'grpc',
      slot: block.slot,
      commitment: 'processed',
      late: false,
    });
    expect(running.failed).toEqual([known.signature]);
    expect(running.accounts).toMatchObject([{ address, owner: account.owner, slot: block.slot }]);
    expect(Buffer.from(running.accounts[0]!.data)).toEqual(Buffer.from(account.data));
    expect(running.slots.at(-1)).toEqual([block.slot, block.parentSlot]);
    expect(running.confirmed.at(-1)).toEqual([firstIndex, block.slot]);
    expect(running.source.health()).toMatchObject({ slot: block.slot, endpointsUp: 1, holes: 0, counts: { malformed: 0, failed: 1 } });
    const [request] = node.requests;
    expect(node.tokens).toEqual([token]);
    expect(request).toMatchObject({
      transactions: { venues: { vote: false, failed: false, accountInclude: [pumpProgram] } },
      slots: { all: { filterByCommitment: false } },
      blocksMeta: { all: {} },
      commitment: 0,
    });
    expect(request!.accounts['named']!.account).toEqual([solPricePool.address]);
    expect(Object.hasOwn(request!, 'fromSlot')).toBe(false);
  });

  it('shows the same of each transaction as getTransaction, on a whole market', () => {
    const chain = createChain({ seed: 5, market: { completeEverySeconds: 10, boostedShare: 0.5 } });
    const decoder = new TransactionDecoder(venues);
    let compared = 0;
    chain.listen({
      onFrozen: ({ transactions }) => {
        for (const record of transactions) {
          const update = readUpdate(Buffer.from(transactionUpdate(record, 3).bytes));
          const encoded = encodeTransaction(record, 'json', 1);
          if (update === 'malformed' || update.kind !== 'transaction' || !encoded.ok) return expect.fail('not read');
          const head = readHead(update.info);
          if (head === 'malformed') return expect.fail('not read');
          if (record.err !== null) continue;
          const views = [readTransaction(answerOf(update.info, update.slot, head)), readTransaction(encoded.value)] as const;
          const [facts, ofAnswer] = views.map((one) => (one.kind === 'malformed' ? null : decoder.read(one)));
          expect(facts).toMatchObject({ kind: 'read', facts: ofAnswer?.kind === 'read' ? ofAnswer.facts : null });
          expect(plainView(views[0])).toEqual({
            ...plainView(views[1]),
            slot: record.slot,
            blockTime: null,
            index: record.index === 0 ? null : record.index,
          });
          compared++;
        }
      },
    });
    for (let slot = 0; slot < 60; slot++) chain.advance();
    expect(compared).toBeGreaterThan(100);
  });

  it('decodes again what differs in anything that is read, and nothing else', () => {
    const chain = createChain({ seed: 5, market: {} });
    const found: TransactionRecord[] = [];
    chain.listen({ onFrozen: ({ transactions }) => found.push(...transactions) });
    for (let slot = 0; slot < 20; slot++) chain.advance();
    const tag = Buffer.from('e445a52e51cb9a1d', 'hex');
    const record = found.find((one) => Buffer.from(transactionUpdate(one).bytes).includes(tag))!;
    const update = Buffer.from(transactionUpdate(record).bytes);
    const decoder = new UpdateDecoder(venues);
    const isDecoded = (bytes: Uint8Array): boolean => {
      const one = readUpdate(Buffer.from(bytes));
      const decoded = one === 'malformed' ? null : decoder.read(one);
      return decoded?.kind === 'transaction' ? decoded.contents !== null : expect.fail('not read');
    };
    const changedAt = (at: number): Buffer => {
      const other = Buffer.from(update);
      other[at]! ^= 1;
      return other;
    };
    const otherBalances = record.postTokenBalances.map((one) => ({ ...one, amount: one.amount + 1n }));
    const others = [
      // Of the amounts of an event, and of an account.
      changedAt(update.indexOf(tag) + 8 + 41),
      changedAt(update.indexOf(decodeBase58(record.accountKeys[3]!)!)),
      transactionUpdate({ ...record, postTokenBalances: otherBalances }).bytes,
    ];
    expect(isDecoded(update)).toBe(true);
    for (const other of others) expect([update, other, other, update].map(isDecoded)).toEqual([false, true, false, true]);
    expect(isDecoded(transactionUpdate({ ...record, unitsConsumed: record.unitsConsumed + 1 }).bytes)).toBe(false);
  });

  it('takes any bytes without an exception', () => {
    const valid = [
      transactionUpdate({ ...trade('one'), slot: 7 }, 2).bytes,
      slotUpdate(7, 6, status.processed).bytes,
      blockUpdate({ slot: 7, parentSlot: 6, blockhash: 'hash', transactions: [] }, 2).bytes,
      accountUpdate(7, pumpProgram, { lamports: 1n, owner: pumpProgram, data: Uint8Array.of(1), executable: false }).bytes,
    ];
    const damaged = fc
      .tuple(fc.constantFrom(...valid), fc.array(fc.tuple(fc.nat(600), fc.nat(255)), { maxLength: 6 }), fc.nat(600))
      .map(([bytes, changes, end]) => {
        const copy = Buffer.from(bytes);
        for (const [at, byte] of changes) copy[at % copy.length] = byte;
        return copy.subarray(0, end % (copy.length + 1));
      });
    const read = (bytes: Buffer): void => {
      const update = readUpdate(bytes);
      if (update === 'malformed' || update.kind !== 'transaction') return;
      const head = readHead(update.info);
      if (head !== 'malformed') readTransaction(answerOf(update.info, update.slot, head));
    };
    fc.assert(
      fc.property(
        fc.oneof(
          damaged,
          fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
        ),
        read,
      ),
      {
        numRuns: fuzzCases(20_000),
      },
    );
  });

  it('answers pings with the whole request, and continues if a server takes that as new filters and loses one', async () => {
    const { node, chain, running } = await startScripted(2);
    node.ping();
    await until('it is answered', () => node.requests.some(({ ping }) => (ping?.id ?? 0) > 0));
    const answer = node.requests.find(({ ping }) => (ping?.id ?? 0) > 0)!;
    expect([answer.transactions, answer.slots, answer.blocksMeta]).toEqual([
      node.requests[0]!.transactions,
      node.requests[0]!.slots,
      node.requests[0]!.blocksMeta,
    ]);
    // From now on transactions arrive, but no slots: a later reconnect would not know where to continue.
    node.pingsReplaceFilters = true;
    node.ping();
    const connects = running.source.health().endpoints[0]!.connects;
    let count = 0;
    await until('it subscribes again', () => {
      chain.freeze([trade(`then ${count++}`)]);
      node.pingsReplaceFilters = running.source.health().endpoints[0]!.connects === connects;
      return !node.pingsReplaceFilters && node.subscribers === 1;
    });
    const last = chain.freeze([trade('last')]);
    await until('all arrive', () => signaturesOf(running).includes(last.transactions[0]!.signature));
    expect(new Set(signaturesOf(running)).size).toBe(12 + count + 1);
  });
});

describe('after an interruption', () => {
  /** The connection ends, five slots pass, and the source connects again. */
  async function interrupt(
    replay: GrpcNode['replay'],
  ): Promise<{ readonly running: Running; readonly node: GrpcNode; readonly missing: string[] }> {
    const { node, chain, running } = await startScripted();
    node.replay = replay;
    node.end(14, 'the node restarts');
    const blocks = Array.from({ length: 5 }, (_, index) => chain.freeze([trade(`during ${index}`)]));
    await until('it is down', () => !isUp(running));
    await until('it subscribes again', () => node.subscribers === 1);
    const last = chain.freeze([trade('after')]);
    await until('the stream goes on', () => signaturesOf(running).includes(last.transactions[0]!.signature));
    const arrived = new Set(signaturesOf(running));
    return { running, node, missing: blocks.map(({ transactions }) => transactions[0]!.signature).filter((one) => !arrived.has(one)) };
  }

  it('everything is replayed from a slot before the newest', async () => {
    const { running, node, missing } = await interrupt('honest');
    expect(missing).toEqual([]);
    expect(running.resumed).toBe(0);
    expect(running.source.health().holes).toBe(0);
    // The last slot was 1,012.
    const begun = node.requests.filter((request) => !Object.hasOwn(request, 'ping'));
    expect(begun.map((request) => (Object.hasOwn(request, 'fromSlot') ? Number(request.fromSlot) : null))).toEqual([null, 1_004]);
    expect(new Set(signaturesOf(running)).size).toBe(running.sightings.length);
  });

  it.each([
    ['refuses', 5, { fromSlot: 1_011, toSlot: 1_017 }],
    ['lies', 5, { fromSlot: 1_011, toSlot: 1_017 }],
    ['holes', 1, { fromSlot: 1_015, toSlot: 1_016 }],
  ] as const)(
    'what a server that %s does not replay is reported to the comparison with the records of nodes',
    async (replay, count, slots) => {
      const { running, missing } = await interrupt(replay);
      expect(missing).toHaveLength(count);
      expect(missedIn(running)).toMatchObject([{ source: 'grpc', ...slots }]);
      expect(running.resumed).toBe(1);
      expect(running.source.health().holes).toBe(slots.toSlot - slots.fromSlot);
    },
  );

  it('nothing is missed if another endpoint has sent it', async () => {
    const [one, two] = [await startNode(), await startNode()];
    const chain = new ScriptedChain();
    closers.push(one.follow(chain), two.follow(chain));
    const running = start([one, two]);
    await until('both subscribe', () => one.subscribers === 1 && two.subscribers === 1);
    for (let count = 0; count < 12; count++) chain.freeze([trade(`before ${count}`)]);
    await until('both are up', () => isUp(running) && running.source.health().endpoints.every(({ slot }) => slot === 1_012));
    one.replay = 'lies';
    one.end(14, 'the node restarts');
    for (let count = 0; count < 5; count++) chain.freeze([trade(`during ${count}`)]);
    await until('the other has them', () => running.source.health().endpoints[1]!.slot === 1_017);
    await until('it subscribes again', () => one.subscribers === 1);
    chain.freeze([trade('after')]);
    await until('both have the newest', () => running.source.health().endpoints.every(({ slot }) => slot === 1_018));
    expect(running.sightings).toHaveLength(18);
    expect(running.resumed).toBe(0);
  });

  it('an endpoint that is silent is found, and one that does not exist is tried again', async () => {
    const { node, chain, running } = await startScripted(fast);
    node.isSilent = true;
    await until('it is down', () => running.source.health().endpoints[0]!.silences > 0 && !isUp(running));
    chain.freeze([trade('unseen')]);
    node.isSilent = false;
    // A silent server took the requests of the meantime, and forgot them.
    node.end(14, 'the node restarts');
    let count = 0;
    await until('it is up', () => {
      chain.freeze([trade(`then ${count++}`)]);
      return isUp(running);
    });
    await until('all arrive', () => new Set(signaturesOf(running)).size === 12 + 1 + count);
    expect(running.resumed).toBe(0);
    node.close();
    await until('it is down', () => !isUp(running));
    const { connects } = running.source.health().endpoints[0]!;
    await until('it tries again', () => running.source.health().endpoints[0]!.connects > connects + 2);
    const again = await startNode(Number(new URL(node.url).port));
    closers.push(again.follow(chain));
    await until('it is up', () => {
      chain.freeze([trade(`again ${count++}`)]);
      return isUp(running);
    });
  });
});

describe('a server that is wrong', () => {
  it('sends a second bank of a slot: its other contents are reported too, and a block before its transactions is no gap', async () => {
    const { node, chain, running } = await startScripted();
    node.isBlockFirst = true;
    const block = chain.freeze([trade('one'), trade('two')]);
    await until('both arrive', () => running.sightings.length === 14);
    // The bank is replaced: one transaction has another result, the other one is as before, and a third one is new.
    const [one, two] = block.transactions;
    const replaced = { ...one!, logs: [...one!.logs, 'Program log: another result'] };
    const third = { ...trade('three'), slot: block.slot };
    const bank = { ...block, blockhash: 'another', transactions: [replaced, two!, third] };
    node.send(
      ...bank.transactions.map((record) => transactionUpdate(record, 121)),
      blockUpdate(bank, 121),
      slotUpdate(block.slot, block.parentSlot, status.processed),
    );
    chain.freeze([trade('next')]);
    await until('the next arrives', () => running.sightings.length === 17);
    expect(signaturesOf(running).filter((signature, at, all) => all.indexOf(signature) < at)).toEqual([one!.signature]);
    expect(running.source.health().counts.secondBanks).toBe(1);
    expect(missedIn(running)).toEqual([]);
  });

  it('is not believed about a slot that the chain cannot have reached, and is dropped after a few faults', async () => {
    const { node, chain, running } = await startScripted();
    node.sendRaw(slotUpdate(5_000_000, 4_999_999, status.processed).bytes);
    node.sendRaw(transactionUpdate({ ...trade('far'), slot: 5_000_000 }).bytes);
    await until('they are refused', () => running.source.health().counts.malformed === 2);
    expect(running.source.health().slot).toBe(chain.slot);
    for (let count = 0; count < 8; count++) node.sendRaw(Buffer.from([0x22, 0x7f, 1]));
    await until('it is dropped', () => running.source.health().endpoints[0]!.drops === 1 && !isUp(running));
    expect(JSON.stringify(running.lines.at(-1))).toContain('dropped for');
  });

  it('sends a message that is too long: the connection ends before it is read', async () => {
    const { node, running } = await startScripted();
    node.sendRaw(Buffer.alloc(8 * 1024 * 1024));
    await until('it is down', () => !isUp(running));
    expect(running.source.health().endpoints[0]).toMatchObject({ faults: 1 });
    await until('it is up again', () => node.subscribers === 1);
  });

  it('refuses the token and repeats it: no log line has it', async () => {
    const node = await startNode();
    node.token = 'another';
    const running = start([node]);
    await until('the refusal is logged', () => running.lines.some(({ name }) => name === 'endpoint_state'));
    const text = JSON.stringify(running.lines);
    expect(text).toContain('gRPC status 16');
    expect(text).not.toContain(token);
    node.token = token;
    const chain = new ScriptedChain();
    closers.push(node.follow(chain));
    await until('it is up', () => {
      chain.freeze();
      return isUp(running);
    });
  });
});

it('a slow consumer leaves what it cannot take with the server, and loses nothing', async () => {
  const count = 4_000;
  const logs = [`Program log: ${'x'.repeat(4_000)}`];
  // The reader runs in this thread. A reader that is blocked for the length of a silence ends its connection.
  const updates = Array.from({ length: count }, (_, index) => transactionUpdate({ ...trade(`many ${index}`), logs, slot: 1_013 }));
  const { node, running } = await startScripted();
  running.holdsBack = true;
  const newest = slotUpdate(1_013, 1_012, status.processed);
  for (const [index, { bytes }] of updates.entries()) {
    node.sendRaw(bytes);
    if (index % 100 === 0) node.sendRaw(newest.bytes);
  }
  const total = updates.reduce((sum, { bytes }) => sum + bytes.length, 0);
  await until('the reader stops', () => running.sightings.length > 12 && node.waiting > 0);
  const taken = (): number => ((running.sightings.length - 12) / count) * total;
  let checks = 0;
  let before = -1;
  await until('nothing more comes', () => {
    checks = before === running.sightings.length ? checks + 1 : 0;
    before = running.sightings.length;
    return checks === 30;
  });
  expect(taken()).toBeLessThan(4 * 1024 * 1024);
  expect(total).toBeGreaterThan(16 * 1024 * 1024);
  running.release();
  await until('all arrive', () => running.sightings.length === 12 + count);
  expect(running.source.health().endpoints[0]).toMatchObject({ connects: 1, silences: 0, faults: 0 });
});
