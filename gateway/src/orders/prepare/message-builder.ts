import { addressBytes } from '@sluice/shared/solana/pda.ts';
import { computeUnitPrice } from '@sluice/shared/solana/transaction/instructions.ts';
import type { Instruction } from '@sluice/shared/solana/transaction/transaction.ts';
import type { QuotedPool } from '@sluice/shared/venues/quoting.ts';
import type { BuiltTrade, TradeOrder } from '@sluice/shared/venues/trading.ts';
import { priceIndex, surround, type LaneTip, type Surroundings, type Tip } from './surround.ts';
import { compileTemplate, fillTemplate, noOtherKeys, otherKeys, type MessageTemplate, type OtherKeys } from './template.ts';

/** Templates of about 6 KB each; the least recently used one is dropped. */
export const maxTemplates = 1_024;
/** Largest v0 transaction (1,232 bytes) less its one signature. */
export const maxMessageBytes = 1_232 - 65;

/** Priority fee, in micro-lamports for each compute unit, of a message that is otherwise complete. */
export type PriceOf = (message: { readonly computeUnitLimit: number; readonly writableAccounts: readonly string[] }) => bigint;

export interface BuildRequest extends Omit<Surroundings, 'laneTips'> {
  readonly pool: QuotedPool;
  readonly order: Omit<TradeOrder, 'recipient'>;
  readonly microLamportsPerUnit: bigint | PriceOf;
  /** Tips to add while the message has room; the last one is left out first. */
  readonly requestedTips?: readonly LaneTip[];
  /** Base58. */
  readonly blockhash: string;
}

export interface BuiltMessage {
  /** Version 0. The user of the order is the only signer and pays the fee. */
  readonly message: Uint8Array;
  readonly computeUnitLimit: number;
  readonly microLamportsPerUnit: bigint;
  /** Accounts that the transaction locks for writing. */
  readonly writableAccounts: readonly string[];
  /** The tips of `requestedTips` that fit into the message. */
  readonly laneTips: readonly Tip[];
  /** The trade instruction, its token accounts, and the accounts that the program may create. */
  readonly trade: BuiltTrade;
}

export interface MessageBuilder {
  /** Throws TypeError for an invalid address; RangeError for a number that is not a u64, or a message that is too long for a transaction. */
  build(request: BuildRequest): BuiltMessage;
  /** Messages that reused a template, and messages that were compiled. */
  readonly counters: { readonly filled: number; readonly compiled: number };
}

/** Mask for the rotation over tip accounts: eight turns. */
const lastTurn = 7;

/** A template, and the keys in which a message differs from it. */
interface Found {
  readonly template: MessageTemplate;
  readonly others: OtherKeys;
}

/** Each wallet starts at another account, so that together they use all of them. */
function tipsOf(requested: readonly LaneTip[], user: string, turn: number): readonly Tip[] {
  const from = user.charCodeAt(user.length - 1);
  return requested.map(({ accounts, lamports }) => ({ to: accounts[(from + turn) % accounts.length]!, lamports }));
}

/** Fee recipients rotate, because all trades of the network write to the same few accounts. `first`: index of the first recipient. */
export function createMessageBuilder(first = 0): MessageBuilder {
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

  return {
    counters,
    build(request) {
      const { pool, order, microLamportsPerUnit, blockhash, requestedTips = [] } = request;
      const { baseAccountExists, computeUnitLimit: fixedLimit, tip } = request;
      const number = recipient++;
      const { user, ...terms } = order;
      const trade = pool.build({ user, ...terms, recipient: number });
      const turn = number & lastTurn;
      let laneTips = tipsOf(requestedTips, user, turn);
      const around = () => surround(order, trade, { baseAccountExists, computeUnitLimit: fixedLimit, tip, laneTips });
      let { instructions, computeUnitLimit } = around();
      const keyOf = (): string => `${user} ${pool.address} ${order.trade.exact} ${instructions.length} ${baseAccountExists}`;
      let found = templateOf(keyOf(), user, instructions);
      while (found.template.bytes.length > maxMessageBytes) {
        if (laneTips.length === 0) throw new RangeError(`a message of ${found.template.bytes.length} bytes is too long for a transaction`);
        laneTips = laneTips.slice(0, -1);
        ({ instructions, computeUnitLimit } = around());
        found = templateOf(keyOf(), user, instructions);
      }
      const { template, others } = found;
      const writableAccounts = template.writableAccounts.map((address) => others.get(address) ?? address);
      const price =
        typeof microLamportsPerUnit === 'bigint' ? microLamportsPerUnit : microLamportsPerUnit({ computeUnitLimit, writableAccounts });
      instructions[priceIndex] = computeUnitPrice(price);
      const message = fillTemplate(template, others, blockhashBytes(blockhash), instructions);
      return { message, computeUnitLimit, microLamportsPerUnit: price, writableAccounts, laneTips, trade };
    },
  };
}
