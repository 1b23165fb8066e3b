import { decodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { eventDiscriminators, programId as pumpProgram } from '@sluice/venues/pump/curve/program.ts';
import type { TransactionRecord } from '../simnet/chain.ts';
import type { Random } from '../simnet/market/random.ts';
import { signatureIn } from '../support/chain/trading-world.ts';

/** A JSON-RPC call as the endpoint receives it. */
export interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** What an endpoint sends: `body` unchanged, after `delayMs`; null cuts the connection. */
export interface Reply {
  readonly status?: number;
  readonly body: string | Uint8Array | null;
  readonly delayMs?: number;
}

type Json = Record<string, unknown>;
/** The true answer, `{ jsonrpc, id, result | error }`. */
export type Truth = () => Promise<Json>;
/** Null: the truth. */
export type HttpLie = (call: Call, truth: Truth, random: Random) => Promise<Reply | null>;

/** A lie about one method's true `result`, which it may change in place. */
type ResultLie = (result: unknown, call: Call, random: Random) => unknown;

/** Ahead of the honest heights: more than the life of every blockhash. */
const blocksAhead = 1_000;
const factor = 10n;
/** In an account that claims to be a bonding curve: virtual tokens and virtual quote, u64 each. */
const [tokensAt, quoteAt] = [8, 16];
const lateMs = 3_000;
const longAnswer = Buffer.concat([
  Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":1},"value":{"blockhash":"'),
  Buffer.alloc(60 * 1024 * 1024, 0x31),
  Buffer.from('","lastValidBlockHeight":1}}}'),
]);
const deepAnswer = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${'['.repeat(200_000)}${']'.repeat(200_000)}}`);

const inJson = (value: unknown): Reply => ({ body: JSON.stringify(value) });
const valueOf = (result: unknown): Json => (result as { readonly value: Json }).value;

/** Lies about these methods, and the truth about all others. A call that really failed stays failed. */
function about(lies: Readonly<Record<string, ResultLie>>): HttpLie {
  return async (call, truth, random) => {
    const lie = lies[call.method];
    if (lie === undefined) return null;
    const answer = await truth();
    return inJson('result' in answer ? { ...answer, result: lie(answer['result'], call, random) } : answer);
  };
}

/** Finds every account of this form on its way, at any place in the answer. */
export interface AccountJson {
  readonly owner: string;
  lamports: number;
  readonly data: [string, string];
}

function isAccount(value: unknown): value is AccountJson {
  return typeof value === 'object' && value !== null && 'owner' in value && 'data' in value && Array.isArray(value.data);
}

/** Its bytes if it is a bonding curve's account; null otherwise. */
function curveBytes({ owner, data }: AccountJson): Buffer | null {
  const bytes = Buffer.from(data[0], 'base64');
  return owner === pumpProgram && bytes.length >= 81 && bytes.length < 256 ? bytes : null;
}

/** A curve on which a token costs a tenth or ten times the real price; other accounts are unchanged. */
export function repricedCurve(account: AccountJson, how: 'cheap' | 'dear'): void {
  const bytes = curveBytes(account);
  if (bytes === null) return;
  const [grown, shrunk] = how === 'cheap' ? [tokensAt, quoteAt] : [quoteAt, tokensAt];
  bytes.writeBigUInt64LE(bytes.readBigUInt64LE(grown) * factor, grown);
  bytes.writeBigUInt64LE(bytes.readBigUInt64LE(shrunk) / factor, shrunk);
  account.data[0] = bytes.toString('base64');
}

function accountsLie(change: (account: AccountJson) => void): HttpLie {
  const lie: ResultLie = (result) => {
    const { value } = result as { readonly value: unknown };
    for (const account of Array.isArray(value) ? value : [value]) if (isAccount(account)) change(account);
    return result;
  };
  return about({ getMultipleAccounts: lie, getAccountInfo: lie });
}

const sysvarOwner = 'Sysvar1111111111111111111111111111111111111';
function rentTimesTen(account: AccountJson): void {
  if (account.owner !== sysvarOwner) return;
  const bytes = Buffer.from(account.data[0], 'base64');
  if (bytes.length !== 17) return;
  bytes.writeBigUInt64LE(bytes.readBigUInt64LE(0) * factor, 0);
  account.data[0] = bytes.toString('base64');
}

function statuses(statusAt: (slot: number) => Json | null): ResultLie {
  return (result, { params }) => {
    const { context } = result as { readonly context: { readonly slot: number } };
    return { context, value: (params[0] as readonly string[]).map(() => statusAt(context.slot)) };
  };
}

/** A blockhash that has expired: an order with it would be `expired`. */
const ahead: Readonly<Record<string, ResultLie>> = {
  getLatestBlockhash: (result) => {
    const value = valueOf(result);
    value['lastValidBlockHeight'] = Number(value['lastValidBlockHeight']) + blocksAhead;
    return result;
  },
  getEpochInfo: (result) => ({ ...(result as Json), blockHeight: Number((result as Json)['blockHeight']) + blocksAhead }),
  getBlockHeight: (result) => Number(result) + blocksAhead,
  isBlockhashValid: (result) => ({ ...(result as Json), value: false }),
};
const unseen: Readonly<Record<string, ResultLie>> = {
  getSignatureStatuses: statuses(() => null),
  getTransaction: () => null,
  getSignaturesForAddress: () => [],
};
const failure = { InstructionError: [2, { Custom: 6002 }] };

/** Program data of an event with ten times the tokens, if it is long enough for a trade's. After the head (8) and the mint (32): SOL, then tokens. */
function enlargedEvent(bytes: Buffer, headLength: number): Buffer {
  const at = headLength + 40;
  if (bytes.length > at + 52) bytes.writeBigUInt64LE((bytes.readBigUInt64LE(at) * factor) & ((1n << 64n) - 1n), at);
  return bytes;
}

function enlargedLine(line: string): string {
  const start = 'Program data: ';
  return line.startsWith(start) ? `${start}${enlargedEvent(Buffer.from(line.slice(start.length), 'base64'), 8).toString('base64')}` : line;
}

/** In a trade's event: the trader, and the virtual reserves after the trade. */
const [traderAt, tradeQuoteAt, tradeTokensAt] = [57, 97, 105];

/**
 * A log line with a trade that left another price, a hundredth or a hundred times the real one, and, with `by`, of another trader. Other lines are
 * unchanged.
 */
export function falseTrade(line: string, { how, by }: { readonly how: 'cheap' | 'dear'; readonly by?: string }): string {
  const start = 'Program data: ';
  if (!line.startsWith(start)) return line;
  const bytes = Buffer.from(line.slice(start.length), 'base64');
  if (!bytes.subarray(0, 8).equals(eventDiscriminators.trade)) return line;
  const [grown, shrunk] = how === 'cheap' ? [tradeTokensAt, tradeQuoteAt] : [tradeQuoteAt, tradeTokensAt];
  // An event repeats some of its amounts.
  for (const [at, change] of [
    [grown, (amount: bigint) => amount * factor] as const,
    [shrunk, (amount: bigint) => amount / factor] as const,
  ]) {
    const [before, after] = [Buffer.from(bytes.subarray(at, at + 8)), Buffer.alloc(8)];
    after.writeBigUInt64LE(change(before.readBigUInt64LE()));
    for (let found = bytes.indexOf(before); found !== -1; found = bytes.indexOf(before, found + 8)) after.copy(bytes, found);
  }
  if (by !== undefined) bytes.set(decodeBase58(by)!, traderAt);
  return `${start}${bytes.toString('base64')}`;
}

/** A transaction with ten times the tokens in the events of the program, in its log and in the calls to itself. */
export function enlarged({ logs, innerInstructions }: TransactionRecord): Pick<TransactionRecord, 'logs' | 'innerInstructions'> {
  return {
    logs: logs.map(enlargedLine),
    innerInstructions: innerInstructions.map(({ index, instructions }) => ({
      index,
      // A call to itself has a head of its own before the event's.
      instructions: instructions.map((one) => ({ ...one, data: enlargedEvent(Buffer.from(one.data), 16) })),
    })),
  };
}

/** What it reports as the effect of an order: ten times the tokens, in balances and in the program's own event. */
function falseFill(result: unknown): unknown {
  if (result === null) return null;
  const { meta } = result as {
    readonly meta: { postTokenBalances?: { uiTokenAmount: { amount: string } }[]; logMessages?: string[] | null };
  };
  for (const { uiTokenAmount } of meta.postTokenBalances ?? []) uiTokenAmount.amount = String(BigInt(uiTokenAmount.amount) * factor);
  meta.logMessages = (meta.logMessages ?? []).map(enlargedLine);
  return result;
}

/** Text instead of numbers, numbers instead of text, lists instead of objects: valid JSON of another form. */
function mistyped(value: unknown, random: Random): unknown {
  if (random.chance(0.1)) return random.pick<unknown>([null, -1, 1e308, '', [], {}, 'NaN', true, [[[]]]]);
  if (Array.isArray(value)) return random.chance(0.2) ? {} : value.map((one) => mistyped(one, random));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mistyped(one, random)]));
  if (!random.chance(0.5)) return value;
  return typeof value === 'number' ? String(value) : typeof value === 'string' ? value.length : 'true';
}

/** Repeats the first answer to each question forever. */
function repeating(): HttpLie {
  const most = 2_000;
  const first = new Map<string, Json>();
  return async (call, truth) => {
    const name = `${call.method} ${JSON.stringify(call.params)}`;
    const known = first.get(name);
    if (known !== undefined) return inJson({ ...known, id: call.id });
    const answer = await truth();
    if (first.size < most) first.set(name, answer);
    return inJson(answer);
  };
}

/** Claims that it sent a message, and does not send it. */
const dropped: HttpLie = async ({ id, method, params }) =>
  method === 'sendTransaction' ? inJson({ jsonrpc: '2.0', id, result: signatureIn(String(params[0])) }) : null;

/** False values in the correct form. */
export const falseAnswers: Readonly<Record<string, HttpLie>> = {
  'every order is too old and unseen': async (call, truth, random) =>
    (await dropped(call, truth, random)) ?? about({ ...ahead, ...unseen })(call, truth, random),
  'heights far ahead': about(ahead),
  'a blockhash that never was, and old heights': about({
    getLatestBlockhash: (result) => {
      const value = valueOf(result);
      value['blockhash'] = `1111${String(value['blockhash']).slice(4)}`;
      value['lastValidBlockHeight'] = Number(value['lastValidBlockHeight']) - 100;
      return result;
    },
    getEpochInfo: (result) => ({ ...(result as Json), blockHeight: Number((result as Json)['blockHeight']) - 100 }),
  }),
  'orders are finalized': about({
    getSignatureStatuses: statuses((slot) => ({
      slot,
      confirmations: null,
      err: null,
      status: { Ok: null },
      confirmationStatus: 'finalized',
    })),
  }),
  'orders have failed': about({
    getSignatureStatuses: statuses((slot) => ({
      slot,
      confirmations: null,
      err: failure,
      status: { Err: failure },
      confirmationStatus: 'finalized',
    })),
  }),
  'orders were never seen': about(unseen),
  'false fills': about({ getTransaction: falseFill }),
  'landed transactions have failed': about({
    getTransaction: (result) => {
      if (result !== null) (result as { meta: Json }).meta['err'] = failure;
      return result;
    },
  }),
  'cheap curves': accountsLie((account) => repricedCurve(account, 'cheap')),
  'dear curves': accountsLie((account) => repricedCurve(account, 'dear')),
  'tenfold rent': accountsLie(rentTimesTen),
  'tenfold lamports': accountsLie((account) => void (account.lamports *= Number(factor))),
  'absurd priority fees': about({
    getRecentPrioritizationFees: (result) =>
      (result as readonly Json[]).map((fee) => ({ ...fee, prioritizationFee: Number.MAX_SAFE_INTEGER })),
  }),
  'simulations pass': about({
    simulateTransaction: (result) => {
      Object.assign(valueOf(result), { err: null, logs: [], unitsConsumed: 1 });
      return result;
    },
  }),
  'simulations fail': about({
    simulateTransaction: (result) => {
      Object.assign(valueOf(result), { err: failure, logs: [], unitsConsumed: 1 });
      return result;
    },
  }),
  'blocks without their transactions': about({
    getBlock: (result) => (result === null ? null : { ...(result as Json), transactions: [], signatures: [] }),
  }),
  'messages are accepted and dropped': dropped,
  'old answers': repeating(),
};

/** Answers that are not answers. */
export const brokenAnswers: Readonly<Record<string, HttpLie>> = {
  'wrong types': async (_call, truth, random) => inJson(mistyped(await truth(), random)),
  'no JSON': async (_call, truth, random) => {
    const text = JSON.stringify(await truth());
    return { body: random.pick([text.slice(0, text.length >> 1), `${text}}`, '', '\u0000'.repeat(100), '<html>busy</html>']) };
  },
  late: async (_call, truth) => ({ ...inJson(await truth()), delayMs: lateMs }),
  'errors and cut connections': async (call, _truth, random) =>
    random.pick<Reply>([
      { body: null },
      { status: 500, body: 'busy' },
      { status: 429, body: '{}' },
      inJson({ jsonrpc: '2.0', id: call.id, error: { code: -32_005, message: 'x'.repeat(3_000) } }),
      inJson({ jsonrpc: '2.0', id: 'another', result: 1 }),
    ]),
};

/** Faults after which an endpoint is excluded for a while. */
export const hugeAnswers: Readonly<Record<string, HttpLie>> = {
  '60 MB': async ({ method }) => (method === 'simulateTransaction' ? null : { body: longAnswer }),
  deep: async () => ({ body: deepAnswer }),
};
