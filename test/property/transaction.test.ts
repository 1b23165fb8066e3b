import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { generateKeypair, type Keypair, signMessage, verifySignature } from '@sluice/shared/solana/addresses/keypair.ts';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import {
  advancesNonce,
  assembleTransaction,
  compileMessage,
  decodeTransaction,
  type DecodedTransaction,
  type Instruction,
  signatureFromText,
  withoutSignatures,
} from '@sluice/shared/solana/transaction/transaction.ts';
import { systemProgram } from '@sluice/shared/solana/well-known.ts';
import { MessageV0, MessageV1, PublicKey, TransactionInstruction, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import * as fc from 'fast-check';
import { FailedTransactionMetadata, LiteSVM } from 'litesvm';
import { describe, expect, it } from 'vitest';

const keypairs = Array.from({ length: 6 }, (_, index) => generateKeypair(new Uint8Array(32).fill(index + 1)));
const byAddress = new Map(keypairs.map((keypair) => [keypair.publicKey, keypair]));
const blockhash = encodeBase58(new Uint8Array(32).fill(9));
const programs = Array.from({ length: 3 }, (_, index) => encodeBase58(new Uint8Array(32).fill(100 + index)));

const account = fc.record({ index: fc.nat(11), signer: fc.boolean(), writable: fc.boolean() }).map(({ index, signer, writable }) =>
  // The first six have keys and may sign; the others never do.
  index < 6
    ? { address: keypairs[index]!.publicKey, signer, writable }
    : { address: encodeBase58(new Uint8Array(32).fill(50 + index)), signer: false, writable },
);
const instruction: fc.Arbitrary<Instruction> = fc.record({
  programId: fc.constantFrom(...programs),
  accounts: fc.array(account, { maxLength: 8 }),
  data: fc.uint8Array({ maxLength: 300 }),
});
const parts = fc.record({
  version: fc.constantFrom<'legacy' | 0>('legacy', 0),
  feePayer: fc.constantFrom(...keypairs.map(({ publicKey }) => publicKey)),
  recentBlockhash: fc.constant(blockhash),
  instructions: fc.array(instruction, { minLength: 1, maxLength: 5 }),
});

function decoded(wire: Uint8Array): DecodedTransaction {
  const transaction = decodeTransaction(wire);
  if (transaction.kind === 'malformed') throw new Error(transaction.reason);
  return transaction;
}

/** What a decoded transaction and web3.js's reading of the same bytes have in common. */
function shapeOf(transaction: VersionedTransaction): unknown {
  const { message } = transaction;
  return {
    version: message.version,
    signatures: transaction.signatures.map((signature) => encodeBase58(signature)),
    header: [message.header.numRequiredSignatures, message.header.numReadonlySignedAccounts, message.header.numReadonlyUnsignedAccounts],
    accountKeys: message.staticAccountKeys.map((key) => key.toBase58()),
    recentBlockhash: message.recentBlockhash,
    instructions: message.compiledInstructions.map(({ programIdIndex, accountKeyIndexes, data }) => [
      programIdIndex,
      [...accountKeyIndexes],
      Buffer.from(data).toString('hex'),
    ]),
    lookups: message.addressTableLookups.map((lookup) => [
      lookup.accountKey.toBase58(),
      [...lookup.writableIndexes],
      [...lookup.readonlyIndexes],
    ]),
  };
}

function ourShape(transaction: DecodedTransaction): unknown {
  const { header } = transaction;
  return {
    version: transaction.version,
    signatures: transaction.signatures,
    header: [header.requiredSignatures, header.readonlySigned, header.readonlyUnsigned],
    accountKeys: transaction.accountKeys,
    recentBlockhash: transaction.recentBlockhash,
    instructions: transaction.instructions.map(({ programIdIndex, accountIndexes, data }) => [
      programIdIndex,
      [...accountIndexes],
      Buffer.from(data).toString('hex'),
    ]),
    lookups: transaction.addressTableLookups.map(({ table, writableIndexes, readonlyIndexes }) => [
      table,
      [...writableIndexes],
      [...readonlyIndexes],
    ]),
  };
}

/** Signs with the keypairs of the first keys. */
function signAll(message: Uint8Array, signers: readonly string[]): Uint8Array[] {
  return signers.map((address) => signMessage(byAddress.get(address)!, message));
}

describe('legacy and v0', () => {
  it('web3.js reads what we compile in the same way, and the signatures are valid', () => {
    fc.assert(
      fc.property(parts, (message) => {
        const bytes = compileMessage(message);
        const keys = decoded(
          assembleTransaction(
            bytes,
            Array.from({ length: bytes[message.version === 0 ? 1 : 0]! }, () => new Uint8Array(64)),
          ),
        ).accountKeys;
        const signed = signAll(bytes, keys.slice(0, bytes[message.version === 0 ? 1 : 0]));
        const wire = assembleTransaction(bytes, signed);
        fc.pre(wire.length <= 1232); // web3.js does not build or read longer ones
        const ours = decoded(wire);
        expect(ourShape(ours)).toEqual(shapeOf(VersionedTransaction.deserialize(wire)));
        expect(ours.messageBytes).toEqual(bytes);
        expect(ours.accountKeys[0]).toBe(message.feePayer);
        ours.signatures.forEach((signature, index) => {
          expect(verifySignature(ours.accountKeys[index]!, ours.messageBytes, signatureFromText(signature)!)).toBe(true);
        });
        // Every account has the rights that some instruction requested for it.
        for (const [at, { accounts, programId, data }] of message.instructions.entries()) {
          const compiled = ours.instructions[at]!;
          expect(ours.accountKeys[compiled.programIdIndex]).toBe(programId);
          expect(Buffer.from(compiled.data)).toEqual(Buffer.from(data));
          expect(compiled.accountIndexes.map((index) => ours.accountKeys[index])).toEqual(accounts.map(({ address }) => address));
        }
      }),
      { seed: 11, numRuns: 250 },
    );
  });

  it('we read what web3.js compiles in the same way, lookup tables included', () => {
    fc.assert(
      fc.property(parts, (message) => {
        const instructions = message.instructions.map(
          ({ programId, accounts, data }) =>
            new TransactionInstruction({
              programId: new PublicKey(programId),
              keys: accounts.map(({ address, signer, writable }) => ({
                pubkey: new PublicKey(address),
                isSigner: signer,
                isWritable: writable,
              })),
              data: Buffer.from(data),
            }),
        );
        const compiler = new TransactionMessage({ payerKey: new PublicKey(message.feePayer), recentBlockhash: blockhash, instructions });
        const compiled = message.version === 0 ? compiler.compileToV0Message() : compiler.compileToLegacyMessage();
        if (compiled instanceof MessageV0) {
          compiled.addressTableLookups.push({ accountKey: new PublicKey(programs[0]!), writableIndexes: [1, 200], readonlyIndexes: [3] });
        }
        const transaction = new VersionedTransaction(compiled);
        let wire: Uint8Array;
        try {
          wire = transaction.serialize();
        } catch {
          fc.pre(false); // longer than web3.js's buffer
          return;
        }
        const ours = decoded(wire);
        expect(ourShape(ours)).toEqual(shapeOf(transaction));
        // The same rights in the same numbers, in any order of the keys.
        const own = compileMessage(message);
        const at = message.version === 0 ? 1 : 0;
        expect([own[at], own[at + 1], own[at + 2]]).toEqual([
          ours.header.requiredSignatures,
          ours.header.readonlySigned,
          ours.header.readonlyUnsigned,
        ]);
      }),
      { seed: 12, numRuns: 250 },
    );
  });

  it('a v0 transaction without signatures is the same, with zeros in their place', () => {
    const signer = generateKeypair();
    const message = compileMessage({
      version: 0,
      feePayer: signer.publicKey,
      recentBlockhash: systemProgram,
      instructions: [{ programId: systemProgram, accounts: [], data: Uint8Array.of(4, 0, 0, 0) }],
    });
    const wire = assembleTransaction(message, [signMessage(signer, message)]);
    const ours = decoded(wire);
    expect(withoutSignatures(wire, ours)).toEqual(assembleTransaction(message, [new Uint8Array(64)]));
    expect(advancesNonce(ours)).toBe(true);
    expect(advancesNonce(decoded(wire.with(wire.length - 4, 2)))).toBe(false);
  });

  it('the system transfer that we build runs', () => {
    const [payer, recipient] = keypairs as [Keypair, Keypair];
    for (const version of ['legacy', 0] as const) {
      const svm = new LiteSVM();
      svm.airdrop(payer.publicKey as never, 10_000_000_000n as never);
      const message = compileMessage({
        version,
        feePayer: payer.publicKey,
        recentBlockhash: svm.latestBlockhash(),
        instructions: [transfer(payer, recipient, 1_000_000_000n)],
      });
      const outcome = svm.sendTransaction({
        messageBytes: message,
        signatures: { [payer.publicKey]: signMessage(payer, message) },
      } as never);
      expect(outcome).not.toBeInstanceOf(FailedTransactionMetadata);
      expect(svm.getBalance(recipient.publicKey as never)).toBe(1_000_000_000n);
    }
  });
});

function transfer(from: Keypair, to: Keypair, lamports: bigint): Instruction {
  const data = Buffer.alloc(12);
  data.writeUInt32LE(2, 0);
  data.writeBigUInt64LE(lamports, 4);
  return {
    programId: systemProgram,
    accounts: [
      { address: from.publicKey, signer: true, writable: true },
      { address: to.publicKey, signer: false, writable: true },
    ],
    data,
  };
}

interface V1Parts {
  readonly header: readonly [number, number, number];
  readonly keys: readonly Uint8Array[];
  readonly blockhash: Uint8Array;
  readonly config: {
    readonly fee: bigint | null;
    readonly units: number | null;
    readonly loaded: number | null;
    readonly heap: number | null;
  };
  readonly instructions: readonly { readonly program: number; readonly accounts: readonly number[]; readonly data: Uint8Array }[];
}

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const u64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
};

