import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { decodeMetaplex, metaplexAddress } from '@sluice/shared/solana/tokens/metaplex.ts';
import { decodeMint } from '@sluice/shared/solana/tokens/mint.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import { noExtensions } from '@sluice/shared/solana/tokens/token-extensions.ts';
import type { PublicKey, TransactionInstruction } from '@solana/web3.js';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { metadataProgram, token2022Program, tokenProgram, zeroAddress } from '@sluice/shared/solana/well-known.ts';
import { splToken } from '../support/chain/spl-token.ts';
import { wallet } from '../simnet/runtime/wallets.ts';
import { createAccountInstruction } from '../simnet/programs/system.ts';
import { RealMachine, type MachineAccount } from '../simnet/support/real-machine.ts';
import { address, alice } from '../simnet/support/test-chain.ts';
import { accountInfo, fromWeb3, key } from '../simnet/support/web3.ts';
import { fixturesNote, fixturesPresent } from './fixtures.ts';

const sol = 1_000_000_000n;
const program2022 = splToken.TOKEN_2022_PROGRAM_ID;
const [authority, hook, delegate, closer] = ['authority', 'hook', 'delegate', 'closer'].map(address) as [string, string, string, string];

interface MintPlan {
  readonly types: readonly string[];
  readonly settings: (mint: PublicKey) => TransactionInstruction[];
  readonly decimals?: number;
  readonly freeze?: boolean;
  readonly more?: (mint: PublicKey) => TransactionInstruction[];
}

const machine = new RealMachine([alice], 1_000n * sol);

/** Lets the real program make a mint with extensions. */
function makeMint(
  name: string,
  { types, settings, decimals = 6, freeze = true, more = () => [] }: MintPlan,
): MachineAccount & { readonly address: PublicKey } {
  const mint = wallet('golden', name);
  const at = key(mint.publicKey);
  const length = splToken.getMintLen(types.map((type) => splToken.ExtensionType[type]!));
  const owner = key(alice.publicKey);
  const create = createAccountInstruction(alice.publicKey, mint.publicKey, sol, length, token2022Program);
  const initialize = splToken.createInitializeMint2Instruction(at, decimals, owner, freeze ? owner : null, program2022);
  const result = machine.run([create, ...[...settings(at), initialize, ...more(at)].map(fromWeb3)], [alice, mint]);
  expect(result.failed ? [result.error, ...result.logs] : []).toEqual([]);
  return { ...machine.account(mint.publicKey)!, address: at };
}

/** What the published library reads of the same bytes. */
function reference(account: MachineAccount & { readonly address: PublicKey }) {
  return splToken.unpackMint(account.address, accountInfo({ ...account, executable: false }), program2022);
}

