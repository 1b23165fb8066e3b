import { readdirSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { VersionedTransaction, type VersionedTransactionResponse } from '@solana/web3.js';
import { DexParser, type ParseResult, type TradeInfo } from 'solana-dex-parser';
import { expect, it } from 'vitest';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { readTransaction, type TransactionView } from '@sluice/shared/solana/transaction/inner-events.ts';
import { usdcMint, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { programId as pumpAmm } from '@sluice/venues/pump/amm/program.ts';
import { venues } from '@sluice/venues/registry.ts';
import type { VenueEvent, VenueTrade } from '@sluice/venues/seam/venue.ts';
import { TransactionDecoder, type LocatedEvent } from '../../ingest/src/sources/decode/transaction-decoder.ts';
import { fixtureBytes, fixtureJson, fixturesFolder, fixturesNote, fixturesPresent } from './fixtures.ts';

type Json = Readonly<Record<string, unknown>>;

/** All that a trade says, in base units: what left the user's account, and what reached it. */
interface Opinion {
  readonly venue: string;
  /** Null if the parser names none. */
  readonly pool: string | null;
  readonly user: string;
  readonly inMint: string;
  readonly outMint: string;
  readonly paid: bigint;
  readonly received: bigint;
}

interface Case {
  readonly ours: Opinion;
  readonly theirs: Opinion;
  readonly trade: VenueTrade;
  readonly feePayer: string;
}

/** Why the parser says something else about a field, and in how many of the recorded trades. The first rule that holds counts. */
const rules: readonly { readonly name: string; readonly cases: number; readonly holds: (field: keyof Opinion, of: Case) => boolean }[] = [
  {
    name: 'the parser knows no coin on pump whose quote coin is not SOL',
    cases: 3,
    holds: (field, { ours, theirs }) =>
      ours.venue === 'pump' && ours.inMint === usdcMint && ['pool', 'inMint', 'paid'].includes(field) && theirs.paid === 0n,
  },
  {
    name: 'the parser names no pool of Orca, and many of pump not',
    cases: 36,
    holds: (field, { theirs }) => field === 'pool' && theirs.pool === null,
  },
  {
    name: 'the parser takes the fee payer for the user',
    cases: 57,
    holds: (field, { theirs, feePayer }) => field === 'user' && theirs.user === feePayer,
  },
  {
    name: 'the parser counts no fee of a buy on pump, and only the LP fee on PumpSwap',
    cases: 24,
    holds: (field, { ours, theirs, trade }) =>
      field === 'paid' &&
      trade.side === 'buy' &&
      ['pump', 'pump-amm'].includes(ours.venue) &&
      theirs.paid === trade.quoteAmount + sumOf(trade, ({ kind }) => kind === 'lp'),
  },
  {
    name: 'the parser counts what the pool sent; the coin withholds a part of it (Token-2022)',
    cases: 3,
    holds: (field, { ours, theirs, trade }) =>
      field === 'received' && theirs.received === ours.received + sumOf(trade, ({ kind }) => kind === 'transfer'),
  },
  {
    name: 'the parser adds what the router passes on to what the pool sent',
    cases: 1,
    holds: (field, { ours, theirs }) => field === 'received' && theirs.received === ours.received + 120_063_156n,
  },
];

/** Whole transactions, by the names of their recordings. */
function recorded(): (readonly [name: string, transaction: Json])[] {
  const blocks = [332_254_908, 285_000_037].flatMap((slot) => {
    const { result } = JSON.parse(gunzipSync(fixtureBytes(`blocks/${slot}.json.gz`)).toString()) as {
      readonly result: { readonly transactions: readonly Json[] };
    };
    return result.transactions.map((transaction, index) => [`${slot} ${index}`, { slot, ...transaction }] as const);
  });
  const files = ['venues', 'transactions'].flatMap((folder) =>
    (readdirSync(`${fixturesFolder}${folder}`, { recursive: true }) as string[])
      .filter((name) => name.endsWith('.json') && !/expected|account_/.test(name))
      .map((name) => [name, fixtureJson(`${folder}/${name}`) as Json] as const),
  );
  return [...blocks, ...files.map(([name, json]) => [name, (json['result'] ?? json) as Json] as const)];
}

const sumOf = ({ fees }: VenueTrade, counts: (fee: VenueTrade['fees'][number]) => boolean): bigint =>
  fees.reduce((sum, fee) => (counts(fee) ? sum + fee.amount : sum), 0n);

/** Events of PumpSwap name no coins; accounts 3 and 4 of its instructions do. */
function pairOf(pool: string, { instructions, inner }: TransactionView): NonNullable<VenueTrade['pair']> {
  const all = [...instructions, ...[...inner!.values()].flat()];
  const { accounts } = all.find(({ programId, accounts: [first] }) => programId === pumpAmm && first === pool)!;
  return { baseMint: accounts[3]!, quoteMint: accounts[4]! };
}

function ourOpinion(trade: VenueTrade, venue: string, view: TransactionView): Opinion {
  const { side, pool, trader, baseAmount, quoteAmount } = trade;
  const pair = trade.pair ?? pairOf(pool, view);
  const [base, quote] = [sumOf(trade, ({ coin }) => coin === 'base'), sumOf(trade, ({ coin }) => coin === 'quote')];
  return side === 'buy'
    ? { venue, pool, user: trader, inMint: pair.quoteMint, outMint: pair.baseMint, paid: quoteAmount + quote, received: baseAmount - base }
    : { venue, pool, user: trader, inMint: pair.baseMint, outMint: pair.quoteMint, paid: baseAmount + base, received: quoteAmount - quote };
}

const nameOf = new Map(venues.map(({ programId, name }) => [programId, name]));

function theirOpinion({ programId, Pool, user, inputToken, outputToken }: TradeInfo): Opinion {
  return {
    venue: nameOf.get(programId!)!,
    pool: (Pool as readonly string[] | undefined)?.[0] ?? null,
    user,
    inMint: inputToken.mint,
    outMint: outputToken.mint,
    paid: BigInt(inputToken.amountRaw),
    received: BigInt(outputToken.amountRaw),
  };
}

/** New tokens, opened pools and liquidity. The provider is left out, because the parser takes the fee payer for it. */
function ourOthers(event: VenueEvent): string[] {
  if (event.type === 'created') return [`token ${event.mint} ${event.pool} ${event.creator} ${event.name} ${event.symbol}`];
  if (event.type === 'poolCreated')
    return [`CREATE ${event.pool} ${event.baseMint} ${event.reserves!.realBase} ${event.quoteMint} ${event.reserves!.realQuote}`];
  if (event.type !== 'liquidityAdded' && event.type !== 'liquidityRemoved') return [];
  const { type, pool, pair, baseAmount, quoteAmount } = event;
  return [`${type === 'liquidityAdded' ? 'ADD' : 'REMOVE'} ${pool} ${pair!.baseMint} ${baseAmount} ${pair!.quoteMint} ${quoteAmount}`];
}

function theirOthers({ memeEvents, liquidities }: ParseResult): string[] {
  const tokens = memeEvents.filter(({ type }) => type === 'CREATE');
  return [
    ...tokens.map(({ baseMint, bondingCurve, creator, name, symbol }) => `token ${baseMint} ${bondingCurve} ${creator} ${name} ${symbol}`),
    ...liquidities.map(({ type, poolId, token0Mint, token0AmountRaw, token1Mint, token1AmountRaw }) => {
      const coins = [`${token0Mint} ${token0AmountRaw}`, `${token1Mint} ${token1AmountRaw}`];
      // The parser puts SOL last, also where it is the base.
      return `${type} ${poolId} ${(token1Mint === wrappedSolMint && token0Mint === usdcMint ? coins.toReversed() : coins).join(' ')}`;
    }),
  ];
}

/** The parser reads messages as web3.js gives them, and JSON; not base64. */
function parserInput(transaction: Json): VersionedTransactionResponse {
  if (!Array.isArray(transaction['transaction'])) return transaction as unknown as VersionedTransactionResponse;
  const { message, signatures } = VersionedTransaction.deserialize(Buffer.from(String(transaction['transaction'][0]), 'base64'));
  const decoded = { message, signatures: signatures.map((signature) => encodeBase58(signature)) };
  return { ...transaction, transaction: decoded } as unknown as VersionedTransactionResponse;
}

it.skipIf(!fixturesPresent)(
  `solana-dex-parser says the same of all recorded trades and pools, or a rule says why not (${fixturesNote})`,
  () => {
    const parser = new DexParser();
    const decoder = new TransactionDecoder(venues);
    const config = { programIds: [...nameOf.keys()], tryUnknowDEX: false, aggregateTrades: true, throwError: true };
    const counts = { transactions: 0, compared: 0, agreed: 0, ofFailed: 0, whirlpoolsWithoutEvent: 0, others: 0 };
    const explained = new Map(rules.map(({ name }) => [name, 0]));
    for (const [name, transaction] of recorded()) {
      const view = readTransaction(transaction) as TransactionView;
      const decoding = decoder.read(view);
      const parsed = parser.parseAll(parserInput(transaction), config);
      const theirTrades = parsed.trades.map(theirOpinion);
      counts.transactions++;
      if (view.err !== null) {
        expect(decoding.kind, name).toBe('failed');
        // The parser also reports what was rolled back.
        counts.ofFailed += theirTrades.length;
        continue;
      }
      const events: readonly LocatedEvent[] = decoding.kind === 'read' ? decoding.events : expect.fail(name);
      const others = events.flatMap(({ event }) => ourOthers(event));
      expect(theirOthers(parsed), name).toEqual(others);
      counts.others += others.length;
      for (const venue of nameOf.values()) {
        const ours = events.flatMap(({ event, venue: of }) => (of === venue && event.type === 'trade' ? [event] : []));
        const theirs = theirTrades.filter((opinion) => opinion.venue === venue);
        if (venue === 'orca-whirlpool' && ours.length === 0) {
          // The program of 2024 has no event, and sluice sees none of its swaps.
          counts.whirlpoolsWithoutEvent += theirs.length;
          continue;
        }
        expect(theirs.length, `trades on ${venue} in ${name}`).toBe(ours.length);
        for (const [index, trade] of ours.entries()) {
          const of = { ours: ourOpinion(trade, venue, view), theirs: theirs[index]!, trade, feePayer: view.feePayer };
          const fields = (Object.keys(of.ours) as (keyof Opinion)[]).filter((field) => of.ours[field] !== of.theirs[field]);
          counts.compared++;
          if (fields.length === 0) counts.agreed++;
          for (const field of fields) {
            const rule =
              rules.find(({ holds }) => holds(field, of))?.name ??
              expect.fail(`${name}: ${field} on ${venue}: ${of.ours[field]}, not ${of.theirs[field]}`);
            explained.set(rule, explained.get(rule)! + 1);
          }
        }
      }
    }
    expect(Object.fromEntries(explained)).toEqual(Object.fromEntries(rules.map(({ name, cases }) => [name, cases])));
    expect(counts).toEqual({ transactions: 2_465, compared: 336, agreed: 228, ofFailed: 112, whirlpoolsWithoutEvent: 6, others: 7 });
  },
);
