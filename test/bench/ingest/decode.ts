import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { BorshCoder, type BorshEventCoder, EventParser, type Idl } from '@coral-xyz/anchor';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { readLogs } from '@sluice/shared/solana/transaction/logs.ts';
import { findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { pump } from '../../../venues/src/pump/curve/index.ts';
import { eventDiscriminators, programId } from '@sluice/venues/pump/curve/program.ts';
import { PublicKey } from '@solana/web3.js';
import type { BenchRow } from '../row.ts';
import { decodeEvent } from '../../support/events/decoded.ts';

/** Distinct mints and traders, so that no cache of either decoder can help. */
const distinct = 10_000;
const rounds = 9;
const targetFactor = 5;

/** 32 bytes that depend only on a label and a number: the same input in every run. */
function keyOf(label: string, index: number): Uint8Array {
  return createHash('sha256').update(`${label}:${index}`).digest();
}

/** One TradeEvent in the layout of 2026-10 (`buy`: 374 bytes, then 8 unknown ones), as base64. */
function tradeEvent(index: number): string {
  const data = Buffer.alloc(382);
  data.set(eventDiscriminators.trade, 0);
  data.set(keyOf('mint', index), 8);
  data.writeBigUInt64LE(9_876_542n + BigInt(index), 40);
  data.writeBigUInt64LE(159_676_340_219n + BigInt(index), 48);
  data[56] = index % 3 === 0 ? 0 : 1;
  data.set(keyOf('trader', index), 57);
  data.writeBigInt64LE(1_791_485_924n, 89);
  data.writeBigUInt64LE(44_626_284_175n, 97);
  data.writeBigUInt64LE(721_323_787_674_865n, 105);
  data.writeBigUInt64LE(14_626_284_175n, 113);
  data.writeBigUInt64LE(441_423_787_674_865n, 121);
  data.set(keyOf('fee recipient', index % 8), 129);
  data.writeBigUInt64LE(95n, 161);
  data.writeBigUInt64LE(93_828n, 169);
  data.set(keyOf('creator', index), 177);
  data.writeBigUInt64LE(30n, 209);
  data.writeBigUInt64LE(29_630n, 217);
  data.writeUInt32LE(3, 258);
  data.write('buy', 262);
  data.writeBigUInt64LE(5000n, 282);
  data.writeBigUInt64LE(46_914n, 290);
  // no shareholders at 298; the quote mint at 302 is the zero key
  data.writeBigUInt64LE(9_876_542n + BigInt(index), 334);
  data.writeBigUInt64LE(44_626_284_175n, 342);
  data.writeBigUInt64LE(14_626_284_175n, 350);
  return data.toString('base64');
}

/** The log of a buy through a router: 41 lines, as on the chain. */
function buyLog(event: string): string[] {
  const router = encodeBase58(keyOf('router', 0));
  const token = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
  const system = '11111111111111111111111111111111';
  const fees = 'pfeeUxB6jkeY1Hxd7CsFCAjcbHA9rWtchMGdZ6VojVZ';
  const budget = 'ComputeBudget111111111111111111111111111111';
  const empty = (id: string, depth: number): string[] => [`Program ${id} invoke [${depth}]`, `Program ${id} success`];
  const busy = (id: string, depth: number, ...inside: string[]): string[] => [
    `Program ${id} invoke [${depth}]`,
    ...inside,
    `Program ${id} consumed 3360 of 99493 compute units`,
    `Program ${id} success`,
  ];
  const pumpLines = [
    'Program log: Instruction: Buy',
    ...busy(fees, 3, 'Program log: Instruction: GetFeesWithQuoteMint', `Program return: ${fees} AAAAAAAAAABfAAAAAAAAAB4AAAAAAAAA`),
    ...busy(token, 3, 'Program log: Instruction: TransferChecked'),
    ...[0, 1, 2, 3].flatMap(() => empty(system, 3)),
    `Program data: ${event}`,
    ...busy(programId, 3),
  ];
  return [
    ...empty(budget, 1),
    ...empty(budget, 1),
    ...busy('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL', 1, 'Program log: CreateIdempotent'),
    ...busy(router, 1, 'Program log: Instruction: Buy', ...busy(programId, 2, ...pumpLines)),
    ...empty(system, 1),
    ...empty(system, 1),
  ];
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

/** Median microseconds for one call, over interleaved rounds, so that a slow moment of the machine affects all equally. */
export function measure(cases: readonly (() => number)[], before = (): void => undefined): number[] {
  const times = cases.map((): number[] => []);
  for (const warmUp of cases) warmUp();
  for (let round = 0; round < rounds; round++) {
    for (const [index, batch] of cases.entries()) {
      before();
      const startedAt = process.hrtime.bigint();
      const calls = batch();
      times[index]!.push(Number(process.hrtime.bigint() - startedAt) / 1000 / calls);
    }
  }
  return times.map(median);
}

function anchorCoder(): BorshCoder {
  const sdk = createRequire(import.meta.url).resolve('@pump-fun/pump-sdk');
  return new BorshCoder(JSON.parse(readFileSync(new URL('../src/idl/pump.json', `file://${sdk}`), 'utf8')) as Idl);
}

/** Fails if the two decoders disagree: the speed of a wrong result means nothing. */
function assertSame(texts: readonly string[], coder: BorshEventCoder): void {
  for (const text of texts.slice(0, 200)) {
    const ours = decodeEvent(pump, Buffer.from(text, 'base64'));
    const theirs = coder.decode(text)?.data as Record<string, { toString(radix?: number): string }> | undefined;
    const same =
      ours.kind === 'decoded' &&
      ours.event.type === 'trade' &&
      theirs !== undefined &&
      ours.event.pair?.baseMint === theirs['mint']?.toString() &&
      ours.event.trader === theirs['user']?.toString() &&
      ours.event.quoteAmount.toString() === theirs['sol_amount']?.toString(10) &&
      ours.event.reserves.virtualBase.toString() === theirs['virtual_token_reserves']?.toString(10);
    if (!same) throw new Error('our decoder and anchor disagree');
  }
}

/**
 * Addresses derived in a round. Each costs two hashes and two curve checks on average; with web3.js this takes a third of a millisecond.
 */
const derivedARound = 300;
/** Logs in a round of anchor's parser, which takes most of a second for all. */
const parsedARound = 1_000;

/** One of our figures next to the reference's in the same rounds. */
function row(name: string, oursUs: number, theirsUs: number, reference: string, target: number, note?: string): BenchRow {
  const factor = theirsUs / oursUs;
  return {
    name,
    figure: `${oursUs.toFixed(2)} µs; ${factor.toFixed(1)} times ${reference} (${theirsUs.toFixed(2)} µs)`,
    target: `≥ ${target} times ${reference}`,
    pass: factor >= target,
    ...(note === undefined ? {} : { note }),
  };
}

interface Inputs {
  readonly texts: readonly string[];
  readonly logs: readonly string[][];
  readonly keys: readonly Uint8Array[];
}

/** The measured loops, ours and the reference's in pairs; each returns how many calls it made. */
function batches({ texts, logs, keys }: Inputs, coder: BorshCoder): (() => number)[] {
  const parser = new EventParser(new PublicKey(programId), coder);
  const seed = Buffer.from('bonding-curve');
  const program = new PublicKey(programId);
  let done = 0;
  // As in ingest: one context for all events.
  const context = {
    record: 'event' as const,
    data: new Uint8Array(0) as Uint8Array,
    text: null,
    instruction: () => null,
    feePayer: null,
    tokenBalances: null,
  };
  const onEvent = (): void => void done++;
  const decode = (data: Uint8Array): void => {
    context.data = data;
    pump.decode(context, onEvent);
  };
  const counted = (calls: number): number => {
    if (done === 0) throw new Error('nothing was decoded');
    return calls;
  };
  return [
    () => {
      for (const text of texts) decode(Buffer.from(text, 'base64'));
      return counted(distinct);
    },
    () => {
      for (const text of texts) if (coder.events.decode(text) !== null) done++;
      return counted(distinct);
    },
    () => {
      for (const lines of logs) {
        readLogs(lines, (emitter, _path, data) => {
          if (emitter === programId) decode(data);
        });
      }
      return counted(distinct);
    },
    () => {
      for (const lines of logs.slice(0, parsedARound)) for (const event of parser.parseLogs(lines)) done += event.name.length;
      return counted(parsedARound);
    },
    () => {
      for (const key of keys) done += encodeBase58(key, 0, 32).length;
      return counted(distinct);
    },
    () => {
      for (const key of keys) done += new PublicKey(key).toBase58().length;
      return counted(distinct);
    },
    () => {
      for (const key of keys.slice(0, derivedARound)) done += findProgramAddress([seed, key], programId).bump;
      return counted(derivedARound);
    },
    () => {
      for (const key of keys.slice(0, derivedARound)) done += PublicKey.findProgramAddressSync([seed, key], program)[1];
      return counted(derivedARound);
    },
  ];
}

/** Decoding on one core, each next to the library that would otherwise do it. */
export function run(): Promise<BenchRow[]> {
  const texts = Array.from({ length: distinct }, (_, index) => tradeEvent(index));
  // Through JSON, as in notifications: concatenated strings are slower to read than parsed ones.
  const logs = texts.map((text) => JSON.parse(JSON.stringify(buyLog(text))) as string[]);
  const keys = Array.from({ length: distinct }, (_, index) => keyOf('mint', index));
  const coder = anchorCoder();
  assertSame(texts, coder.events);
  const us = measure(batches({ texts, logs, keys }, coder));
  const inputs = `${distinct} distinct mints and traders, median of ${rounds} interleaved rounds`;
  return Promise.resolve([
    row('Decoding a TradeEvent from base64', us[0]!, us[1]!, 'anchor 0.32.1', targetFactor, inputs),
    row('Decoding the log (41 lines) of a pump buy through a router', us[2]!, us[3]!, "anchor's EventParser", targetFactor),
    row('Encoding an address in base58', us[4]!, us[5]!, 'web3.js 1.99', targetFactor),
    row('Computing the address of the bonding curve of a new mint', us[6]!, us[7]!, 'web3.js 1.99', 2),
  ]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.table(await run());