/** A v1 message by the layout of SIMD-0385, field after field. */
function v1Message({ header, keys, blockhash: hash, config, instructions }: V1Parts): Uint8Array {
  const mask =
    (config.fee === null ? 0 : 0b11) |
    (config.units === null ? 0 : 0b100) |
    (config.loaded === null ? 0 : 0b1000) |
    (config.heap === null ? 0 : 0b10000);
  return Buffer.concat([
    Buffer.from([129, ...header]),
    u32(mask),
    hash,
    Buffer.from([instructions.length, keys.length]),
    ...keys,
    config.fee === null ? Buffer.alloc(0) : u64(config.fee),
    ...[config.units, config.loaded, config.heap].filter((value) => value !== null).map(u32),
    ...instructions.map(({ program, accounts, data }) => Buffer.from([program, accounts.length, data.length & 255, data.length >> 8])),
    ...instructions.flatMap(({ accounts, data }) => [Buffer.from(accounts), data]),
  ]);
}

const maybeU32 = fc.option(fc.nat(0xffff_ffff));
const v1Parts: fc.Arbitrary<V1Parts> = fc
  .record({
    keyCount: fc.integer({ min: 6, max: 64 }),
    config: fc.record({ fee: fc.option(fc.bigInt({ min: 0n, max: 2n ** 53n - 1n })), units: maybeU32, loaded: maybeU32, heap: maybeU32 }),
    instructions: fc.array(
      fc.record({ program: fc.nat(5), accounts: fc.array(fc.nat(5), { maxLength: 20 }), data: fc.uint8Array({ maxLength: 400 }) }),
      { maxLength: 4 },
    ),
  })
  .map(({ keyCount, config, instructions }) => ({
    header: [2, 1, 2] as const,
    keys: Array.from({ length: keyCount }, (_, index) => new Uint8Array(32).fill(index + 1)),
    blockhash: new Uint8Array(32).fill(77),
    config,
    instructions,
  }));

