import { decodeBase58, encodeBase58, isAddress, maxBase58Chars } from '@sluice/shared/solana/encoding/base58.ts';
import * as constants from '../simnet/programs/constants.ts';
import { isOnCurve } from '@sluice/shared/solana/addresses/curve.ts';
import { generateKeypair, signMessage, verifySignature } from '@sluice/shared/solana/addresses/keypair.ts';
import { associatedTokenAddress, findProgramAddress } from '@sluice/shared/solana/addresses/pda.ts';
import { token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import * as pumpAmmProgram from '@sluice/venues/pump/amm/program.ts';
import * as pumpProgram from '@sluice/venues/pump/curve/program.ts';
import { Keypair, PublicKey } from '@solana/web3.js';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const key = fc.uint8Array({ minLength: 32, maxLength: 32 });
/** Keys with zeros in front, of ones, and at the edges of a limb. */
const hardKey = fc
  .tuple(key, fc.nat(32), fc.constantFrom(0, 255))
  .map(([bytes, count, fill]) => bytes.map((byte, index) => (index < count ? fill : byte)));

/** Base58 by its definition: the digits of the number, and a `1` for each leading zero byte. Slow, but obviously correct. */
function reference(bytes: Uint8Array): string {
  let value = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  for (; value > 0n; value /= 58n) text = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'[Number(value % 58n)]! + text;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeros === -1 ? bytes.length : zeros) + text;
}

describe('base58', () => {
  it('encodes addresses as web3.js does', () => {
    fc.assert(
      fc.property(fc.oneof(key, hardKey), (bytes) => {
        const text = encodeBase58(bytes);
        expect(text).toBe(new PublicKey(bytes).toBase58());
        expect(isAddress(text)).toBe(true);
        expect(decodeBase58(text)).toEqual(bytes);
      }),
      { seed: 1, numRuns: 5000 },
    );
    for (const fill of [0, 1, 127, 128, 255])
      expect(encodeBase58(new Uint8Array(32).fill(fill))).toBe(reference(new Uint8Array(32).fill(fill)));
  });

  it('encodes and decodes any length, signatures among them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 130 }), fc.nat(8), (tail, zeros) => {
        const bytes = new Uint8Array([...new Uint8Array(zeros), ...tail]);
        const text = encodeBase58(bytes);
        expect(text).toBe(reference(bytes));
        expect(decodeBase58(text)).toEqual(bytes);
        expect(isAddress(text)).toBe(bytes.length === 32);
      }),
      { seed: 2, numRuns: 3000 },
    );
  });

  it('encodes a part of a buffer, and refuses a range outside of it', () => {
    const bytes = Buffer.concat([Buffer.alloc(5, 7), Buffer.alloc(32, 9), Buffer.alloc(3)]);
    expect(encodeBase58(bytes, 5, 32)).toBe(encodeBase58(Buffer.alloc(32, 9)));
    expect(() => encodeBase58(bytes, 20, 32)).toThrow(RangeError);
  });

  it('refuses what is not base58', () => {
    for (const text of ['0', 'O', 'I', 'l', 'abc def', 'abc\n', 'é', '\u0131', '1'.repeat(maxBase58Chars + 1)])
      expect(decodeBase58(text)).toBeNull();
    expect(decodeBase58('')).toEqual(new Uint8Array(0));
    expect(decodeBase58('1'.repeat(maxBase58Chars))).toHaveLength(maxBase58Chars);
    for (const text of ['', '1'.repeat(31), '1'.repeat(33), 'So1111111111111111111111111111111111111111O', 'z'.repeat(44)])
      expect(isAddress(text)).toBe(false);
    expect(isAddress('1'.repeat(32))).toBe(true);
  });

  it('decodes the longest text in time', () => {
    const startedAt = performance.now();
    expect(decodeBase58('z'.repeat(maxBase58Chars))).not.toBeNull();
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});

