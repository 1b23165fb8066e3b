import {
  type Connection,
  Keypair,
  PublicKey,
  sendAndConfirmTransaction,
  SystemProgram,
  Transaction,
  TransactionMessage,
  VersionedTransaction,
  type AccountInfo,
} from '@solana/web3.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemProgram, tokenProgram, wrappedSolMint } from '@sluice/shared/solana/well-known.ts';
import type { ChainAccount } from './chain.ts';
import { emptyExecution, ScriptedChain, scriptedRecord, seededKeypair } from './scripted-chain.ts';
import { startSimnet, type Simnet } from './simnet.ts';
import { connectWeb3, type Web3 } from '../support/chain/web3.ts';

/** Resolves with the first value that `listen` reports. */
function first<T>(listen: (report: (value: T) => void) => void): Promise<T> {
  return new Promise((resolve) => {
    listen(resolve);
  });
}

async function subscribed(simnet: Simnet, count: number): Promise<void> {
  while (simnet.subscriptions() < count) await new Promise((resolve) => setImmediate(resolve));
}

describe('web3.js accepts every answer', () => {
  const program = seededKeypair('program').publicKey;
  const programKey = new PublicKey(program);
  const wallet = new PublicKey(seededKeypair('wallet').publicKey);
  const records = [
    scriptedRecord('legacy', program, [Uint8Array.of(1)]),
    scriptedRecord('failed', program, [], { err: { InstructionError: [0, { Custom: 6002 }] } }),
    scriptedRecord('v0', program, [], {
      messageVersion: 0,
      innerInstructions: [
        { index: 0, instructions: [{ programId: program, accounts: [program], data: Uint8Array.of(9), stackHeight: 2 }] },
      ],
      preTokenBalances: [{ accountIndex: 0, mint: wrappedSolMint, owner: program, programId: tokenProgram, amount: 5n, decimals: 9 }],
    }),
  ] as const;
  const [legacy, failed, v0] = records;
  let chain: ScriptedChain;
  let simnet: Simnet;
  let web3: Web3;
  let connection: Connection;

  beforeAll(async () => {
    chain = new ScriptedChain();
    const mintData = new Uint8Array(82);
    mintData[44] = 6;
    mintData[45] = 1;
    const account = (owner: string, data: Uint8Array): ChainAccount => ({ lamports: 5_000_000n, owner, data, executable: false });
    const tokenData = new Uint8Array(165);
    tokenData.set(new PublicKey(wrappedSolMint).toBytes(), 0);
    tokenData.set(wallet.toBytes(), 32);
    tokenData[64] = 42;
    tokenData[108] = 1;
    chain.accounts.set(wallet.toBase58(), account(systemProgram, new Uint8Array(0)));
    chain.accounts.set(wrappedSolMint, account(tokenProgram, mintData));
    chain.accounts.set(seededKeypair('ata').publicKey, account(tokenProgram, tokenData));
    chain.accounts.set(seededKeypair('state').publicKey, account(program, Uint8Array.of(1, 2, 3)));
    simnet = await startSimnet({ chain });
    web3 = connectWeb3(simnet);
    ({ connection } = web3);
    chain.freeze(records);
    chain.confirm(chain.slot);
    chain.finalize(chain.slot);
  });

  afterAll(async () => {
    web3.close();
    await simnet.close();
  });

  it('about the cluster', async () => {
    expect(await connection.getVersion()).toMatchObject({ 'solana-core': expect.stringMatching(/-simnet$/) });
    expect(await connection.getGenesisHash()).toBe(chain.genesisHash);
    expect(await connection.getSlot()).toBe(1_001);
    expect(await connection.getBlockHeight()).toBe(901);
    expect(await connection.getEpochInfo()).toMatchObject({ absoluteSlot: 1_001, slotsInEpoch: 432_000 });
    expect(await connection.getTransactionCount()).toBe(3);
    expect((await connection.getEpochSchedule()).slotsPerEpoch).toBe(432_000);
    expect(await connection.getLatestBlockhash()).toEqual(chain.latestBlockhash());
    expect((await connection.isBlockhashValid(chain.latestBlockhash().blockhash)).value).toBe(true);
    expect(await connection.getMinimumBalanceForRentExemption(0)).toBe(650_240);
    expect(typeof (await connection.getSlotLeader())).toBe('string');
    expect(await connection.getSlotLeaders(1_000, 2)).toHaveLength(2);
    expect(await connection.getClusterNodes()).toEqual([]);
    expect(await connection.getFirstAvailableBlock()).toBe(1_001);
    expect(await connection.getRecentPrioritizationFees()).toEqual([{ slot: 1_001, prioritizationFee: 0 }]);
    expect(await connection.getBlockTime(1_001)).toBe(1_790_001_001);
    expect(await connection.getBlocks(1_000, 1_001)).toEqual([1_001]);
  });

  it('about accounts', async () => {
    const [ata, state] = [new PublicKey(seededKeypair('ata').publicKey), new PublicKey(seededKeypair('state').publicKey)];
    expect(await connection.getBalance(wallet)).toBe(5_000_000);
    expect((await connection.getAccountInfo(state))?.data).toEqual(Buffer.from([1, 2, 3]));
    expect(await connection.getAccountInfo(new PublicKey(seededKeypair('nobody').publicKey))).toBeNull();
    expect((await connection.getParsedAccountInfo(ata)).value?.data).toMatchObject({ program: 'spl-token', parsed: { type: 'account' } });
    expect((await connection.getMultipleAccountsInfo([state, ata])).map((account) => account?.data.length)).toEqual([3, 165]);
    expect((await connection.getMultipleParsedAccounts([state, ata])).value).toHaveLength(2);
    expect((await connection.getProgramAccounts(programKey, { filters: [{ dataSize: 3 }] })).map(({ pubkey }) => pubkey)).toEqual([state]);
    expect((await connection.getProgramAccounts(programKey, { withContext: true })).context.slot).toBe(1_001);
    expect(await connection.getParsedProgramAccounts(new PublicKey(tokenProgram))).toHaveLength(2);
    expect((await connection.getTokenAccountsByOwner(wallet, { mint: new PublicKey(wrappedSolMint) })).value).toHaveLength(1);
    expect((await connection.getParsedTokenAccountsByOwner(wallet, { programId: new PublicKey(tokenProgram) })).value).toHaveLength(1);
    expect((await connection.getTokenAccountBalance(ata)).value.amount).toBe('42');
    expect((await connection.getTokenSupply(new PublicKey(wrappedSolMint))).value.amount).toBe('0');
  });

  it('about transactions', async () => {
    const newest = { maxSupportedTransactionVersion: 1 } as const;
    expect((await connection.getTransaction(legacy.signature, newest))?.meta?.logMessages).toEqual(legacy.logs);
    expect((await connection.getTransaction(v0.signature, newest))?.version).toBe(0);
    expect((await connection.getParsedTransaction(v0.signature, newest))?.meta?.innerInstructions).toHaveLength(1);
    expect(await connection.getParsedTransactions([legacy.signature, failed.signature], newest)).toHaveLength(2);
    await expect(connection.getTransaction(v0.signature)).rejects.toThrow('maxSupportedTransactionVersion');
    expect((await connection.getSignaturesForAddress(programKey, { limit: 2 })).map(({ signature }) => signature)).toEqual([
      v0.signature,
      failed.signature,
    ]);
    expect((await connection.getSignatureStatus(failed.signature)).value).toMatchObject({
      confirmationStatus: 'finalized',
      err: failed.err,
    });
    expect((await connection.getBlock(1_001, newest))?.transactions).toHaveLength(3);
    expect((await connection.getParsedBlock(1_001, newest)).transactions).toHaveLength(3);
    expect((await connection.getBlock(1_001, { ...newest, transactionDetails: 'none' }))?.blockhash).toBe(
      chain.latestBlockhash().blockhash,
    );
    expect((await connection.getBlockSignatures(1_001)).signatures).toEqual(records.map(({ signature }) => signature));
  });

  it('about sending', async () => {
    const sender = Keypair.fromSeed(seededKeypair('wallet').seed);
    const { blockhash } = await connection.getLatestBlockhash();
    const transfer = SystemProgram.transfer({ fromPubkey: sender.publicKey, toPubkey: programKey, lamports: 1 });
    const message = new TransactionMessage({
      payerKey: sender.publicKey,
      recentBlockhash: blockhash,
      instructions: [transfer],
    }).compileToV0Message();
    expect((await connection.getFeeForMessage(message)).value).toBe(5_000);
    const transaction = new VersionedTransaction(message);
    transaction.sign([sender]);
    chain.simulation = { ...emptyExecution, logs: ['Program 1 success'], returnData: { programId: program, data: Uint8Array.of(1) } };
    const accounts = { encoding: 'base64' as const, addresses: [wallet.toBase58()] };
    const simulated = await connection.simulateTransaction(transaction, { innerInstructions: true, accounts });
    expect(simulated.value).toMatchObject({ err: null, unitsConsumed: 150, returnData: { programId: program, data: ['AQ==', 'base64'] } });
    expect(typeof (await connection.sendTransaction(transaction))).toBe('string');
    expect(typeof (await connection.requestAirdrop(wallet, 5))).toBe('string');
    const data = { err: { InstructionError: [0, { Custom: 1 }] }, logs: ['Program log: no'], unitsConsumed: 1 };
    chain.sendOutcome = { ok: false, code: -32002, message: 'Transaction simulation failed: no', data };
    await expect(connection.sendTransaction(transaction)).rejects.toMatchObject({ transactionError: { logs: ['Program log: no'] } });
    chain.sendOutcome = null;
  });

  it('in notifications', async () => {
    const state = seededKeypair('state').publicKey;
    const record = scriptedRecord('reported', program, [Uint8Array.of(7)], {
      written: new Map([[state, { lamports: 9n, owner: program, data: Uint8Array.of(4), executable: false }]]),
    });
    const logs = first<readonly string[]>((report) =>
      connection.onLogs(programKey, (notification) => report(notification.logs), 'processed'),
    );
    const account = first<AccountInfo<Buffer>>((report) =>
      connection.onAccountChange(new PublicKey(state), report, { commitment: 'processed' }),
    );
    const owned = first<string>((report) =>
      connection.onProgramAccountChange(programKey, ({ accountId }) => report(accountId.toBase58()), {
        commitment: 'confirmed',
        filters: [{ dataSize: 1 }],
      }),
    );
    const signature = first<unknown>((report) => connection.onSignature(record.signature, (result) => report(result.err), 'finalized'));
    const slot = first<number>((report) => connection.onSlotChange((info) => report(info.slot)));
    const root = first<number>((report) => connection.onRootChange(report));
    await subscribed(simnet, 6);
    chain.freeze([record]);
    chain.confirm(chain.slot);
    chain.finalize(chain.slot);
    expect(await logs).toEqual(record.logs);
    expect((await account).data).toEqual(Buffer.from([4]));
    expect([await owned, await signature, await slot, await root]).toEqual([state, null, 1_002, 1_002]);
  });
});