describe('v1 (SIMD-0385)', () => {
  it('a transaction without signatures is the same', () => {
    fc.assert(
      fc.property(v1Parts, fc.integer({ min: 1, max: 255 }), (message, filler) => {
        const bytes = v1Message(message);
        const count = 64 * message.header[0];
        const wire = Uint8Array.from(Buffer.concat([bytes, Buffer.alloc(count, filler)]));
        fc.pre(wire.length <= 4096);
        expect(Buffer.from(withoutSignatures(wire, decoded(wire)))).toEqual(Buffer.concat([bytes, Buffer.alloc(count)]));
      }),
      { seed: 13, numRuns: 100 },
    );
  });

  it('equals what web3.js 1.99 reads from bytes laid out by the proposal', () => {
    fc.assert(
      fc.property(v1Parts, (message) => {
        const bytes = v1Message(message);
        const wire = Buffer.concat([bytes, Buffer.alloc(64, 1), Buffer.alloc(64, 2)]);
        fc.pre(wire.length <= 4096);
        const ours = decoded(wire);
        const theirs = VersionedTransaction.deserialize(wire);
        expect(theirs.message).toBeInstanceOf(MessageV1);
        expect(ourShape(ours)).toEqual(shapeOf(theirs));
        const { transactionConfig } = theirs.message as MessageV1;
        // web3.js returns the fee as a number.
        expect(ours.config.priorityFeeLamports === null ? null : Number(ours.config.priorityFeeLamports)).toBe(
          transactionConfig.priorityFee,
        );
        expect(ours.config.computeUnitLimit).toEqual(transactionConfig.computeUnitLimit);
        expect(ours.config.loadedAccountsBytesLimit).toEqual(transactionConfig.loadedAccountsDataSizeLimit);
        expect(ours.config.heapBytes).toEqual(transactionConfig.heapSize);
        expect(Buffer.from(ours.messageBytes)).toEqual(Buffer.from(bytes));
      }),
      { seed: 13, numRuns: 250 },
    );
  });

  it('has the layout that the SVM runs', () => {
    const [payer, recipient] = keypairs as [Keypair, Keypair];
    const svm = new LiteSVM();
    svm.airdrop(payer.publicKey as never, 10_000_000_000n as never);
    const message = v1Message({
      header: [1, 0, 1],
      keys: [payer.publicKeyBytes, recipient.publicKeyBytes, new Uint8Array(32)],
      blockhash: addressBytes(svm.latestBlockhash()),
      config: { fee: 5000n, units: 200_000, loaded: 65_536, heap: 32_768 },
      instructions: [{ program: 2, accounts: [0, 1], data: transfer(payer, recipient, 1_000_000_000n).data }],
    });
    const signature = signMessage(payer, message);
    const outcome = svm.sendTransaction({ messageBytes: message, signatures: { [payer.publicKey]: signature } } as never);
    expect(outcome).not.toBeInstanceOf(FailedTransactionMetadata);
    expect(svm.getBalance(recipient.publicKey as never)).toBe(1_000_000_000n);
    // 5,000 lamports for the signature and 5,000 of the config.
    expect(svm.getBalance(payer.publicKey as never)).toBe(8_999_990_000n);
    const ours = decoded(Buffer.concat([message, signature]));
    expect(ours).toMatchObject({
      version: 1,
      signatures: [encodeBase58(signature)],
      accountKeys: [payer.publicKey, recipient.publicKey, systemProgram],
    });
    expect(ours.config).toEqual({
      priorityFeeLamports: 5000n,
      computeUnitLimit: 200_000,
      loadedAccountsBytesLimit: 65_536,
      heapBytes: 32_768,
    });
    expect(verifySignature(payer.publicKey, ours.messageBytes, signature)).toBe(true);
  });

  it('is refused if the proposal forbids it', () => {
    const good: V1Parts = {
      header: [1, 0, 1],
      keys: [1, 2, 3].map((fill) => new Uint8Array(32).fill(fill)),
      blockhash: new Uint8Array(32),
      config: { fee: null, units: null, loaded: null, heap: null },
      instructions: [{ program: 2, accounts: [0, 1], data: new Uint8Array(3) }],
    };
    const wire = (parts_: V1Parts): Buffer => Buffer.concat([v1Message(parts_), Buffer.alloc(64 * parts_.header[0])]);
    const reason = (bytes: Uint8Array): string | null => {
      const transaction = decodeTransaction(bytes);
      return transaction.kind === 'malformed' ? transaction.reason : null;
    };
    const withMask = (mask: number): Buffer => {
      const bytes = wire(good);
      bytes.writeUInt32LE(mask, 4);
      return bytes;
    };
    expect(reason(wire(good))).toBeNull();
    expect(reason(withMask(0b01))).toBe('the config mask has bits that v1 does not define');
    expect(reason(withMask(0b100000))).toBe('the config mask has bits that v1 does not define');
    expect(reason(withMask(0x8000_0000))).toBe('the config mask has bits that v1 does not define');
    expect(reason(wire({ ...good, header: [1, 1, 1] }))).toBe('the fee payer is not writable');
    expect(reason(wire({ ...good, header: [2, 0, 2] }))).toBe('the header counts more keys than the message has');
    expect(reason(wire({ ...good, instructions: [{ program: 3, accounts: [], data: new Uint8Array(0) }] }))).toBe(
      'a program index is outside the static keys',
    );
    expect(reason(wire({ ...good, instructions: [{ program: 2, accounts: [3], data: new Uint8Array(0) }] }))).toBe(
      'an account index is outside the keys',
    );
    expect(reason(wire({ ...good, keys: Array.from({ length: 65 }, (_, index) => new Uint8Array(32).fill(index)) }))).toBe(
      'more keys or instructions than v1 allows',
    );
    expect(reason(Buffer.concat([wire(good), Buffer.alloc(1)]))).toBe('there are bytes after the end');
    expect(reason(wire(good).subarray(0, -1))).toBe('the bytes end too early');
    expect(reason(new Uint8Array(4097))).toBe('longer than any transaction');
  });
});

