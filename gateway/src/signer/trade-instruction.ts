import { hasPrefix } from '@sluice/shared/solana/bytes.ts';
import { keepDerived, tokenAddress } from '@sluice/shared/solana/derived.ts';
import { token2022Program, tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import { canonicalPoolAddress, instructionDiscriminators as amm, programId as ammProgram } from '@sluice/shared/venues/pump-amm/program.ts';
import { bondingCurveAddress, instructionDiscriminators as pump, programId as pumpProgram } from '@sluice/shared/venues/pump/program.ts';
import { refused, type Refusal } from './verdict.ts';

/** An instruction with its accounts by address. */
export interface NamedInstruction {
  readonly programId: string;
  readonly accounts: readonly string[];
  readonly data: Uint8Array;
}

/** What a trade takes from the wallet at most, and which accounts of the wallet it works on. */
export interface Trade {
  readonly programId: string;
  readonly side: 'buy' | 'sell';
  /** The curve, or the pool. */
  readonly pool: string;
  readonly baseMint: string;
  readonly quoteMint: string;
  readonly baseProgram: string;
  readonly quoteProgram: string;
  readonly baseAccount: string;
  readonly quoteAccount: string;
  /** Raw: of the quote coin for a buy, of the coin for a sell. */
  readonly maxIn: bigint;
}

interface Positions {
  readonly pool: number;
  readonly user: number;
  readonly baseMint: number;
  readonly quoteMint: number;
  readonly baseProgram: number;
  readonly quoteProgram: number;
  readonly baseAccount: number;
  readonly quoteAccount: number;
}

interface Form {
  readonly programId: string;
  readonly discriminator: Uint8Array;
  readonly side: Trade['side'];
  readonly positions: Positions;
  /** Fewest and most accounts. */
  readonly accounts: readonly [number, number];
  /** Fewest and most bytes of data. */
  readonly bytes: readonly [number, number];
  /** Which of the two numbers is what goes in; the other one is what comes out. */
  readonly inAt: 0 | 1;
}

/** Positions by the programs' IDLs (pump 2.0.0, pump_amm 1.20.0). */
const onPump: Positions = {
  pool: 10,
  user: 13,
  baseMint: 1,
  quoteMint: 2,
  baseProgram: 3,
  quoteProgram: 4,
  baseAccount: 14,
  quoteAccount: 15,
};
const onAmm: Positions = {
  pool: 0,
  user: 1,
  baseMint: 3,
  quoteMint: 4,
  baseProgram: 11,
  quoteProgram: 12,
  baseAccount: 5,
  quoteAccount: 6,
};

const pumpForm = { programId: pumpProgram, positions: onPump, bytes: [24, 24] } as const;
const ammForm = { programId: ammProgram, positions: onAmm } as const;
const forms: readonly Form[] = [
  { ...pumpForm, discriminator: pump.buyV2, side: 'buy', accounts: [27, 27], inAt: 1 },
  { ...pumpForm, discriminator: pump.buyExactQuoteInV2, side: 'buy', accounts: [27, 27], inAt: 0 },
  { ...pumpForm, discriminator: pump.sellV2, side: 'sell', accounts: [26, 26], inAt: 0 },
  { ...ammForm, discriminator: amm.buy, side: 'buy', accounts: [23, 27], bytes: [24, 25], inAt: 1 },
  { ...ammForm, discriminator: amm.buyExactQuoteIn, side: 'buy', accounts: [23, 27], bytes: [24, 25], inAt: 0 },
  { ...ammForm, discriminator: amm.sell, side: 'sell', accounts: [21, 26], bytes: [24, 24], inAt: 0 },
];

const curveOf = keepDerived(bondingCurveAddress);
const poolOf = keepDerived(canonicalPoolAddress);

const tokenPrograms: ReadonlySet<string> = new Set([tokenProgram, token2022Program]);

export function isVenue(programId: string): boolean {
  return programId === pumpProgram || programId === ammProgram;
}

/** Whether it lets the account of this trade's curve or pool grow to what the program wants today, paid by the wallet. */
export function growsPool({ programId, accounts, data }: NamedInstruction, trade: Trade, wallet: string): boolean {
  const [pool, user] = accounts;
  const grows = data.length === pump.extendAccount.length && hasPrefix(data, pump.extendAccount);
  return grows && programId === trade.programId && accounts.length === 5 && pool === trade.pool && user === wallet;
}

/** Whether the instruction is of a venue and lets an account grow; the two programs name it alike. */
export function isGrowth({ programId, data }: NamedInstruction): boolean {
  return isVenue(programId) && hasPrefix(data, pump.extendAccount);
}

/** Reads a venue's instruction; it is a trade of this wallet, on the coin's own pool, into the wallet's own accounts, or refused. */
export function readTrade(instruction: NamedInstruction, wallet: string): Trade | Refusal {
  const { programId, accounts, data } = instruction;
  const form = forms.find((one) => one.programId === programId && hasPrefix(data, one.discriminator));
  if (form === undefined) return refused('trade', 'an instruction of the venue that is neither a buy nor a sell');
  const [fewest, most] = form.accounts;
  if (accounts.length < fewest || accounts.length > most) return refused('trade', 'a trade with a wrong number of accounts');
  if (data.length < form.bytes[0] || data.length > form.bytes[1]) return refused('trade', 'a trade with data of a wrong length');
  const at = (name: keyof Positions): string => accounts[form.positions[name]] ?? '';
  const [baseMint, quoteMint, baseProgram, quoteProgram] = [at('baseMint'), at('quoteMint'), at('baseProgram'), at('quoteProgram')];
  if (at('user') !== wallet) return refused('trade', 'a trade of another wallet');
  // A sell of wrapped SOL would be SOL leaving under another name.
  if (baseMint === wrappedSolMint || baseMint === quoteMint) return refused('trade', 'a trade whose coin is its quote coin, or SOL');
  if (!tokenPrograms.has(baseProgram) || !tokenPrograms.has(quoteProgram))
    return refused('trade', 'a trade under an unknown token program');
  const pool = programId === pumpProgram ? curveOf(baseMint) : poolOf(baseMint, quoteMint);
  if (at('pool') !== pool) return refused('trade', "a trade on another pool than the coin's own");
  const baseAccount = tokenAddress(wallet, baseMint, baseProgram);
  const quoteAccount = tokenAddress(wallet, quoteMint, quoteProgram);
  if (at('baseAccount') !== baseAccount || at('quoteAccount') !== quoteAccount) {
    return refused('token_account', "a trade into or out of another account than the wallet's own");
  }
  const [maxIn, minOut] = amountsOf(data, form.inAt);
  if (maxIn === 0n || minOut === 0n) return refused('bounds', 'a trade without a bound');
  return { programId, side: form.side, pool, baseMint, quoteMint, baseProgram, quoteProgram, baseAccount, quoteAccount, maxIn };
}

function amountsOf(data: Uint8Array, inAt: 0 | 1): readonly [maxIn: bigint, minOut: bigint] {
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const amounts = [view.getBigUint64(8, true), view.getBigUint64(16, true)] as const;
  return inAt === 0 ? amounts : [amounts[1], amounts[0]];
}
