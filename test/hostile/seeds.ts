import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { keepTransactions } from '@sluice/shared/solana/rpc/answers/keep-transactions.ts';
import { tokenProgram } from '@sluice/shared/solana/well-known.ts';
import { readTransaction } from '@sluice/shared/solana/transaction/inner-events.ts';
import { venueByProgram, venues } from '@sluice/venues/registry.ts';
import type { DecodeContext, EmittingInstruction, Venue, VenueTrade } from '@sluice/venues/seam/venue.ts';
import { TransactionDecoder } from '../../ingest/src/sources/decode/transaction-decoder.ts';
import { fixturesFolder, fixturesPresent } from '../golden/fixtures.ts';
import { encodeTransaction } from '../simnet/rpc/encode-transaction.ts';
import { createChain } from '../simnet/sim-chain.ts';
import {
  accountUpdate,
  answerUpdate,
  blockUpdate,
  slotUpdate,
  status,
  transactionUpdate,
  type Answer,
} from '../support/servers/grpc-updates.ts';

export type Json = Record<string, unknown>;

/** A record of a venue with what its transaction shows. */
export interface RecordSeed extends Omit<DecodeContext, 'instruction'> {
  readonly venue: Venue;
  readonly from: EmittingInstruction | null;
}
export interface AccountSeed {
  readonly owner: string;
  readonly data: Uint8Array;
}

/** Valid input of each kind: of the simulated chain, and what was recorded on mainnet if the recordings are there. */
export interface Seeds {
  /** Answers of `getTransaction`, in all encodings. */
  readonly transactions: readonly Json[];
  readonly logs: readonly (readonly string[])[];
  readonly records: readonly RecordSeed[];
  readonly accounts: readonly AccountSeed[];
  readonly updates: readonly Uint8Array[];
  /** Trades that need an account. */
  readonly needing: readonly { readonly venue: Venue; readonly trade: VenueTrade }[];
}

/** Transactions of a venue that are taken from each recorded block. */
const mostOfBlock = 120;
const venuesFolder = fileURLToPath(new URL('../../venues/src/', import.meta.url));

function simulated(): { readonly answers: Json[]; readonly updates: Uint8Array[]; readonly accounts: AccountSeed[] } {
  const chain = createChain({ seed: 7, market: { completeEverySeconds: 5, boostedShare: 0.5 } });
  const [answers, updates, addresses]: [Json[], Uint8Array[], Set<string>] = [[], [], new Set()];
  chain.listen({
    onFrozen: ({ transactions }) => {
      for (const record of transactions.slice(0, 4)) {
        updates.push(transactionUpdate(record, 3).bytes);
        for (const key of record.accountKeys) addresses.add(key);
        for (const encoding of ['json', 'jsonParsed', 'base64', 'base58'] as const) {
          const encoded = encodeTransaction(record, encoding, 1);
          if (encoded.ok) answers.push({ slot: record.slot, ...(encoded.value as Json) });
        }
      }
    },
  });
  for (let slot = 0; slot < 60; slot++) chain.advance();
  const accounts = [...addresses].flatMap((address): AccountSeed[] => {
    const account = chain.account(address);
    return account === null || account.data.length === 0 ? [] : [{ owner: account.owner, data: account.data }];
  });
  return { answers, updates, accounts };
}

function* filesIn(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) yield* filesIn(`${folder}${entry.name}/`);
    else yield `${folder}${entry.name}`;
  }
}

/** Accounts without a stated owner are recorded in folders with the name of their venue. */
function recorded(): { readonly answers: Json[]; readonly accounts: AccountSeed[] } {
  const [answers, accounts]: [Json[], AccountSeed[]] = [[], []];
  if (!fixturesPresent) return { answers, accounts };
  for (const file of ['accounts/', 'transactions/', 'venues/'].flatMap((folder) => [...filesIn(`${fixturesFolder}${folder}`)])) {
    if (file.endsWith('.bin'))
      accounts.push({ owner: venues.find(({ name }) => file.includes(name))!.programId, data: readFileSync(file) });
    if (!file.endsWith('.json')) continue;
    const json = JSON.parse(readFileSync(file, 'utf8')) as { result?: Json & { value?: Json }; account?: Json };
    const account = (json.account ?? json.result?.value) as { owner: string; data: [string] } | undefined;
    const answer: Json = json.result ?? { ...json };
    if (account !== undefined) accounts.push({ owner: account.owner, data: Buffer.from(account.data[0], 'base64') });
    else if (isRecord(answer['meta'])) answers.push(answer);
  }
  for (const file of [...filesIn(`${fixturesFolder}blocks/`)].filter((name) => name.endsWith('.gz'))) {
    const block = JSON.parse(gunzipSync(readFileSync(file)).toString()) as { readonly result: { readonly transactions: Json[] } };
    keepTransactions(block, new Set(venueByProgram.keys()));
    answers.push(...block.result.transactions.slice(0, mostOfBlock));
  }
  return { answers, accounts };
}