describe('web3.js on the simulated chain', () => {
  it('sends a transfer and sees it confirmed', async () => {
    const simnet = await startSimnet({ seed: 11, market: false, slotMs: 20 });
    const { connection, close } = connectWeb3(simnet);
    const [sender, receiver] = [Keypair.generate(), Keypair.generate()];
    const airdrop = await connection.requestAirdrop(sender.publicKey, 2_000_000_000);
    const latest = await connection.getLatestBlockhash();
    expect((await connection.confirmTransaction({ signature: airdrop, ...latest })).value.err).toBeNull();
    const transfer = SystemProgram.transfer({ fromPubkey: sender.publicKey, toPubkey: receiver.publicKey, lamports: 1_000_000_000 });
    const signature = await sendAndConfirmTransaction(connection, new Transaction().add(transfer), [sender]);
    expect(await connection.getBalance(receiver.publicKey)).toBe(1_000_000_000);
    expect(await connection.getBalance(sender.publicKey)).toBe(1_000_000_000 - 5_000);
    const shown = await connection.getParsedTransaction(signature, { maxSupportedTransactionVersion: 1 });
    expect(shown?.meta).toMatchObject({ err: null, fee: 5_000 });
    const poor = SystemProgram.transfer({ fromPubkey: sender.publicKey, toPubkey: receiver.publicKey, lamports: 5_000_000_000 });
    await expect(sendAndConfirmTransaction(connection, new Transaction().add(poor), [sender])).rejects.toThrow(/simulation failed/i);
    close();
    await simnet.close();
  });
});
