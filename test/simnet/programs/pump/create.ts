import {
  accountDiscriminators,
  eventAuthority,
  globalAddress,
  mayhemProgram,
  mintAuthority,
  quoteControl,
  tokenDecimals,
} from '@sluice/venues/pump/curve/program.ts';
import { curveInstructions, mayhemGlobalParams, mayhemSolVault } from '../constants.ts';
import {
  associatedTokenProgram,
  metadataProgram,
  rentSysvar,
  systemProgram,
  token2022Program,
  tokenProgram,
  wrappedSolMint,
  zeroAddress,
} from '@sluice/shared/solana/well-known.ts';
import { minimumBalance } from '../../ledger/rent.ts';
import { addressBytes, deriveTokenAccount } from '../../layout/derive.ts';
import { curveOf, holderRewardsOf, mayhemStateOf } from '../addresses.ts';
import type { AnchorContext, AnchorInstruction } from '../anchor.ts';
import { associatedTokenInstruction } from '../token/associated-token.ts';
import { BorshReader } from '../../layout/borsh.ts';
import { createMetadataInstruction, metadataAddress } from '../token/metaplex.ts';
import { createAccountInstruction, transferInstruction } from '../system.ts';
import {
  initializeMetadataInstruction,
  initializeMetadataPointerInstruction,
  initializeMint2Instruction,
  mintToInstruction,
  removeMetadataAuthorityInstruction,
  removeMintAuthorityInstruction,
  type MetadataText,
} from '../token/token-instructions.ts';
import { metadataExtensionBytes } from '../token/token-metadata.ts';
import { isTokenProgram, mintBytes, pointerMintBytes } from '../../layout/token-state.ts';
import { pumpError } from './errors.ts';
import { createEvent } from './events.ts';
import { curveBytes, curveData, readGlobal, type Curve, type Global } from './state.ts';

const createUnits = 45_000;
const maxNameBytes = 32;
const maxSymbolBytes = 10;
const maxUriBytes = 200;
const authoritySeeds = ['mint-authority'];

const createNames = [
  'mint',
  'mint_authority',
  'bonding_curve',
  'associated_bonding_curve',
  'global',
  'mpl_token_metadata',
  'metadata',
  'user',
  'system_program',
  'token_program',
  'associated_token_program',
  'rent',
  'event_authority',
  'program',
] as const;

const createV2Names = [
  'mint',
  'mint_authority',
  'bonding_curve',
  'associated_bonding_curve',
  'global',
  'user',
  'system_program',
  'token_program',
  'associated_token_program',
  'mayhem_program_id',
  'global_params',
  'sol_vault',
  'mayhem_state',
  'mayhem_token_vault',
  'event_authority',
  'program',
] as const;

interface Plan {
  readonly text: MetadataText;
  readonly curve: Curve;
  readonly tokenProgram: string;
  readonly isSol: boolean;
}

function readText(context: AnchorContext, args: BorshReader): MetadataText {
  const text = { name: args.string(), symbol: args.string(), uri: args.string() };
  context.require(Buffer.byteLength(text.name) <= maxNameBytes, pumpError.nameTooLong);
  context.require(Buffer.byteLength(text.symbol) <= maxSymbolBytes, pumpError.symbolTooLong);
  context.require(Buffer.byteLength(text.uri) <= maxUriBytes, pumpError.uriTooLong);
  return text;
}

/** The checks that both instructions make; returns the program's settings. */
function checkCommon(context: AnchorContext, tokenProgramId: string): Global {
  const mint = context.signer('mint').address;
  context.writable('mint');
  context.derived('mint_authority', mintAuthority);
  context.derived('bonding_curve', curveOf(mint));
  context.writable('bonding_curve');
  context.derived('associated_bonding_curve', deriveTokenAccount(curveOf(mint), mint, tokenProgramId).address);
  context.derived('global', globalAddress);
  const global = context.owned('global', accountDiscriminators.global).read(readGlobal);
  context.signer('user');
  context.program('system_program', systemProgram);
  context.program('token_program', tokenProgramId);
  context.program('associated_token_program', associatedTokenProgram);
  context.derived('event_authority', eventAuthority);
  context.program('program', context.programId);
  return global;
}

