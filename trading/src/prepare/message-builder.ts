import { randomBytes } from 'node:crypto';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { tokenAddress } from '@sluice/shared/solana/addresses/derived.ts';
import { computeUnitPrice } from '@sluice/shared/solana/transaction/instructions.ts';
import { temporarySol, type TemporarySol } from '@sluice/shared/solana/transaction/temporary-sol.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import { tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { QuotedPool } from '@sluice/venues/seam/quoting.ts';
import type { BuiltTrade, TradeOrder } from '@sluice/venues/seam/trading.ts';
import { priceIndex, surround, type LaneTip, type Surrounded, type Surroundings, type Tip, type Wrapping } from './surround.ts';
import { compileTemplate, fillTemplate, noOtherKeys, otherKeys, type MessageTemplate, type OtherKeys } from './template.ts';

/** Templates of about 6 KB each; the least recently used one is dropped. */
export const maxTemplates = 1_024;
/** Largest v0 transaction (1,232 bytes) less its one signature. */
export const maxMessageBytes = 1_232 - 65;

/** Priority fee, in micro-lamports for each compute unit, of a message that is otherwise complete. */
export type PriceOf = (message: { readonly computeUnitLimit: number; readonly writableAccounts: readonly string[] }) => bigint;

type RequestedTip = Pick<LaneTip, 'accounts' | 'lamports'>;

export interface BuildRequest extends Omit<Surroundings, 'tips' | 'wrapping'> {
  readonly pool: QuotedPool;
  readonly order: Omit<TradeOrder, 'recipient' | 'wrappedSol'>;
  /** Whether the wallet has an associated account of wrapped SOL. Null if unknown: then it is not used. */
  readonly wrappedSolExists: boolean | null;
  readonly microLamportsPerUnit: bigint | PriceOf;
  /** Tips to add while the message has room; the last one is left out first. */
  readonly requestedTips?: readonly RequestedTip[];
  /** Base58. */
  readonly blockhash: string;
}

export interface BuiltMessage extends Pick<Surrounded, 'made' | 'wrapped'> {
  /** Version 0. The user of the order is the only signer and pays the fee. */
  readonly message: Uint8Array;
  readonly computeUnitLimit: number;
  readonly microLamportsPerUnit: bigint;
  /** Accounts that the transaction locks for writing. */
  readonly writableAccounts: readonly string[];
  /** The tips of `requestedTips` that fit into the message. */
  readonly tips: readonly Tip[];
  /** The trade instruction, its token accounts, and the accounts that the program may create. */
  readonly trade: BuiltTrade;
}

export type MessageBuilder = ReturnType<typeof createMessageBuilder>;

/** Mask for the rotation over tip accounts: eight turns. */
const lastTurn = 7;

/** A template, and the keys in which a message differs from it. */
interface Found {
  readonly template: MessageTemplate;
  readonly others: OtherKeys;
}

/** A message without its price and its blockhash. */
interface Draft {
  readonly surrounded: Surrounded;
  readonly found: Found;
  readonly trade: BuiltTrade;
  readonly tips: readonly Tip[];
}

/** Bytes of a seed of a temporary account, before base64. With more, some trades have no room. */
const seedBytes = 3;
/** Random bytes for this many seeds are made at once, because a call costs as much as a hash. */
const seedsAtOnce = 1_024;

function randomSeeds(): () => string {
  let bytes = Buffer.alloc(0);
  let at = 0;
  return () => {
    if (at === bytes.length) [bytes, at] = [randomBytes(seedBytes * seedsAtOnce), 0];
    at += seedBytes;
    return bytes.toString('base64url', at - seedBytes, at);
  };
}

/** Each wallet starts at another account, so that together they use all of them. */
function tipsOf(requested: readonly RequestedTip[], user: string, turn: number): readonly Tip[] {
  const from = user.charCodeAt(user.length - 1);
  return requested.map(({ accounts, lamports }) => ({ to: accounts[(from + turn) % accounts.length]!, lamports }));
}

/**
 * Fee recipients rotate, because all trades of the network write to the same few accounts. `first`: index of the first recipient. `seedOf`: the
 * seed of the account in which a message wraps SOL; others must not predict it.
 */