describe('mints that the real program created', () => {
  it('reads the extensions that charge a part of a transfer, or control it', () => {
    const types = [
      'TransferFeeConfig',
      'TransferHook',
      'PermanentDelegate',
      'DefaultAccountState',
      'MintCloseAuthority',
      'InterestBearingConfig',
      'MetadataPointer',
    ];
    const account = makeMint('many', {
      types,
      settings: (mint) => [
        splToken.createInitializeTransferFeeConfigInstruction(mint, key(authority), key(closer), 250, 5_000_000n, program2022),
        splToken.createInitializeTransferHookInstruction(mint, key(authority), key(hook), program2022),
        splToken.createInitializePermanentDelegateInstruction(mint, key(delegate), program2022),
        splToken.createInitializeDefaultAccountStateInstruction(mint, 2, program2022),
        splToken.createInitializeMintCloseAuthorityInstruction(mint, key(closer), program2022),
        splToken.createInitializeInterestBearingMintInstruction(mint, key(authority), -321, program2022),
        splToken.createInitializeMetadataPointerInstruction(mint, null, key(hook), program2022),
      ],
    });
    const mint = decodeMint(token2022Program, account.data)!;
    const known = reference(account);
    expect(mint).toMatchObject({
      tokenProgram: token2022Program,
      decimals: 6,
      supply: 0n,
      mintAuthority: alice.publicKey,
      freezeAuthority: alice.publicKey,
    });
    expect(mint.extensions).toEqual({
      ...noExtensions,
      transferFee: {
        configAuthority: authority,
        withdrawAuthority: closer,
        older: { epoch: 0n, maxFee: 5_000_000n, bps: 250 },
        newer: { epoch: 0n, maxFee: 5_000_000n, bps: 250 },
      },
      transferHook: { authority, programId: hook },
      permanentDelegate: delegate,
      defaultAccountState: 'frozen',
      closeAuthority: closer,
      interestBearing: { authority, rateBps: -321 },
      metadataPointer: hook,
    });
    const fee = splToken.getTransferFeeConfig(known)!;
    expect(fee.newerTransferFee.transferFeeBasisPoints).toBe(mint.extensions.transferFee!.newer.bps);
    expect(fee.olderTransferFee.maximumFee).toBe(mint.extensions.transferFee!.older.maxFee);
    expect(fee.withdrawWithheldAuthority.toBase58()).toBe(closer);
    expect(splToken.getTransferHook(known)!.programId.toBase58()).toBe(hook);
    expect(splToken.getPermanentDelegate(known)!.delegate.toBase58()).toBe(delegate);
    expect(splToken.getDefaultAccountState(known)!.state).toBe(2);
    expect(splToken.getMintCloseAuthority(known)!.closeAuthority.toBase58()).toBe(closer);
    expect(splToken.getInterestBearingMintConfigState(known)!.currentRate).toBe(-321);
    expect(splToken.getMetadataPointerState(known)!.metadataAddress!.toBase58()).toBe(hook);
  });

  it('reads a new fee and the one that still applies', () => {
    const account = makeMint('fee', {
      types: ['TransferFeeConfig'],
      settings: (mint) => [splToken.createInitializeTransferFeeConfigInstruction(mint, key(alice.publicKey), null, 100, 10n, program2022)],
      more: (mint) => [splToken.createSetTransferFeeInstruction(mint, key(alice.publicKey), [], 9_999, 77n, program2022)],
    });
    const fee = decodeMint(token2022Program, account.data)!.extensions.transferFee!;
    const known = splToken.getTransferFeeConfig(reference(account))!;
    expect(fee.withdrawAuthority).toBeNull();
    expect(fee.newer).toEqual({ epoch: known.newerTransferFee.epoch, maxFee: 77n, bps: 9_999 });
    expect(fee.older).toEqual({ epoch: known.olderTransferFee.epoch, maxFee: 10n, bps: 100 });
    expect(fee.newer.epoch).toBeGreaterThan(fee.older.epoch);
  });

  it('reads tokens that cannot move, can be paused, or are displayed with another scale', () => {
    const bound = makeMint('bound', {
      types: ['NonTransferable'],
      settings: (mint) => [splToken.createInitializeNonTransferableMintInstruction(mint, program2022)],
    });
    expect(decodeMint(token2022Program, bound.data)!.extensions).toEqual({ ...noExtensions, nonTransferable: true });
    const paused = makeMint('paused', {
      types: ['PausableConfig'],
      settings: (mint) => [splToken.createInitializePausableConfigInstruction(mint, key(authority), program2022)],
    });
    expect(decodeMint(token2022Program, paused.data)!.extensions).toEqual({ ...noExtensions, pausable: { authority, paused: false } });
    const scaled = makeMint('scaled', {
      types: ['ScaledUiAmountConfig'],
      settings: (mint) => [splToken.createInitializeScaledUiAmountConfigInstruction(mint, key(authority), 2.5, program2022)],
    });
    expect(decodeMint(token2022Program, scaled.data)!.extensions).toMatchObject({
      scaledUiAmount: { authority, multiplier: 2.5, newMultiplier: 2.5 },
    });
  });

  it('reads a mint without extensions, and one without authorities', () => {
    const account = makeMint('plain', { types: [], settings: () => [], decimals: 0, freeze: false });
    expect(account.data).toHaveLength(82);
    expect(decodeMint(token2022Program, account.data)).toEqual({
      tokenProgram: token2022Program,
      mintAuthority: alice.publicKey,
      supply: 0n,
      decimals: 0,
      freezeAuthority: null,
      extensions: noExtensions,
    });
  });

  it('reads token accounts of such a mint, also frozen ones, and accepts none as a mint', () => {
    const mint = makeMint('held', {
      types: ['TransferHook'],
      settings: (at) => [splToken.createInitializeTransferHookInstruction(at, key(authority), key(hook), program2022)],
    });
    const holder = wallet('golden', 'holder');
    const owner = key(alice.publicKey);
    const at = key(holder.publicKey);
    const run = (...instructions: TransactionInstruction[]): void => {
      const result = machine.run(instructions.map(fromWeb3), [alice]);
      expect(result.failed ? result.logs : []).toEqual([]);
    };
    // With the extensions that the mint asks of its accounts.
    const create = createAccountInstruction(alice.publicKey, holder.publicKey, sol, 165 + 1 + 5, token2022Program);
    const made = machine.run(
      [create, fromWeb3(splToken.createInitializeAccount3Instruction(at, mint.address, owner, program2022))],
      [alice, holder],
    );
    expect(made.failed ? made.logs : []).toEqual([]);
    run(splToken.createMintToInstruction(mint.address, at, owner, 123_456_789n, [], program2022));
    const read = (): MachineAccount => machine.account(holder.publicKey)!;
    const expected = { mint: mint.address.toBase58(), owner: alice.publicKey, amount: 123_456_789n };
    expect(decodeTokenAccount(token2022Program, read().data)).toEqual({ ...expected, frozen: false });
    run(splToken.createFreezeAccountInstruction(at, mint.address, owner, [], program2022));
    const known = splToken.unpackAccount(at, accountInfo({ ...read(), executable: false }), program2022);
    expect(decodeTokenAccount(token2022Program, read().data)).toEqual({ ...expected, frozen: known.isFrozen });
    expect(known.isFrozen).toBe(true);
    expect(decodeMint(token2022Program, read().data)).toBeNull();
    expect(decodeTokenAccount(token2022Program, mint.data)).toBeNull();
    expect(decodeMint(token2022Program, machine.account(mint.address.toBase58())!.data)!.supply).toBe(123_456_789n);
    // Of the other program such an account cannot be.
    expect(decodeTokenAccount(tokenProgram, read().data)).toBeNull();
    expect(decodeMint(tokenProgram, mint.data)).toBeNull();
  });

  it('refuses each of them if it is cut, or the length of an extension is changed', () => {
    const { data } = makeMint('cut', {
      types: ['TransferFeeConfig'],
      settings: (mint) => [splToken.createInitializeTransferFeeConfigInstruction(mint, null, null, 1, 1n, program2022)],
    });
    // A length of 82 is a mint without extensions, one of 165 a token account; beyond them the entry runs out of the account.
    for (let length = 0; length < data.length; length++) {
      const cut = decodeMint(token2022Program, data.subarray(0, length));
      if (length === 82) expect(cut!.extensions).toEqual(noExtensions);
      // Up to four bytes behind the account type are padding.
      else if (length >= 166 && length < 170) expect(cut!.extensions).toEqual(noExtensions);
      else expect(cut, `${length} bytes`).toBeNull();
    }
    const other = Buffer.from(data);
    other.writeUInt16LE(107, 168);
    expect(decodeMint(token2022Program, other)).toBeNull();
    const uninitialized = Buffer.from(data);
    uninitialized[45] = 0;
    expect(decodeMint(token2022Program, uninitialized)).toBeNull();
  });
});