function freshCurve(global: Global, creator: string): Curve {
  return {
    virtualToken: global.initialVirtualToken,
    virtualQuote: global.initialVirtualSol,
    realToken: global.initialRealToken,
    realQuote: 0n,
    supply: global.supply,
    complete: false,
    creator,
    mayhem: false,
    cashback: false,
    quoteMint: zeroAddress,
    creatorFeeBps: 0n,
    canEditCreatorFee: false,
    holderReward: false,
  };
}

function openCurve(context: AnchorContext, plan: Plan): void {
  const mint = context.get('mint').address;
  const account = context.get('bonding_curve');
  const user = context.get('user').address;
  const seeds = ['bonding-curve', addressBytes(mint)];
  context.raw.invoke(createAccountInstruction(user, account.address, minimumBalance(curveBytes), curveBytes, context.programId), [seeds]);
  account.write().set(curveData(plan.curve));
  context.raw.invoke(associatedTokenInstruction(user, account.address, mint, plan.tokenProgram, false));
}

/** Mints the whole supply to the curve and gives up the right to mint. */
function issue(context: AnchorContext, plan: Plan): void {
  const mint = context.get('mint').address;
  const { tokenProgram: program } = plan;
  const vault = context.get('associated_bonding_curve').address;
  context.raw.invoke(mintToInstruction(program, mint, vault, mintAuthority, plan.curve.supply), [authoritySeeds]);
  if (plan.curve.mayhem) {
    const agentVault = context.writable('mayhem_token_vault').address;
    context.raw.invoke(associatedTokenInstruction(context.get('user').address, mayhemSolVault, mint, program, true));
    context.raw.invoke(mintToInstruction(program, mint, agentVault, mintAuthority, plan.curve.supply), [authoritySeeds]);
  }
  context.raw.invoke(removeMintAuthorityInstruction(program, mint, mintAuthority), [authoritySeeds]);
}

function announce(context: AnchorContext, plan: Plan): void {
  context.emit(
    createEvent({
      ...plan.text,
      mint: context.get('mint').address,
      bondingCurve: context.get('bonding_curve').address,
      user: context.get('user').address,
      timestamp: context.raw.clock.unixTimestamp,
      tokenProgram: plan.tokenProgram,
      curve: plan.curve,
      isSol: plan.isSol,
    }),
  );
}

/** The quote coin: SOL unless remaining accounts name another; `quote_mint`, its curve account, its program, `quote_control`. */
function readQuote(context: AnchorContext, global: Global): Pick<Curve, 'quoteMint' | 'virtualQuote'> {
  const [mint, vault, program, control] = context.remaining;
  if (mint === undefined || mint.address === wrappedSolMint) return { quoteMint: zeroAddress, virtualQuote: global.initialVirtualSol };
  if (vault === undefined || program === undefined || control === undefined) return context.throws(pumpError.invalidQuoteControl);
  context.require(isTokenProgram(program.address) && mint.owner === program.address, pumpError.invalidQuoteTokenProgram);
  const curve = context.get('bonding_curve').address;
  context.require(vault.address === deriveTokenAccount(curve, mint.address, program.address).address, pumpError.invalidQuoteCurveAccount);
  context.require(control.address === quoteControl && control.owner === context.programId, pumpError.invalidQuoteControl);
  const virtualQuote = mint.address === global.whitelistedQuoteMint ? global.initialVirtualQuote : allowedQuote(control.data, mint.address);
  if (virtualQuote === null) return context.throws(pumpError.unsupportedQuoteMint);
  return { quoteMint: mint.address, virtualQuote };
}

const allowedAt = 104;

/** The virtual reserves of a new curve for this quote coin; null if the list of `quote_control` does not have the coin. */
function allowedQuote(control: Uint8Array, mint: string): bigint | null {
  const reader = new BorshReader(control.subarray(allowedAt));
  for (let left = reader.u32(); left > 0; left--) {
    const [allowed, virtualQuote] = [reader.address(), reader.u64()];
    if (allowed === mint) return virtualQuote;
  }
  return null;
}

interface Flags {
  readonly mayhem: boolean;
  readonly cashback: boolean;
  readonly creatorFeeBps: bigint;
  readonly holderReward: boolean;
}

function checkFlags(context: AnchorContext, global: Global, flags: Flags): void {
  context.require(!flags.mayhem || global.mayhemEnabled, pumpError.mayhemDisabled);
  context.require(!flags.cashback || global.cashbackEnabled, pumpError.cashbackNotEnabled);
  context.require(!flags.holderReward || global.holderRewardEnabled, pumpError.holderRewardDisabled);
  if (flags.creatorFeeBps === 0n) return;
  context.require(global.creatorFeeConfigurable, pumpError.creatorFeeNotConfigurable);
  context.require(flags.creatorFeeBps <= global.maxCreatorFeeBps, pumpError.creatorFeeOutOfRange);
  context.require(!flags.cashback, pumpError.creatorFeeOnCashback);
}