export function createMessageBuilder(first = 0, seedOf: () => string = randomSeeds()) {
  const counters = { filled: 0, compiled: 0 };
  const templates = new Map<string, MessageTemplate>();
  let recipient = first;
  let knownBlockhash: { readonly text: string; readonly bytes: Uint8Array } = { text: '', bytes: new Uint8Array(0) };

  function blockhashBytes(text: string): Uint8Array {
    if (knownBlockhash.text !== text) knownBlockhash = { text, bytes: addressBytes(text) };
    return knownBlockhash.bytes;
  }

  /** The key only finds a candidate; every account is compared before the template is used. */
  function templateOf(key: string, feePayer: string, instructions: readonly Instruction[]): Found {
    const known = templates.get(key);
    if (known !== undefined) templates.delete(key);
    const others = known === undefined ? null : otherKeys(known, instructions);
    const template = known === undefined || others === null ? compileTemplate(feePayer, instructions) : known;
    counters[template === known ? 'filled' : 'compiled']++;
    if (templates.size >= maxTemplates) {
      const oldest = templates.keys().next();
      if (oldest.done !== true) templates.delete(oldest.value);
    }
    templates.set(key, template);
    return { template, others: others ?? noOtherKeys };
  }

  /** Names every field: spreading an object costs more here than all the rest. */
  function draft(request: BuildRequest, number: number, wrapping: Wrapping, tips: readonly Tip[]): Draft {
    const { pool, order, baseAccountExists, wrappingRent, computeUnitLimit } = request;
    const { user } = order;
    const wrappedSol = (): string => (wrapping === 'associated' ? tokenAddress(user, wrappedSolMint, tokenProgram) : wrapping().address);
    const trade = pool.build(tradeOrderOf(order, number, wrappedSol));
    const surrounded = surround(order, trade, { baseAccountExists, wrapping, wrappingRent, computeUnitLimit, tips });
    const { instructions } = surrounded;
    const isAssociated = wrapping === 'associated';
    const key = `${user} ${pool.address} ${order.trade.exact} ${instructions.length} ${baseAccountExists} ${isAssociated}`;
    return { surrounded, found: templateOf(key, user, instructions), trade, tips };
  }

  /**
   * The first draft that has room for its tips. A temporary account of wrapped SOL needs more room than the associated one, which is used
   * instead of it rather than to omit a tip, if it does not exist.
   */
  function draftWithRoom(request: BuildRequest, number: number): Draft {
    const {
      order: { user },
      requestedTips = [],
      wrappedSolExists,
    } = request;
    const tips = tipsOf(requestedTips, user, number & lastTurn);
    let opened: TemporarySol | null = null;
    const temporary = (): TemporarySol => (opened ??= temporarySol(user, seedOf()));
    const whole = draft(request, number, temporary, tips);
    if (hasRoom(whole)) return whole;
    if (opened !== null && wrappedSolExists === false) {
      const other = draft(request, number, 'associated', tips);
      if (hasRoom(other)) return other;
    }
    for (let count = tips.length - 1; count >= 0; count--) {
      const fewer = draft(request, number, temporary, tips.slice(0, count));
      if (hasRoom(fewer)) return fewer;
    }
    throw new RangeError(`a message of ${whole.found.template.bytes.length} bytes is too long for a transaction`);
  }

  return {
    /** Messages that reused a template, and messages that were compiled. */
    counters,
    /** Throws TypeError for an invalid address; RangeError for a number that is not a u64, or a message that is too long for a transaction. */
    build(request: BuildRequest): BuiltMessage {
      const { microLamportsPerUnit, blockhash } = request;
      const { surrounded, found, trade, tips } = draftWithRoom(request, recipient++);
      const { instructions, computeUnitLimit, made, wrapped } = surrounded;
      const { template, others } = found;
      const writableAccounts = template.writableAccounts.map((address) => others.get(address) ?? address);
      const price =
        typeof microLamportsPerUnit === 'bigint' ? microLamportsPerUnit : microLamportsPerUnit({ computeUnitLimit, writableAccounts });
      instructions[priceIndex] = computeUnitPrice(price);
      const message = fillTemplate(template, others, blockhashBytes(blockhash), instructions);
      return { message, computeUnitLimit, microLamportsPerUnit: price, writableAccounts, tips, trade, made, wrapped };
    },
  };
}

function tradeOrderOf(order: BuildRequest['order'], recipient: number, wrappedSol: () => string): TradeOrder {
  const { user, trade, quote, minOut, maxIn, baseTokenProgram, quoteTokenProgram, baseAccountBytes, quoteAccountBytes } = order;
  return {
    user,
    trade,
    quote,
    minOut,
    maxIn,
    baseTokenProgram,
    quoteTokenProgram,
    baseAccountBytes,
    quoteAccountBytes,
    wrappedSol,
    recipient,
  };
}

function hasRoom({ found: { template } }: Draft): boolean {
  return template.bytes.length <= maxMessageBytes;
}