describe('any bytes', () => {
  it('never make the decoder throw, for any flipped, cut or appended bytes', () => {
    const legacy = assembleTransaction(
      compileMessage({
        version: 0,
        feePayer: keypairs[0]!.publicKey,
        recentBlockhash: blockhash,
        instructions: [transfer(keypairs[0]!, keypairs[1]!, 1n)],
      }),
      [new Uint8Array(64)],
    );
    const v1 = Buffer.concat([
      v1Message({
        header: [1, 0, 1],
        keys: [1, 2, 3].map((fill) => new Uint8Array(32).fill(fill)),
        blockhash: new Uint8Array(32),
        config: { fee: 1n, units: 2, loaded: 3, heap: 4 },
        instructions: [{ program: 2, accounts: [0, 1], data: new Uint8Array(12) }],
      }),
      Buffer.alloc(64),
    ]);
    fc.assert(
      fc.property(
        fc.constantFrom(legacy, v1),
        fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 6 }),
        fc.nat(400),
        fc.uint8Array({ maxLength: 8 }),
        (base, flips, length, tail) => {
          const bytes = Buffer.concat([base.subarray(0, length), tail]);
          for (const [at, value] of flips) if (at < bytes.length) bytes[at] = value;
          expect(['decoded', 'malformed']).toContain(decodeTransaction(bytes).kind);
        },
      ),
      { seed: 14, numRuns: 5000 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(['decoded', 'malformed']).toContain(decodeTransaction(bytes).kind);
      }),
      { seed: 15, numRuns: 3000 },
    );
  });

  it('a compact length has one form only', () => {
    const wire = Buffer.from(
      assembleTransaction(
        compileMessage({ version: 'legacy', feePayer: keypairs[0]!.publicKey, recentBlockhash: blockhash, instructions: [] }),
        [new Uint8Array(64)],
      ),
    );
    expect(decodeTransaction(wire).kind).toBe('decoded');
    expect(decodeTransaction(Buffer.concat([Buffer.from([0x81, 0x00]), wire.subarray(1)])).kind).toBe('malformed');
  });
});