function checkMayhem(context: AnchorContext, mint: string): void {
  context.program('mayhem_program_id', mayhemProgram);
  context.derived('global_params', mayhemGlobalParams);
  context.derived('sol_vault', mayhemSolVault);
  context.derived('mayhem_state', mayhemStateOf(mint));
  context.derived('mayhem_token_vault', deriveTokenAccount(mayhemSolVault, mint, token2022Program).address);
}

function runCreateV2(context: AnchorContext, args: BorshReader): void {
  const text = readText(context, args);
  const creatorArgument = args.address();
  const flags = { mayhem: args.bool(), cashback: args.orFalse(), creatorFeeBps: args.orZero(), holderReward: args.orFalse() };
  const global = checkCommon(context, token2022Program);
  const mint = context.get('mint').address;
  checkMayhem(context, mint);
  context.require(global.createV2Enabled, pumpError.createV2Disabled);
  checkFlags(context, global, flags);
  const { quoteMint, virtualQuote } = readQuote(context, global);
  const isSol = quoteMint === zeroAddress;
  const creator = flags.holderReward ? holderRewardsOf(mint) : creatorArgument;
  context.require(creator !== zeroAddress, pumpError.creatorShouldNotBeZero);
  const curve: Curve = { ...freshCurve(global, creator), ...flags, quoteMint, virtualQuote };
  const plan: Plan = { text, curve, tokenProgram: token2022Program, isSol };
  const user = context.get('user').address;
  const rent = minimumBalance(pointerMintBytes);
  context.raw.invoke(createAccountInstruction(user, mint, rent, pointerMintBytes, token2022Program));
  context.raw.invoke(initializeMetadataPointerInstruction(token2022Program, mint));
  context.raw.invoke(initializeMint2Instruction(token2022Program, mint, tokenDecimals, mintAuthority));
  openCurve(context, plan);
  if (!isSol) openQuoteVault(context, user, quoteMint);
  const metadataRent = minimumBalance(pointerMintBytes + metadataExtensionBytes(text)) - rent;
  context.raw.invoke(transferInstruction(user, mint, metadataRent));
  context.raw.invoke(initializeMetadataInstruction(token2022Program, mint, mintAuthority, text), [authoritySeeds]);
  context.raw.invoke(removeMetadataAuthorityInstruction(token2022Program, mint, mintAuthority), [authoritySeeds]);
  issue(context, plan);
  announce(context, plan);
}

function openQuoteVault(context: AnchorContext, user: string, quoteMint: string): void {
  const program = context.remaining[2]?.address ?? tokenProgram;
  context.raw.invoke(associatedTokenInstruction(user, context.get('bonding_curve').address, quoteMint, program, false));
}

/** The older form: an SPL Token mint with metadata in Metaplex's account. */
function runCreate(context: AnchorContext, args: BorshReader): void {
  const text = readText(context, args);
  const creator = args.address();
  const global = checkCommon(context, tokenProgram);
  const mint = context.get('mint').address;
  context.program('mpl_token_metadata', metadataProgram);
  context.derived('metadata', metadataAddress(mint));
  context.program('rent', rentSysvar);
  context.require(creator !== zeroAddress, pumpError.creatorShouldNotBeZero);
  const plan: Plan = { text, curve: freshCurve(global, creator), tokenProgram, isSol: true };
  const user = context.get('user').address;
  context.raw.invoke(createAccountInstruction(user, mint, minimumBalance(mintBytes), mintBytes, tokenProgram));
  context.raw.invoke(initializeMint2Instruction(tokenProgram, mint, tokenDecimals, mintAuthority));
  openCurve(context, plan);
  context.raw.invoke(createMetadataInstruction(mint, mintAuthority, user, text), [authoritySeeds]);
  issue(context, plan);
  announce(context, plan);
}

const { create, createV2 } = curveInstructions;

export const createInstructions: readonly AnchorInstruction[] = [
  { name: 'Create', discriminator: create, accounts: createNames, units: createUnits, run: runCreate },
  { name: 'CreateV2', discriminator: createV2, accounts: createV2Names, units: createUnits, run: runCreateV2 },
];
