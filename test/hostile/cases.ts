import { BlockFeed } from '../../ingest/src/sources/pubsub/block-feed.ts';
import { blockReader } from '../../ingest/src/sources/blocks/block-reader.ts';
import { readUpdate } from '../../ingest/src/sources/grpc/messages.ts';
import { UpdateDecoder } from '../../ingest/src/sources/grpc/read-update.ts';
import { digestLines, readLogsHead, readLogsLines } from '../../ingest/src/sources/pubsub/logs.ts';
import { noCounts } from '../../ingest/src/sources/source.ts';
import { TransactionDecoder, type Decoding } from '../../ingest/src/sources/decode/transaction-decoder.ts';
import type { Sighting } from '../../ingest/src/sources/sighting.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { decodeMetaplex } from '@sluice/shared/solana/tokens/metaplex.ts';
import { decodeMint } from '@sluice/shared/solana/tokens/mint.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import { readTransaction } from '@sluice/shared/solana/transaction/inner-events.ts';
import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { venueByProgram, venues } from '@sluice/venues/registry.ts';
import type { QuotedTrade } from '@sluice/venues/seam/quoting.ts';
import type { EmittingInstruction, VenueEvent, VenueTrade } from '@sluice/venues/seam/venue.ts';
import { createHarness, type Harness } from '../ingest/harness.ts';
import { logsFrame } from '../ingest/log-frames.ts';
import { addressOf } from '../ingest/pump-frames.ts';
import { diceOf, mutateBytes, mutateJson, mutateLog, mutateText, oneOf, type Dice } from './mutate.ts';
import type { AccountSeed, RecordSeed, Seeds } from './seeds.ts';

/** What a case found: its kind and what became of the input. */
export interface Outcome {
  readonly kind: string;
  readonly became: string;
}

/** Transactions that one pipeline gets, so that memory has a bound. */
const casesOfPipeline = 400;
const programs = [...venueByProgram.keys()];
const textPrefixes = venues.flatMap(({ records: { textPrefix } }) => (textPrefix === null ? [] : [`Program log: ${textPrefix}`]));
const somePool = addressOf('pool');
const someSignature = encodeBase58(Buffer.alloc(64, 9));