/** All discriminators that the modules of a venue export, each before bytes of several lengths. */
async function invented(): Promise<AccountSeed[]> {
  const modules = [...filesIn(venuesFolder)].filter((file) => /\/(program|layout)\.ts$/.test(file));
  const found = modules.map(async (file) => {
    const exported = (await import(file)) as Json;
    const folder = (await import(`${file.slice(0, file.lastIndexOf('/'))}/index.ts`).catch(() => ({}))) as Json;
    const owner = Object.values(folder).find((value): value is Venue => isRecord(value) && typeof value['programId'] === 'string');
    const lengths = numbersIn(exported).filter((value) => value > 40 && value < 12_000);
    return owner === undefined
      ? []
      : [...discriminatorsIn(exported), Buffer.alloc(0)].flatMap((discriminator) =>
          [...new Set([60, 200, 420, 760, 1_300, ...lengths])].map((length) => ({
            owner: owner.programId,
            data: Buffer.concat([discriminator, Buffer.alloc(Math.max(0, length - discriminator.length), 1)]),
          })),
        );
  });
  return (await Promise.all(found)).flat();
}

const numbersIn = (value: object): number[] => Object.values(value).filter((one): one is number => Number.isInteger(one));

function discriminatorsIn(value: unknown): Uint8Array[] {
  if (value instanceof Uint8Array) return value.length === 8 ? [value] : [];
  return Array.isArray(value) || isRecord(value) ? Object.values(value).flatMap(discriminatorsIn) : [];
}

/** The venues, which note each record that they decode. */
function noting(records: RecordSeed[], needing: { venue: Venue; trade: VenueTrade }[]): Venue[] {
  return venues.map((venue) => ({
    ...venue,
    decode: (context, emit) => {
      const { record, data, text, feePayer, tokenBalances } = context;
      const found = context.instruction();
      const from = found && { ...found, accounts: [...found.accounts], data: Uint8Array.from(found.data), programId: found.programId };
      records.push({ venue, record, data: Uint8Array.from(data), text, feePayer, tokenBalances, from });
      return venue.decode(context, (event) => {
        if (event.type === 'trade' && event.needs !== undefined) needing.push({ venue, trade: event });
        emit(event);
      });
    },
  }));
}

export async function readSeeds(): Promise<Seeds> {
  const [chain, mainnet, discriminators] = [simulated(), recorded(), await invented()];
  const transactions = [...chain.answers, ...mainnet.answers];
  const [records, needing]: [RecordSeed[], { venue: Venue; trade: VenueTrade }[]] = [[], []];
  const decoder = new TransactionDecoder(noting(records, needing));
  const logs: (readonly string[])[] = [];
  for (const answer of transactions) {
    const view = readTransaction(answer);
    if (view.kind !== 'transaction') continue;
    decoder.read(view);
    if (view.logs.length > 0) logs.push(view.logs);
  }
  const isJson = ({ transaction }: Json): boolean => isRecord(transaction) && isRecord(transaction['message']);
  const pushed = mainnet.answers.flatMap((answer): Uint8Array[] => {
    try {
      return isJson(answer) ? [answerUpdate(answer as unknown as Answer, 7, 1, 9)] : [];
    } catch {
      // Parsed instructions have another form.
      return [];
    }
  });
  return {
    transactions,
    logs,
    records: [...records, ...discriminators.map(inventedRecord)],
    accounts: [...chain.accounts, ...mainnet.accounts, ...discriminators],
    updates: [
      ...chain.updates,
      ...pushed,
      slotUpdate(7, 6, status.processed).bytes,
      blockUpdate({ slot: 7, parentSlot: 6, blockhash: 'hash', transactions: [] }, 2).bytes,
      accountUpdate(7, tokenProgram, { lamports: 1n, owner: tokenProgram, data: Uint8Array.of(1), executable: false }).bytes,
    ],
    needing,
  };
}

function inventedRecord({ owner, data }: AccountSeed): RecordSeed {
  return { venue: venueByProgram.get(owner)!, record: 'event', data, text: null, feePayer: null, tokenBalances: null, from: null };
}