describe('program derived addresses', () => {
  it('finds the points of the curve as web3.js does', () => {
    let on = 0;
    fc.assert(
      fc.property(key, (bytes) => {
        const answer = isOnCurve(bytes);
        expect(answer).toBe(PublicKey.isOnCurve(bytes));
        if (answer) on++;
      }),
      { seed: 3, numRuns: 2000 },
    );
    expect(on).toBeGreaterThan(800);
    const point = generateKeypair(new Uint8Array(32).fill(3)).publicKeyBytes;
    expect(isOnCurve(point)).toBe(true);
    // y = 1 is the neutral point, y = 0 has x = sqrt(-1).
    const small = new Uint8Array(32);
    expect(isOnCurve(small)).toBe(PublicKey.isOnCurve(small));
    small[0] = 1;
    expect(isOnCurve(small)).toBe(PublicKey.isOnCurve(small));
  });

  it('derives what web3.js derives', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 32 }), { maxLength: 6 }), key, (seeds, program) => {
        const programId = new PublicKey(program);
        const [address, bump] = PublicKey.findProgramAddressSync(seeds, programId);
        expect(findProgramAddress(seeds, programId.toBase58())).toEqual({ address: address.toBase58(), bump });
      }),
      { seed: 4, numRuns: 300 },
    );
    expect(() => findProgramAddress([new Uint8Array(33)], pumpProgram.programId)).toThrow(RangeError);
    expect(() =>
      findProgramAddress(
        Array.from({ length: 16 }, () => new Uint8Array(1)),
        pumpProgram.programId,
      ),
    ).toThrow(RangeError);
    expect(() => findProgramAddress([], 'no address')).toThrow(TypeError);
  });

  it('gives the published addresses of both programs', () => {
    const own = (seed: string, program: string): string => findProgramAddress([Buffer.from(seed)], program).address;
    expect(own('global', pumpProgram.programId)).toBe(pumpProgram.globalAddress);
    expect(own('__event_authority', pumpProgram.programId)).toBe(pumpProgram.eventAuthority);
    expect(own('mint-authority', pumpProgram.programId)).toBe(pumpProgram.mintAuthority);
    expect(own('global_volume_accumulator', pumpProgram.programId)).toBe(pumpProgram.globalVolumeAccumulator);
    expect(own('quote-control', pumpProgram.programId)).toBe(pumpProgram.quoteControl);
    expect(own('__event_authority', pumpProgram.feeProgram)).toBe(constants.feeEventAuthority);
    expect(own('global-params', pumpProgram.mayhemProgram)).toBe(constants.mayhemGlobalParams);
    expect(own('sol-vault', pumpProgram.mayhemProgram)).toBe(constants.mayhemSolVault);
    expect(own('global_config', pumpAmmProgram.programId)).toBe(pumpAmmProgram.globalConfig);
    expect(own('__event_authority', pumpAmmProgram.programId)).toBe(pumpAmmProgram.eventAuthority);
    expect(own('global_volume_accumulator', pumpAmmProgram.programId)).toBe(pumpAmmProgram.globalVolumeAccumulator);
    for (const { feeConfig, programId } of [pumpProgram, pumpAmmProgram]) {
      const seeds = [Buffer.from('fee_config'), new PublicKey(programId).toBytes()];
      expect(findProgramAddress(seeds, pumpProgram.feeProgram).address).toBe(feeConfig);
    }
  });

  it('gives associated token accounts under both token programs', () => {
    // Taken from a recorded transaction: the curve 3jJ8… and the wallet 5htG… hold CWiT…pump under Token-2022.
    const mint = 'CWiTGbCiDd8BKtNYNE2boT9fJGFG2MU53Uf6HQk4pump';
    expect(associatedTokenAddress('3jJ83NDorkbFkF1JKbEfFWGeX16aXUiwby9RwJm9kat3', mint, token2022Program)).toBe(
      'Cd4iC3Jndc2WVud6rAs1cwx8SkUQhCN5TxXbfRtbHLCF',
    );
    expect(associatedTokenAddress('5htGpHK2oV9g2BcDqLdRBqjCLdy8mc3fsESfR5DU73eM', mint, token2022Program)).toBe(
      'HkugJFWzibGu4qpCcXRnhgtcLfzoUoFxvNVA53ntg3aL',
    );
    expect(associatedTokenAddress('5htGpHK2oV9g2BcDqLdRBqjCLdy8mc3fsESfR5DU73eM', mint, tokenProgram)).not.toBe(
      'HkugJFWzibGu4qpCcXRnhgtcLfzoUoFxvNVA53ntg3aL',
    );
    expect(pumpProgram.bondingCurveAddress(mint)).toBe('3jJ83NDorkbFkF1JKbEfFWGeX16aXUiwby9RwJm9kat3');
  });
});

describe('keypairs', () => {
  it('have the address that web3.js gives the same seed, and sign what verifies', () => {
    fc.assert(
      fc.property(key, fc.uint8Array({ maxLength: 200 }), (seed, message) => {
        const keypair = generateKeypair(seed);
        expect(keypair.publicKey).toBe(Keypair.fromSeed(seed).publicKey.toBase58());
        const signature = signMessage(keypair, message);
        expect(signature).toHaveLength(64);
        expect(verifySignature(keypair.publicKey, message, signature)).toBe(true);
        expect(verifySignature(keypair.publicKey, new Uint8Array([...message, 1]), signature)).toBe(false);
        expect(
          verifySignature(
            keypair.publicKey,
            message,
            signature.map((byte, index) => (index === 5 ? byte ^ 1 : byte)),
          ),
        ).toBe(false);
      }),
      { seed: 5, numRuns: 100 },
    );
  });

  it('sign alike when the object was copied, and differ when made twice', () => {
    const keypair = generateKeypair(new Uint8Array(32).fill(1));
    const message = Buffer.from('message');
    expect(signMessage({ ...keypair }, message)).toEqual(signMessage(keypair, message));
    expect(generateKeypair().publicKey).not.toBe(generateKeypair().publicKey);
    expect(() => generateKeypair(new Uint8Array(31))).toThrow(RangeError);
    expect(verifySignature('no address', message, new Uint8Array(64))).toBe(false);
    expect(verifySignature(keypair.publicKey, message, new Uint8Array(63))).toBe(false);
  });
});

describe('toUi', () => {
  it('is the double nearest to the amount', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.nat(30), (raw, decimals) => {
        expect(toUi(raw, decimals)).toBe(Number(`${raw}e-${decimals}`));
      }),
      { seed: 6, numRuns: 5000 },
    );
    expect(toUi(1_000_000_000_000_000n, 6)).toBe(1_000_000_000);
    expect(toUi(-1n, 9)).toBe(-1e-9);
    expect(toUi(0n, 0)).toBe(0);
  });
});