/** Runs mutated input of each kind through the code that reads it. A fault is an exception. */
export class Cases {
  readonly #seeds: Seeds;
  readonly #seed: number;
  readonly #decoder = new TransactionDecoder(venues);
  #updates = new UpdateDecoder(venues);
  #harness: Harness = createHarness();
  #shown = 0;
  /** By kind, with its share of a thousand cases. */
  readonly #kinds: readonly (readonly [kind: string, share: number, run: (dice: Dice) => string])[] = [
    ['transaction', 170, (dice) => this.#transaction(dice)],
    ['log', 200, (dice) => this.#log(dice)],
    ['record', 300, (dice) => this.#record(dice)],
    ['account', 170, (dice) => this.#account(dice)],
    ['pool', 60, (dice) => this.#pool(dice)],
    ['mint', 30, (dice) => this.#mint(dice)],
    ['update', 60, (dice) => this.#update(dice)],
    ['block', 10, (dice) => this.#block(dice)],
  ];

  readonly #owners: readonly string[];
  /** Accounts that are pools or curves, by their program. */
  readonly #pools: ReadonlyMap<string, readonly AccountSeed[]>;
  readonly #byProgram = new Map<string, readonly AccountSeed[]>();

  constructor(seeds: Seeds, seed: number) {
    this.#seeds = seeds;
    const pools = seeds.accounts.filter(({ owner, data }) =>
      ['decoded', 'more'].includes(venueByProgram.get(owner)?.decodeAccount(data, () => data).kind ?? ''),
    );
    this.#pools = new Map(
      venues
        .map(({ programId }) => [programId, pools.filter(({ owner }) => owner === programId)] as const)
        .filter(([, some]) => some.length > 0),
    );
    this.#owners = [...new Set(seeds.accounts.map(({ owner }) => owner))].filter(
      (owner) => venueByProgram.has(owner) || owner === tokenProgram,
    );
    this.#seed = seed;
  }

  /** Runs case number `at`; the same number gives the same input. */
  run(at: number): Outcome {
    const dice = diceOf(this.#seed, at);
    let place = dice(1_000);
    for (const [kind, share, run] of this.#kinds) {
      if (place < share) return { kind, became: run(dice) };
      place -= share;
    }
    throw new Error('The shares are not a thousand.');
  }

  #transaction(dice: Dice): string {
    const view = readTransaction(mutateJson(oneOf(this.#seeds.transactions, dice), dice));
    if (view.kind !== 'transaction') return view.kind;
    const read = this.#decoder.read(view);
    check(read);
    const { signature, slot } = view;
    this.#publish({
      kind: 'whole',
      source: 'grpc',
      signature,
      slot: slot ?? 7,
      commitment: 'processed',
      receivedUs: 1,
      late: false,
      transaction: read,
    });
    return read.kind;
  }

  /** Whole frames now and then, because they take longer than their lines. */
  #log(dice: Dice): string {
    const lines = mutateLog(oneOf(this.#seeds.logs, dice), dice);
    check(this.#decoder.readLogs(lines));
    if (dice(8) > 0) return 'read';
    const text = logsFrame(someSignature, 7, lines);
    const frame = Buffer.from(dice(2) === 0 ? text : mutateText(text, dice));
    const head = readLogsHead(frame);
    if (head === null) return 'no frame';
    digestLines(frame, head);
    const logs = readLogsLines(frame, head, textPrefixes);
    if (logs === null) return 'no lines';
    this.#publish({ kind: 'logs', source: 'logs', signature: head.signature, slot: 7, commitment: 'processed', receivedUs: 1, logs });
    return 'frame';
  }

  #record(dice: Dice): string {
    const seed = oneOf(this.#seeds.records, dice);
    const { venue, record, tokenBalances } = seed;
    const encoded = seed.text?.split(' ').at(-1) ?? '';
    const bytes = mutateBytes(seed.text === null ? seed.data : Buffer.from(encoded, 'base64'), dice);
    const isText = seed.text !== null;
    const prefix = isText ? seed.text.slice(0, -encoded.length) : '';
    const from = dice(3) === 0 ? mutateInstruction(seed, dice) : seed.from;
    const context = {
      record,
      data: isText ? new Uint8Array(0) : bytes,
      text: isText ? prefix + Buffer.from(bytes).toString('base64') : null,
      feePayer: dice(10) === 0 ? null : seed.feePayer,
      tokenBalances: tokenBalances !== null && dice(4) === 0 ? tokenBalances.slice(0, dice(tokenBalances.length + 1)) : tokenBalances,
      instruction: () => from,
    };
    const { kind } = venue.decode(context, checkEvent);
    return kind;
  }

  #account(dice: Dice): string {
    const { owner, data } = this.#account$(dice);
    const venue = venueByProgram.get(owner);
    if (venue === undefined) return 'of no venue';
    const read = (): Uint8Array | null => (dice(4) === 0 ? null : this.#account$(dice, venue.programId).data);
    const decoded = venue.decodeAccount(data, read);
    structuredClone(decoded);
    this.#harness.pipeline.takeAccount({ address: somePool, owner, data, slot: 7, receivedUs: 1 });
    const numbers = venue.constantsOf?.(data, read, somePool);
    if (numbers?.kind !== 'decoded') return decoded.kind;
    const { trade } = oneOf(
      this.#seeds.needing.filter((one) => one.venue.name === venue.name).concat({ venue, trade: null as never }),
      dice,
    );
    if (trade !== null) checkEvent(venue.completeTrade!(trade, numbers.constants));
    return 'constants';
  }

  /** Quotes of a pool with its vaults; further accounts are any of its program. */
  #pool(dice: Dice): string {
    const venue = oneOf(venues, dice);
    const { name, quoting, programId } = venue;
    if (quoting === null) return 'no quotes';
    const real = oneOf(this.#pools.get(programId) ?? this.#ofOwner(programId), dice).data;
    const found = new Map<string, AccountSeed>();
    found.set(somePool, { owner: programId, data: dice(2) === 0 ? real : mutateBytes(real, dice) });
    const decoded = venue.decodeAccount(found.get(somePool)!.data, () => this.#account$(dice, programId).data);
    const pool = decoded.kind === 'decoded' ? decoded.account : null;
    const vaultOf = (mint: string): AccountSeed => ({ owner: tokenProgram, data: vault(mint, somePool, dice) });
    if (pool?.type === 'pool') found.set(pool.baseVault, vaultOf(pool.baseMint)).set(pool.quoteVault, vaultOf(pool.quoteMint));
    const lookup = (address: string) => {
      if (!found.has(address)) found.set(address, this.#account$(dice, programId));
      return { ...found.get(address)!, lamports: 1_000_000n };
    };
    const mint = { address: pool?.baseMint ?? somePool, decimals: 6, supply: 1_000_000_000_000_000n, transferFee: null };
    const open = (others: readonly string[]) => quoting.open(mint, [somePool, ...others], lookup, (address) => ({ ...mint, address }));
    let opened = open(pool?.type === 'pool' ? [pool.baseVault, pool.quoteVault] : [somePool, wrappedSolMint]);
    for (let more = 0; opened.kind === 'more' && more < 4; more++) opened = open(opened.addresses);
    if (opened.kind !== 'open') return `of ${name} ${opened.kind}`;
    const trade: QuotedTrade = { exact: oneOf(['quoteIn', 'baseOut', 'baseIn'], dice), amount: (1n << BigInt(dice(65))) - BigInt(dice(2)) };
    return opened.pool.quote(trade, { slot: 7, unixTimeS: dice(2_000_000_000) }).ok ? `of ${name} quoted` : `of ${name} refused`;
  }

  #mint(dice: Dice): string {
    const { owner, data } = this.#account$(dice);
    const found = [decodeMint(owner, data), decodeTokenAccount(owner, data), decodeMetaplex(owner, data)];
    return found.some((one) => one !== null) ? 'read' : 'not one';
  }

  #update(dice: Dice): string {
    const update = readUpdate(Buffer.from(mutateBytes(oneOf(this.#seeds.updates, dice), dice)));
    if (update === 'malformed') return update;
    const read = this.#updates.read(update);
    structuredClone(read);
    if (read?.kind === 'transaction' && read.contents !== null) check(read.contents);
    return read?.kind ?? 'nothing';
  }

  #block(dice: Dice): string {
    const transactions = Array.from({ length: 1 + dice(3) }, () => oneOf(this.#seeds.transactions, dice));
    const block = {
      blockhash: 'x',
      parentSlot: 6,
      blockTime: 5,
      transactions: dice(2) === 0 ? mutateJson(transactions, dice) : transactions,
    };
    const value = { slot: 7, err: null, block };
    const message = { jsonrpc: '2.0', method: 'blockNotification', params: { result: { context: { slot: 7 }, value }, subscription: 1 } };
    let text = JSON.stringify(dice(2) === 0 ? message : { id: 1, result: block });
    if (dice(2) === 0) text = mutateText(text, dice);
    const answer = parsed(text);
    if (answer === undefined) return 'no JSON';
    blockReader.read(answer, new Set(programs));
    const fail = (): void => undefined;
    const sink = { sighting: () => undefined, block: fail, slot: fail, failed: fail, isRepeat: () => false } as unknown as Parameters<
      BlockFeed['takeFrame']
    >[2]['sink'];
    const of = { index: 0, sink, counts: noCounts(), isPossible: () => true, checkAsked: fail, malformed: fail, missed: fail };
    new BlockFeed(programs).takeFrame(Buffer.from(text), 1, of);
    structuredClone(answer);
    return 'read';
  }

  #account$(dice: Dice, of?: string): AccountSeed {
    const { owner, data } = this.#ofProgram(of ?? oneOf(this.#owners, dice), dice);
    return { owner, data: dice(4) === 0 ? data : mutateBytes(data, dice) };
  }

  /** Real accounts come first, and are few. */
  #ofProgram(program: string, dice: Dice): AccountSeed {
    const some = this.#ofOwner(program);
    return some[dice(2) === 0 ? dice(Math.min(some.length, 24)) : dice(some.length)]!;
  }

  #ofOwner(program: string): readonly AccountSeed[] {
    let some = this.#byProgram.get(program);
    if (some === undefined) this.#byProgram.set(program, (some = this.#seeds.accounts.filter(({ owner }) => owner === program)));
    return some;
  }

  /** What nothing refused becomes events for clients. */
  #publish(sighting: Sighting): void {
    if (++this.#shown % casesOfPipeline === 0) {
      this.#harness = createHarness();
      this.#updates = new UpdateDecoder(venues);
    }
    this.#harness.pipeline.takeNew(sighting);
  }
}

/** A token account with any balance. */
function vault(mint: string, owner: string, dice: Dice): Uint8Array {
  const data = Buffer.alloc(165);
  data.set(addressBytes(mint));
  data.set(addressBytes(owner), 32);
  data.writeBigUInt64LE(BigInt(dice(2 ** 32)) << BigInt(dice(32)), 64);
  data[108] = 1;
  return data;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function mutateInstruction({ from }: RecordSeed, dice: Dice): EmittingInstruction | null {
  if (from === null || dice(6) === 0) return null;
  const accounts = dice(2) === 0 ? from.accounts.slice(0, dice(from.accounts.length + 1)) : from.accounts;
  const inner = from.inner.flatMap((one) =>
    dice(5) === 0 ? [] : [dice(5) === 0 ? { ...plain(one), data: mutateBytes(one.data, dice) } : one],
  );
  return {
    ...from,
    accounts,
    data: dice(2) === 0 ? mutateBytes(from.data, dice) : from.data,
    inner,
    at: dice(4) === 0 ? dice(9) - 1 : from.at,
  };
}

const plain = ({ programId, accounts, data, stackHeight }: EmittingInstruction['inner'][number]) => ({
  programId,
  accounts,
  data,
  stackHeight,
});

/** Threads pass on what was read. */
function check(decoding: Decoding): void {
  if (decoding.kind !== 'read') return;
  for (const { event } of structuredClone(decoding).events) checkEvent(event);
}

/** What holds for each event, even if its bytes are random. */
function checkEvent(event: VenueEvent): void {
  if (event.timestamp !== null && !(Number.isSafeInteger(event.timestamp) && event.timestamp >= 0)) throw new Error('an impossible time');
  if (event.type === 'trade') checkTrade(event);
  if (event.type === 'liquidityAdded' || event.type === 'liquidityRemoved') {
    if (event.baseAmount < 0n || event.quoteAmount < 0n) throw new Error('a negative amount of liquidity');
  }
}

function checkTrade({ priceBase, priceQuote, baseAmount, quoteAmount, fees, feeTotal, reserves, needs, depth }: VenueTrade): void {
  const amounts = [baseAmount, quoteAmount, feeTotal, depth ?? 0n, ...fees.map(({ amount }) => amount)];
  if (amounts.some((amount) => amount < 0n)) throw new Error('a negative amount');
  if (needs === undefined && (priceBase <= 0n || priceQuote <= 0n)) throw new Error('a price of nothing');
  if (reserves !== null && (reserves.virtualBase <= 0n || reserves.virtualQuote <= 0n)) throw new Error('a price without reserves');
}
