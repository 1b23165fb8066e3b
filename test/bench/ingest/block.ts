import { gunzipSync } from 'node:zlib';
import { DexParser } from 'solana-dex-parser';
import type { VersionedTransactionResponse } from '@solana/web3.js';
import { venues } from '@sluice/venues/registry.ts';
import { blockReader, type BlockItem } from '../../../ingest/src/sources/blocks/block-reader.ts';
import { fixtureBytes, fixturesPresent } from '../../golden/fixtures.ts';
import { collectGarbage } from '../../support/garbage.ts';
import type { BenchRow } from '../row.ts';
import { measure } from './decode.ts';

interface Block<Item> {
  readonly result: { readonly transactions: readonly Item[] };
}

const target = 10;
const programs = venues.map(({ programId }) => programId);
const keep = new Set(programs);
const parser = new DexParser();
/** What costs the parser least: our programs alone, and no guesses about others. */
const config = { programIds: programs, tryUnknowDEX: false, aggregateTrades: true };

function tradesByUs(text: string): number {
  const answer = JSON.parse(text) as Block<BlockItem>;
  blockReader.read(answer, keep);
  let trades = 0;
  for (const { contents } of answer.result.transactions) {
    if (contents?.kind === 'read') for (const { event } of contents.events) if (event.type === 'trade') trades++;
  }
  return trades;
}

/** The parser also reports trades of failed transactions; they do not count. */
function tradesByParser(text: string): number {
  let trades = 0;
  for (const transaction of (JSON.parse(text) as Block<VersionedTransactionResponse>).result.transactions) {
    const parsed = parser.parseAll({ ...transaction, slot: 1, blockTime: 1 }, config);
    if (transaction.meta?.err === null) trades += parsed.trades.length;
  }
  return trades;
}

/** The same block with those transactions alone of which we publish something. */
function withoutOthers(text: string): string {
  const answer = JSON.parse(text) as Block<BlockItem>;
  blockReader.read(answer, keep);
  const ours = new Set(answer.result.transactions.map(({ signature }) => signature));
  const { transactions } = (JSON.parse(text) as Block<VersionedTransactionResponse>).result;
  return JSON.stringify({ result: { transactions: transactions.filter((one) => ours.has(one.transaction.signatures[0]!)) } });
}

/** A whole recorded block on one core, next to a parser of transactions that other applications use. */
export function run(): Promise<BenchRow[]> {
  if (!fixturesPresent) throw new Error('the recorded block is not in ../shared/fixtures');
  const whole = gunzipSync(fixtureBytes('blocks/332254908.json.gz')).toString();
  const some = withoutOthers(whole);
  const trades = tradesByUs(whole);
  const once = (count: (text: string) => number, text: string) => (): number => {
    if (count(text) !== trades) throw new Error('the two readers disagree about the number of trades');
    return 1;
  };
  // The first blocks after the start of a process are slower for both.
  for (let warmUp = 0; warmUp < 15; warmUp++) once(tradesByUs, whole)();
  // Each pays for its own garbage.
  const cases = [once(tradesByUs, whole), once(tradesByParser, whole), once(tradesByUs, some), once(tradesByParser, some)];
  const [ours, theirs, oursOfSome, theirsOfSome] = measure(cases, collectGarbage).map((us) => us / 1_000) as [
    number,
    number,
    number,
    number,
  ];
  return Promise.resolve([
    {
      name: 'A recorded block of 1,862 transactions, from JSON to events',
      figure: `${ours.toFixed(1)} ms; ${(theirs / ours).toFixed(1)} times solana-dex-parser (${theirs.toFixed(0)} ms)`,
      target: `≥ ${target} times solana-dex-parser`,
      pass: theirs / ours >= target,
      note: `both parse the JSON and find ${trades} trades, in interleaved rounds; with the transactions of the venues alone, ${oursOfSome.toFixed(1)} and ${theirsOfSome.toFixed(0)} ms`,
    },
  ]);
}