describe('any bytes', () => {
  it('are read without an exception', () => {
    const owner = fc.constantFrom(tokenProgram, token2022Program, metadataProgram, zeroAddress);
    const length = fc.constantFrom(0, 1, 81, 82, 83, 165, 166, 170, 234, 355, 400);
    fc.assert(
      fc.property(owner, length, fc.uint8Array({ minLength: 400, maxLength: 400 }), (program, size, bytes) => {
        const data = bytes.subarray(0, size);
        if (size > 165) data[165] = (data[165]! & 1) + 1;
        if (size > 45) data[45] = 1;
        decodeMint(program, data);
        decodeTokenAccount(program, data);
        data[0] = 4;
        decodeMetaplex(program, data);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('Metaplex metadata', () => {
  /** `Metadata` as the program has written it: texts padded with zeros, then fee, creators, flags. */
  function metadata(text: readonly [string, string, string], tail: Buffer): Buffer {
    const padded = (value: string, length: number): Buffer => {
      const bytes = Buffer.alloc(4 + length);
      bytes.writeUInt32LE(length);
      bytes.write(value, 4);
      return bytes;
    };
    return Buffer.concat([
      Buffer.of(4),
      addressBytes(authority),
      addressBytes(hook),
      padded(text[0], 32),
      padded(text[1], 10),
      padded(text[2], 200),
      tail,
    ]);
  }
  const creators = Buffer.concat([Buffer.of(1, 1, 0, 0, 0), Buffer.alloc(34)]);
  const texts = ['Käse 🧀', 'KAESE', 'https://example.com/k.json'] as const;

  it('has strings without padding, and the authority that may change them', () => {
    const mutable = metadata(texts, Buffer.concat([Buffer.of(0, 0), creators, Buffer.of(1, 1)]));
    const expected = { updateAuthority: authority, mint: hook, name: texts[0], symbol: texts[1], uri: texts[2] };
    expect(decodeMetaplex(metadataProgram, mutable)).toEqual(expected);
    const fixed = metadata(texts, Buffer.concat([Buffer.of(0, 0), Buffer.of(0), Buffer.of(1, 0)]));
    expect(decodeMetaplex(metadataProgram, fixed)).toEqual({ ...expected, updateAuthority: null });
    expect(decodeMetaplex(token2022Program, mutable)).toBeNull();
    expect(decodeMetaplex(metadataProgram, mutable.subarray(0, 200))).toBeNull();
  });

  it('has the address that mainnet uses', () => {
    // USDC's, as explorers show it.
    expect(metaplexAddress('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v')).toBe('5x38Kp4hvdomTCnCrAny4UtMUt5rQBdB6px2K1Ui45Wq');
  });
});

describe.skipIf(!fixturesPresent)(`mints and vaults of mainnet pools (${fixturesNote})`, () => {
  const folder = new URL('../../../shared/fixtures/accounts/meteora-dlmm/', import.meta.url);

  it('equal what the published library reads', () => {
    let mints = 0;
    let vaults = 0;
    let withFee = 0;
    for (const pair of readdirSync(folder).filter((name) => !name.startsWith('json-'))) {
      for (const file of readdirSync(new URL(`${pair}/`, folder))) {
        const data = readFileSync(new URL(`${pair}/${file}`, folder));
        // The files do not say the program; only one of the two makes longer ones.
        const owner = data.length === 82 || data.length === 165 ? tokenProgram : token2022Program;
        const info = accountInfo({ data, owner, lamports: sol, executable: false });
        if (file.endsWith('_mint.bin')) {
          const known = splToken.unpackMint(key(zeroAddress), info, key(owner));
          const mint = decodeMint(owner, data)!;
          const fee = splToken.getTransferFeeConfig(known);
          expect(mint.extensions.transferFee?.newer.bps ?? null).toBe(fee?.newerTransferFee.transferFeeBasisPoints ?? null);
          if (fee !== null) withFee++;
          expect(mint).toMatchObject({
            tokenProgram: owner,
            mintAuthority: known.mintAuthority?.toBase58() ?? null,
            supply: known.supply,
            decimals: known.decimals,
            freezeAuthority: known.freezeAuthority?.toBase58() ?? null,
          });
          mints++;
        } else if (file.startsWith('reserve_')) {
          const known = splToken.unpackAccount(key(zeroAddress), info, key(owner));
          expect(decodeTokenAccount(owner, data)).toEqual({
            mint: known.mint.toBase58(),
            owner: known.owner.toBase58(),
            amount: known.amount,
            frozen: known.isFrozen,
          });
          vaults++;
        }
      }
    }
    expect(mints).toBeGreaterThan(2);
    expect(vaults).toBeGreaterThan(4);
    expect(withFee).toBeGreaterThan(0);
  });
});
