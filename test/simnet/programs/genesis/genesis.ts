import { createHash } from 'node:crypto';
import { generateKeypair, type Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { solPricePool } from '@sluice/venues/registry.ts';
import {
  lamportsPerSol,
  rentSysvar,
  systemProgram,
  tokenProgram,
  usdcDecimals,
  usdcMint,
  wrappedSolMint,
} from '@sluice/shared/solana/well-known.ts';
import { programId as whirlpoolProgram } from '@sluice/venues/orca/whirlpool/program.ts';
import { jitoTipAccounts, senderTipAccounts } from '@sluice/shared/solana/addresses/tip-accounts.ts';
import * as amm from '@sluice/venues/pump/amm/program.ts';
import * as pump from '@sluice/venues/pump/curve/program.ts';
import { ammAccounts as ammDiscriminators, curveAccounts, mayhemGlobalParams, mayhemSolVault } from '../constants.ts';
import type { ChainAccount } from '../../chain.ts';
import { rentData } from '../../ledger/clock.ts';
import { minimumBalance } from '../../ledger/rent.ts';
import { deriveTokenAccount } from '../../layout/derive.ts';
import { BorshWriter } from '../../layout/borsh.ts';
import { feeConfigData } from '../fee-schedule.ts';
import { ammFees, curveFees } from './genesis-fees.ts';
import { feeConfigAddress } from '../pump-fees.ts';
import { ammConfigData } from '../pump-amm/state.ts';
import { globalData } from '../pump/state.ts';
import { otherQuoteCoin } from '../quote-coins.ts';
import { buybackFeeRecipients, feeRecipients, operators, reservedFeeRecipients } from '../recipients.ts';
import { programTable } from '../table.ts';
import { mintData, mintFields, tokenAccountData, tokenFields } from '../../layout/token-state.ts';
import { vaultAuthority, whirlpoolData, whirlpoolVaults } from '../whirlpool.ts';

const noData = new Uint8Array(0);
const nativeLoader = 'NativeLoader1111111111111111111111111111111';
const upgradeableLoader = 'BPFLoaderUpgradeab1e11111111111111111111111';
const faucetLamports = 500_000_000n * lamportsPerSol;
const faucetUsdc = 500_000_000n * 10n ** BigInt(usdcDecimals);
const recipientLamports = 10n * lamportsPerSol;
const usdcPerSolAtGenesis = 150;
const poolSol = 20_000n * lamportsPerSol;
const poolUsdc = 3_000_000n * 10n ** BigInt(usdcDecimals);
const volumeAccumulatorBytes = 544;
/** Basis points of the protocol fee that go to the buyback recipients. */
const buybackBps = 5_000n;
const maxCreatorFeeBps = 300n;
const initialVirtualUsdc = 4_292_000_000n;

/** Receives every transaction's fee, so that no lamports are lost. */
export const validatorIdentity = generateKeypair(createHash('sha256').update('simnet validator').digest()).publicKey;

/** The wallet that pays airdrops. */
export function faucetKeypair(seed: string): Keypair {
  return generateKeypair(createHash('sha256').update(`${seed}: faucet`).digest());
}

export function walletAccount(lamports: bigint): ChainAccount {
  return { lamports, owner: systemProgram, data: noData, executable: false };
}

function ownedAccount(owner: string, data: Uint8Array): ChainAccount {
  return { lamports: minimumBalance(data.length), owner, data, executable: false };
}

/** A mint of SPL Token. */
export function coinAccount(mint: string, owner: string, amount: bigint): readonly [string, ChainAccount] {
  const { address } = deriveTokenAccount(owner, mint, tokenProgram);
  return [address, ownedAccount(tokenProgram, tokenAccountData(mint, owner, amount))];
}

/** A wrapped-SOL account that holds `lamports` beyond its rent. */
function wrappedSolAccountData(owner: string, lamports: bigint): ChainAccount {
  const data = tokenAccountData(wrappedSolMint, owner, lamports);
  const reserve = minimumBalance(data.length);
  tokenFields.setNativeReserve(data, reserve);
  return { lamports: reserve + lamports, owner: tokenProgram, data, executable: false };
}

export function wrappedSolAccount(owner: string, lamports: bigint): readonly [string, ChainAccount] {
  return [deriveTokenAccount(owner, wrappedSolMint, tokenProgram).address, wrappedSolAccountData(owner, lamports)];
}

function programAccounts(): (readonly [string, ChainAccount])[] {
  return [...programTable()].map(([address, program]) => {
    const owner = program.builtin ? nativeLoader : upgradeableLoader;
    return [address, { lamports: minimumBalance(36), owner, data: new Uint8Array(program.builtin ? 14 : 36), executable: true }];
  });
}

function mintAccounts(): (readonly [string, ChainAccount])[] {
  return [
    [wrappedSolMint, ownedAccount(tokenProgram, mintData(9, 0n, null))],
    [usdcMint, ownedAccount(tokenProgram, mintData(usdcDecimals, 0n, operators.authority))],
    [otherQuoteCoin.mint, ownedAccount(tokenProgram, mintData(otherQuoteCoin.decimals, 0n, operators.authority))],
  ];
}

function pumpAccounts(): (readonly [string, ChainAccount])[] {
  const global = globalData({
    authority: operators.authority,
    initialVirtualToken: pump.initialVirtualToken,
    initialVirtualSol: pump.initialVirtualSol,
    initialRealToken: pump.initialRealToken,
    supply: pump.initialSupply,
    feeBps: 95n,
    withdrawAuthority: operators.withdraw,
    enableMigrate: true,
    poolMigrationFee: 15_000_001n,
    creatorFeeBps: 5n,
    feeRecipients,
    setCreatorAuthority: operators.withdraw,
    adminSetCreatorAuthority: operators.adminSetCreator,
    createV2Enabled: true,
    whitelistPda: mayhemSolVault,
    mayhemEnabled: true,
    reservedFeeRecipients,
    cashbackEnabled: true,
    buybackFeeRecipients,
    buybackBps,
    initialVirtualQuote: initialVirtualUsdc,
    whitelistedQuoteMint: usdcMint,
    creatorFeeConfigurable: true,
    maxCreatorFeeBps,
    holderRewardClaimAuthority: operators.holderRewardClaim,
    holderRewardEnabled: true,
  });
  const quoteControl = new BorshWriter()
    .bytes(curveAccounts.quoteControl)
    .address(operators.authority)
    .zeros(64)
    .u32(2)
    .address(usdcMint)
    .u64(initialVirtualUsdc)
    .address(otherQuoteCoin.mint)
    .u64(otherQuoteCoin.initialVirtual)
    .done();
  const volume = new BorshWriter().bytes(curveAccounts.globalVolumeAccumulator).done(volumeAccumulatorBytes);
  const config = feeConfigAddress(pump.programId);
  return [
    [pump.globalAddress, ownedAccount(pump.programId, global)],
    [pump.quoteControl, ownedAccount(pump.programId, quoteControl)],
    [pump.globalVolumeAccumulator, ownedAccount(pump.programId, volume)],
    [config.address, ownedAccount(pump.feeProgram, feeConfigData(config.bump, operators.authority, curveFees))],
    [pump.eventAuthority, walletAccount(minimumBalance(0))],
    [pump.mintAuthority, walletAccount(minimumBalance(0))],
    [mayhemGlobalParams, ownedAccount(pump.mayhemProgram, new Uint8Array(64))],
    [mayhemSolVault, walletAccount(100n * lamportsPerSol)],
    [pump.mayhemProgram, { lamports: minimumBalance(36), owner: upgradeableLoader, data: new Uint8Array(36), executable: true }],
  ];
}

function ammAccounts(): (readonly [string, ChainAccount])[] {
  const globalConfig = ammConfigData({
    admin: operators.authority,
    lpBps: 20n,
    protocolBps: 5n,
    disableFlags: 0,
    protocolFeeRecipients: feeRecipients,
    creatorBps: 5n,
    adminSetCoinCreatorAuthority: operators.adminSetCreator,
    whitelistPda: mayhemSolVault,
    mayhemEnabled: true,
    reservedFeeRecipients,
    cashbackEnabled: true,
    buybackFeeRecipients,
    buybackBps,
    boostAuthority: operators.boost,
    boostEnabled: true,
    creatorFeeConfigurable: true,
    maxCreatorFeeBps,
  });
  const volume = new BorshWriter().bytes(ammDiscriminators.globalVolumeAccumulator).done(volumeAccumulatorBytes);
  const config = feeConfigAddress(amm.programId);
  return [
    [amm.globalConfig, ownedAccount(amm.programId, globalConfig)],
    [amm.globalVolumeAccumulator, ownedAccount(amm.programId, volume)],
    [config.address, ownedAccount(pump.feeProgram, feeConfigData(config.bump, operators.authority, ammFees))],
    [amm.eventAuthority, walletAccount(minimumBalance(0))],
  ];
}

function recipientAccounts(): (readonly [string, ChainAccount])[] {
  return [...feeRecipients, ...reservedFeeRecipients, ...buybackFeeRecipients, operators.withdraw].flatMap((address) => [
    [address, walletAccount(recipientLamports)] as const,
    wrappedSolAccount(address, 0n),
    coinAccount(usdcMint, address, 0n),
    coinAccount(otherQuoteCoin.mint, address, 0n),
  ]);
}

function priceAccounts(): (readonly [string, ChainAccount])[] {
  return [
    [solPricePool.address, ownedAccount(whirlpoolProgram, whirlpoolData(usdcPerSolAtGenesis))],
    [whirlpoolVaults.sol, wrappedSolAccountData(vaultAuthority, poolSol)],
    [whirlpoolVaults.usdc, ownedAccount(tokenProgram, tokenAccountData(usdcMint, vaultAuthority, poolUsdc))],
  ];
}

/** Sets the supply of a mint to the sum of all accounts of the coin. */
function withSupply(accounts: Map<string, ChainAccount>, address: string): void {
  const mint = accounts.get(address);
  if (mint === undefined) throw new Error(`genesis has no mint ${address}`);
  let supply = 0n;
  for (const { owner, data } of accounts.values()) {
    if (owner === tokenProgram && data.length === 165 && tokenFields.mint(data) === address) supply += tokenFields.amount(data);
  }
  const data = mint.data.slice();
  mintFields.setSupply(data, supply);
  accounts.set(address, { ...mint, data });
}

/** Every account of the first block: programs, mints, the venues' settings, fee and tip recipients, the SOL/USDC pool, funded wallets. */
export function genesisAccounts(
  seed: string,
  funded: Iterable<readonly [address: string, account: ChainAccount]>,
): Map<string, ChainAccount> {
  const accounts = new Map<string, ChainAccount>([
    ...programAccounts(),
    ...mintAccounts(),
    ...pumpAccounts(),
    ...ammAccounts(),
    ...recipientAccounts(),
    ...priceAccounts(),
    // As on the network, where they hold SOL: an account that does not exist cannot receive less than its rent.
    ...[...jitoTipAccounts, ...senderTipAccounts].map((address) => [address, walletAccount(recipientLamports)] as const),
    [rentSysvar, rentData()],
    [faucetKeypair(seed).publicKey, walletAccount(faucetLamports)],
    coinAccount(usdcMint, faucetKeypair(seed).publicKey, faucetUsdc),
    [validatorIdentity, walletAccount(recipientLamports)],
    ...funded,
  ]);
  for (const mint of [usdcMint, otherQuoteCoin.mint]) withSupply(accounts, mint);
  return accounts;
}
