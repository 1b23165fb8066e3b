import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeBase58, encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { signMessage } from '@sluice/shared/solana/addresses/keypair.ts';
import { assembleTransaction, compileMessage } from '@sluice/shared/solana/transaction/transaction.ts';
import { systemProgram, token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import type { ChainAccount } from './chain.ts';
import { methodNames } from './rpc/dispatch.ts';
import { startRpcServer, type RpcServer } from './rpc/server.ts';
import { emptyExecution, ScriptedChain, scriptedRecord, seededKeypair } from './scripted-chain.ts';

const program = seededKeypair('program').publicKey;
const wallet = seededKeypair('wallet');
const mint = seededKeypair('mint').publicKey;
const mint2022 = seededKeypair('mint 2022').publicKey;

let chain: ScriptedChain;
let server: RpcServer;
let url: string;

interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
  readonly id: unknown;
}

async function post(body: string, contentType = 'application/json'): Promise<{ status: number; text: string }> {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': contentType }, body });
  return { status: response.status, text: await response.text() };
}

async function call(method: string, ...params: readonly unknown[]): Promise<Answer> {
  const { text } = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  return JSON.parse(text) as Answer;
}

async function value(method: string, ...params: readonly unknown[]): Promise<unknown> {
  const { result, error } = await call(method, ...params);
  expect(error).toBeUndefined();
  return (result as { value: unknown }).value;
}

async function errorOf(method: string, ...params: readonly unknown[]): Promise<{ code: number; message: string; data?: unknown }> {
  const { error } = await call(method, ...params);
  if (error === undefined) throw new Error(`${method} returned no error`);
  return error;
}

function u64Bytes(amount: bigint): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(amount);
  return bytes;
}

function mintAccount(owner: string, supply: bigint, decimals: number, tail: Uint8Array = new Uint8Array(0)): ChainAccount {
  const data = new Uint8Array(Buffer.concat([Buffer.alloc(36), u64Bytes(supply), Uint8Array.of(decimals, 1), Buffer.alloc(36), tail]));
  return { lamports: 1_461_600n, owner, data, executable: false };
}

function tokenAccount(of: string, holder: string, amount: bigint, owner: string, tail: Uint8Array = new Uint8Array(0)): ChainAccount {
  const key = (address: string): Uint8Array => decodeBase58(address) ?? new Uint8Array(32);
  const data = Buffer.concat([key(of), key(holder), u64Bytes(amount), Buffer.alloc(36), Uint8Array.of(1), Buffer.alloc(56), tail]);
  return { lamports: 1_488_440n, owner, data: new Uint8Array(data), executable: false };
}

beforeAll(async () => {
  chain = new ScriptedChain();
  chain.accounts.set(wallet.publicKey, {
    lamports: 12_345_678_901_234_567n,
    owner: systemProgram,
    data: new Uint8Array(0),
    executable: false,
  });
  chain.accounts.set(mint, mintAccount(tokenProgram, 1_000_000_000_000_000n, 6));
  chain.accounts.set(mint2022, mintAccount(token2022Program, 77n, 2));
  chain.accounts.set(seededKeypair('ata').publicKey, tokenAccount(mint, wallet.publicKey, 1_500_000n, tokenProgram));
  // Token-2022 account with the type byte 2 and the extension immutableOwner (7, length 0).
  const tail = Uint8Array.of(2, 7, 0, 0, 0);
  chain.accounts.set(seededKeypair('ata 2022').publicKey, tokenAccount(mint2022, wallet.publicKey, 77n, token2022Program, tail));
  chain.accounts.set(seededKeypair('state').publicKey, {
    lamports: 1n,
    owner: program,
    data: Uint8Array.from([9, 8, 7, 6, 5]),
    executable: false,
  });
  chain.accounts.set(seededKeypair('big').publicKey, {
    lamports: 1n,
    owner: program,
    data: new Uint8Array(200).fill(3),
    executable: false,
  });
  server = await startRpcServer({ chain, host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${server.port}`;
  chain.freeze([scriptedRecord('one', program), scriptedRecord('two', program, [], { err: { InstructionError: [0, { Custom: 6002 }] } })]);
  chain.freeze([scriptedRecord('three', program, [], { messageVersion: 0 })]);
  chain.freeze([scriptedRecord('four', program)]);
  chain.confirm(1_002);
  chain.finalize(1_001);
});

afterAll(() => server.close());

describe('JSON-RPC', () => {
  it('returns the errors of the protocol with their codes', async () => {
    expect(JSON.parse((await post('{not json')).text)).toMatchObject({ id: null, error: { code: -32700 } });
    expect(JSON.parse((await post('[]')).text)).toMatchObject({ id: null, error: { code: -32600 } });
    expect(JSON.parse((await post('{"id":3,"method":"getSlot"}')).text)).toMatchObject({ id: 3, error: { code: -32600 } });
    expect(await errorOf('getSlotty')).toMatchObject({ code: -32601, message: 'Method not found' });
    expect(await errorOf('toString')).toMatchObject({ code: -32601 });
    expect(await errorOf('getAccountInfo')).toMatchObject({ code: -32602 });
    expect(await errorOf('getAccountInfo', 'nonsense')).toMatchObject({ code: -32602 });
    expect(await errorOf('getSlot', { commitment: 'recent' })).toMatchObject({ code: -32602 });
    expect((await errorOf('getSlot', { minContextSlot: 9_999 })).code).toBe(-32016);
    expect((await errorOf('getSlot', { minContextSlot: 9_999 })).data).toEqual({ contextSlot: 1_001 });
  });

  it('answers batches in order and sends no answer to notifications', async () => {
    const batch = [
      { jsonrpc: '2.0', id: 'a', method: 'getHealth' },
      { jsonrpc: '2.0', method: 'getSlot' },
      7,
      { jsonrpc: '2.0', id: 'b', method: 'getGenesisHash' },
    ];
    const answers = JSON.parse((await post(JSON.stringify(batch))).text) as readonly Answer[];
    expect(answers.map((answer) => [answer.id, answer.result ?? answer.error?.code])).toEqual([
      ['a', 'ok'],
      [null, -32600],
      ['b', chain.genesisHash],
    ]);
    expect(await post('{"jsonrpc":"2.0","method":"getSlot"}')).toEqual({ status: 200, text: '' });
  });

  it('refuses other verbs, other content types and long bodies', async () => {
    expect((await fetch(url)).status).toBe(405);
    expect((await post('{}', 'text/plain')).status).toBe(415);
    expect((await post(`{"a":"${'x'.repeat(60_000)}"}`)).status).toBe(413);
    expect(await (await fetch(`${url}/health`)).text()).toBe('ok');
    expect((await fetch(`${url}/control`, { method: 'POST' })).status).toBe(404);
  });

  it('labels itself as simulated', async () => {
    expect((await call('getVersion')).result).toMatchObject({ 'solana-core': expect.stringMatching(/-simnet$/) });
    expect((await call('getBalance', wallet.publicKey)).result).toMatchObject({
      context: { apiVersion: expect.stringMatching(/-simnet$/) },
    });
  });
});

describe('keys', () => {
  it('are refused with the messages of a node', async () => {
    const messageOf = async (...[method, ...params]: Parameters<typeof errorOf>) => (await errorOf(method, ...params)).message;
    expect(await messageOf('getBalance', 'zzz')).toBe('Invalid param: WrongSize');
    expect(await messageOf('getBalance', `${wallet.publicKey}1`)).toBe('Invalid param: WrongSize');
    expect(await messageOf('getBalance', '0OIl')).toBe('Invalid param: Invalid');
    expect(await messageOf('getMultipleAccounts', [wallet.publicKey, 'zzz'])).toBe('Invalid param: WrongSize');
    expect(await messageOf('getTokenAccountsByOwner', wallet.publicKey, { mint: 'zzz' })).toBe('Invalid param: WrongSize');
    expect(await messageOf('getTransaction', wallet.publicKey)).toBe('Invalid param: WrongSize');
    expect(await messageOf('getTransaction', 'not base58')).toBe('Invalid param: Invalid');
  });
});

describe('any parameters', () => {
  it('get an answer or a typed error, never an internal fault', async () => {
    const signature = scriptedRecord('one', program).signature;
    const word = fc.constantFrom<unknown>(
      program,
      wallet.publicKey,
      mint,
      signature,
      'base64',
      'jsonParsed',
      'processed',
      'AQID',
      1_001,
      0,
      -1,
      null,
      true,
    );
    const names = [
      'encoding',
      'commitment',
      'limit',
      'filters',
      'dataSlice',
      'memcmp',
      'offset',
      'bytes',
      'mint',
      'programId',
      'accounts',
      'addresses',
      'before',
    ];
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        word,
        fc.jsonValue({ maxDepth: 1 }),
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(fc.constantFrom(...names), tie('tree'), { maxKeys: 4 }),
      ),
    }));
    const calls = fc.array(fc.record({ method: fc.constantFrom(...methodNames), params: fc.array(tree, { maxLength: 4 }) }), {
      minLength: 1,
      maxLength: 30,
    });
    await fc.assert(
      fc.asyncProperty(calls, async (list) => {
        const body = JSON.stringify(list.map((item, id) => ({ jsonrpc: '2.0', id, ...item })));
        fc.pre(body.length < 50_000);
        const answers = JSON.parse((await post(body)).text) as readonly Answer[];
        expect(answers.map(({ id }) => id)).toEqual(list.map((_item, id) => id));
        for (const answer of answers) expect(answer.error?.code ?? 0).not.toBe(-32603);
      }),
      { numRuns: 200 },
    );
    expect(server.stats().internalErrors).toBe(0);
  });
});

describe('commitments', () => {
  it('returns slots, heights and blockhashes by commitment', async () => {
    const slots = await Promise.all(
      ['processed', 'confirmed', 'finalized'].map(async (commitment) => (await call('getSlot', { commitment })).result),
    );
    expect(slots).toEqual([1_003, 1_002, 1_001]);
    expect((await call('getSlot')).result).toBe(1_001);
    expect((await call('getBlockHeight', { commitment: 'confirmed' })).result).toBe(902);
    const latest = await value('getLatestBlockhash', { commitment: 'confirmed' });
    expect(latest).toEqual({ blockhash: chain.blocks[1]?.blockhash, lastValidBlockHeight: 1_052 });
    expect(await value('isBlockhashValid', chain.blocks[1]?.blockhash)).toBe(true);
    expect(await value('isBlockhashValid', systemProgram)).toBe(false);
  });

  it('returns a transaction once it is confirmed, and its version only to a client that can read it', async () => {
    const [one, three, four] = ['one', 'three', 'four'].map(
      (name) => scriptedRecord(name, program, [], name === 'three' ? { messageVersion: 0 } : {}).signature,
    );
    expect(await errorOf('getTransaction', one, { commitment: 'processed' })).toMatchObject({ code: -32602 });
    expect((await call('getTransaction', four, { commitment: 'confirmed' })).result).toBeNull();
    expect((await call('getTransaction', three)).result).toBeNull();
    expect((await errorOf('getTransaction', three, { commitment: 'confirmed' })).code).toBe(-32015);
    const options = { commitment: 'confirmed', maxSupportedTransactionVersion: 0 };
    expect((await call('getTransaction', three, options)).result).toMatchObject({ slot: 1_002, version: 0, meta: { err: null } });
    expect((await call('getTransaction', one)).result).not.toHaveProperty('version');
    expect((await call('getTransaction', one, { maxSupportedTransactionVersion: 1 })).result).toMatchObject({ version: 'legacy' });
  });

  it('returns statuses with confirmations until they are final', async () => {
    const names = ['one', 'two', 'four', 'nobody'];
    const statuses = await value(
      'getSignatureStatuses',
      names.map((name) => scriptedRecord(name, program).signature),
    );
    expect(statuses).toEqual([
      { confirmationStatus: 'finalized', confirmations: null, err: null, slot: 1_001, status: { Ok: null } },
      {
        confirmationStatus: 'finalized',
        confirmations: null,
        err: { InstructionError: [0, { Custom: 6002 }] },
        slot: 1_001,
        status: { Err: { InstructionError: [0, { Custom: 6002 }] } },
      },
      { confirmationStatus: 'processed', confirmations: 0, err: null, slot: 1_003, status: { Ok: null } },
      null,
    ]);
    expect(
      (
        await errorOf(
          'getSignatureStatuses',
          Array.from({ length: 257 }, () => scriptedRecord('one', program).signature),
        )
      ).code,
    ).toBe(-32602);
  });

  it('lists signatures newest first, down to `until`, and not above the commitment', async () => {
    const signatures = async (options: object): Promise<readonly string[]> =>
      ((await call('getSignaturesForAddress', program, options)).result as readonly { signature: string }[]).map((item) => item.signature);
    const [one, two, three] = [
      scriptedRecord('one', program),
      scriptedRecord('two', program),
      scriptedRecord('three', program, [], { messageVersion: 0 }),
    ].map((record) => record.signature);
    expect(await signatures({})).toEqual([two, one]);
    expect(await signatures({ commitment: 'confirmed' })).toEqual([three, two, one]);
    expect(await signatures({ commitment: 'confirmed', until: two })).toEqual([three]);
    expect(await signatures({ commitment: 'confirmed', before: three, limit: 1 })).toEqual([two]);
    expect((await errorOf('getSignaturesForAddress', program, { limit: 1_001 })).code).toBe(-32602);
  });

  it('returns blocks in full or without details, and reports which slot was skipped', async () => {
    expect((await call('getBlock', 1_001, { maxSupportedTransactionVersion: 0 })).result).toMatchObject({
      blockHeight: 901,
      parentSlot: 1_000,
      transactions: [{ meta: { err: null } }, { meta: { err: { InstructionError: [0, { Custom: 6002 }] } } }],
    });
    expect((await errorOf('getBlock', 1_002, { commitment: 'confirmed' })).code).toBe(-32015);
    expect(
      (await call('getBlock', 1_002, { commitment: 'confirmed', transactionDetails: 'none', rewards: false })).result,
    ).not.toHaveProperty('transactions');
    expect((await errorOf('getBlock', 1_003)).code).toBe(-32004);
    expect((await errorOf('getBlock', 900)).code).toBe(-32009);
    expect((await call('getBlocks', 1_000, 1_010, { commitment: 'confirmed' })).result).toEqual([1_001, 1_002]);
    expect((await call('getBlockTime', 1_001)).result).toBe(1_790_001_001);
  });
});

describe('accounts', () => {
  it('encodes and slices as requested', async () => {
    const state = seededKeypair('state').publicKey;
    const dataOf = async (config?: object): Promise<unknown> => ((await value('getAccountInfo', state, config)) as { data: unknown }).data;
    const bytes = Uint8Array.from([9, 8, 7, 6, 5]);
    expect(await dataOf()).toBe(encodeBase58(bytes));
    expect(await dataOf({ encoding: 'base58' })).toEqual([encodeBase58(bytes), 'base58']);
    expect(await dataOf({ encoding: 'base64' })).toEqual(['CQgHBgU=', 'base64']);
    expect(await dataOf({ encoding: 'base64', dataSlice: { offset: 1, length: 2 } })).toEqual(['CAc=', 'base64']);
    expect(await dataOf({ encoding: 'base64', dataSlice: { offset: 9, length: 2 } })).toEqual(['', 'base64']);
    expect(await dataOf({ encoding: 'jsonParsed' })).toEqual(['CQgHBgU=', 'base64']);
    expect((await errorOf('getAccountInfo', state, { encoding: 'base64+zstd' })).code).toBe(-32602);
    expect((await errorOf('getAccountInfo', seededKeypair('big').publicKey)).code).toBe(-32600);
    expect(await value('getAccountInfo', seededKeypair('nobody').publicKey)).toBeNull();
  });

  it('writes all digits of a u64', async () => {
    const { text } = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getAccountInfo', params: [wallet.publicKey] }));
    expect(text).toContain('"lamports":12345678901234567,');
    expect(text).toContain('"rentEpoch":18446744073709551615,');
  });

  it('parses mints and token accounts of both programs', async () => {
    expect(await value('getAccountInfo', mint, { encoding: 'jsonParsed' })).toMatchObject({
      data: {
        program: 'spl-token',
        space: 82,
        parsed: { type: 'mint', info: { decimals: 6, supply: '1000000000000000', isInitialized: true, mintAuthority: null } },
      },
    });
    expect(await value('getAccountInfo', seededKeypair('ata 2022').publicKey, { encoding: 'jsonParsed' })).toMatchObject({
      data: {
        program: 'spl-token-2022',
        space: 170,
        parsed: {
          type: 'account',
          info: {
            mint: mint2022,
            owner: wallet.publicKey,
            state: 'initialized',
            isNative: false,
            extensions: [{ extension: 'immutableOwner' }],
            tokenAmount: { amount: '77', decimals: 2, uiAmount: 0.77, uiAmountString: '0.77' },
          },
        },
      },
    });
  });

  it('finds token accounts by mint and by program', async () => {
    const keys = async (filter: object): Promise<readonly string[]> =>
      ((await value('getTokenAccountsByOwner', wallet.publicKey, filter, { encoding: 'base64' })) as readonly { pubkey: string }[]).map(
        ({ pubkey }) => pubkey,
      );
    expect(await keys({ mint })).toEqual([seededKeypair('ata').publicKey]);
    expect(await keys({ programId: token2022Program })).toEqual([seededKeypair('ata 2022').publicKey]);
    expect((await errorOf('getTokenAccountsByOwner', wallet.publicKey, {})).code).toBe(-32602);
    expect((await errorOf('getTokenAccountsByOwner', wallet.publicKey, { mint: program })).message).toContain('could not find mint');
    expect((await errorOf('getTokenAccountsByOwner', wallet.publicKey, { programId: program })).message).toContain(
      'unrecognized Token program id',
    );
    expect(await value('getTokenAccountBalance', seededKeypair('ata').publicKey)).toEqual({
      amount: '1500000',
      decimals: 6,
      uiAmount: 1.5,
      uiAmountString: '1.5',
    });
    expect((await errorOf('getTokenAccountBalance', wallet.publicKey)).message).toContain('not a Token account');
    expect(await value('getTokenSupply', mint)).toMatchObject({ amount: '1000000000000000', uiAmountString: '1000000000' });
  });

  it('filters program accounts by size and bytes', async () => {
    const keys = async (config: object): Promise<readonly string[]> =>
      ((await call('getProgramAccounts', program, { encoding: 'base64', ...config })).result as readonly { pubkey: string }[]).map(
        ({ pubkey }) => pubkey,
      );
    const [state, big] = [seededKeypair('state').publicKey, seededKeypair('big').publicKey];
    expect(await keys({})).toEqual([state, big]);
    expect(await keys({ filters: [{ dataSize: 5 }] })).toEqual([state]);
    expect(await keys({ filters: [{ memcmp: { offset: 1, bytes: encodeBase58(Uint8Array.of(8, 7)) } }] })).toEqual([state]);
    expect(await keys({ filters: [{ memcmp: { offset: 0, bytes: 'AwM=', encoding: 'base64' } }] })).toEqual([big]);
    expect(await keys({ filters: [{ dataSize: 5 }, { memcmp: { offset: 4, bytes: encodeBase58(Uint8Array.of(9)) } }] })).toEqual([]);
    expect((await call('getProgramAccounts', program, { encoding: 'base64', withContext: true })).result).toHaveProperty('context');
    expect((await errorOf('getProgramAccounts', program, { filters: Array.from({ length: 5 }, () => ({ dataSize: 5 })) })).code).toBe(
      -32602,
    );
    expect(
      (
        await errorOf(
          'getMultipleAccounts',
          Array.from({ length: 101 }, () => program),
        )
      ).code,
    ).toBe(-32602);
  });
});

describe('sending', () => {
  const message = compileMessage({
    version: 'legacy',
    feePayer: wallet.publicKey,
    recentBlockhash: systemProgram,
    instructions: [
      { programId: 'ComputeBudget111111111111111111111111111111', accounts: [], data: Uint8Array.of(2, 0x40, 0x0d, 0x03, 0) },
      { programId: 'ComputeBudget111111111111111111111111111111', accounts: [], data: Uint8Array.of(3, 7, 0, 0, 0, 0, 0, 0, 0) },
      { programId: program, accounts: [], data: Uint8Array.of(1) },
    ],
  });
  const wire = assembleTransaction(message, [signMessage(wallet, message)]);
  const base64 = Buffer.from(wire).toString('base64');

  it('accepts base58 by default, and base64 on request', async () => {
    chain.sent.length = 0;
    const signature = encodeBase58(signMessage(wallet, message));
    expect((await call('sendTransaction', encodeBase58(wire))).result).toBe(signature);
    expect((await call('sendTransaction', base64, { encoding: 'base64', skipPreflight: true, maxRetries: 0 })).result).toBe(signature);
    expect(chain.sent.map((bytes) => Buffer.from(bytes).toString('base64'))).toEqual([base64, base64]);
    expect((await errorOf('sendTransaction', 'not base58 0OIl')).code).toBe(-32602);
    expect((await errorOf('sendTransaction', base64.slice(0, 40), { encoding: 'base64' })).message).toContain('failed to deserialize');
    expect((await errorOf('sendTransaction', Buffer.alloc(5_000).toString('base64'), { encoding: 'base64' })).message).toContain(
      'too large',
    );
    expect((await errorOf('sendTransaction', base64, { encoding: 'base64', minContextSlot: 5_000 })).code).toBe(-32016);
    expect(chain.sent).toHaveLength(2);
  });

  it('forwards refusals of the chain', async () => {
    const data = { err: { InstructionError: [2, { Custom: 6002 }] }, logs: ['Program log: slippage'], unitsConsumed: 9 };
    chain.sendOutcome = { ok: false, code: -32002, message: 'Transaction simulation failed', data };
    expect(await errorOf('sendTransaction', base64, { encoding: 'base64' })).toEqual({
      code: -32002,
      message: 'Transaction simulation failed',
      data,
    });
    chain.sendOutcome = null;
  });

  it('simulates, and refuses the same conflicting options as a node', async () => {
    const after: ChainAccount = { lamports: 42n, owner: systemProgram, data: new Uint8Array(0), executable: false };
    const inner = [
      { index: 2, instructions: [{ programId: program, accounts: [wallet.publicKey], data: Uint8Array.of(5), stackHeight: 2 }] },
    ];
    chain.simulation = { ...emptyExecution, logs: ['a'], innerInstructions: inner, written: new Map([[wallet.publicKey, after]]) };
    const config = {
      encoding: 'base64',
      innerInstructions: true,
      replaceRecentBlockhash: true,
      accounts: { encoding: 'base64', addresses: [wallet.publicKey] },
    };
    expect(await value('simulateTransaction', base64, config)).toMatchObject({
      err: null,
      logs: ['a'],
      unitsConsumed: 150,
      fee: 5_000,
      accounts: [{ lamports: 42 }],
      innerInstructions: [{ index: 2, instructions: [{ programId: program, accounts: [wallet.publicKey], data: '6', stackHeight: 2 }] }],
      replacementBlockhash: { blockhash: chain.latestBlockhash().blockhash },
    });
    expect((await errorOf('simulateTransaction', base64, { ...config, sigVerify: true })).message).toBe(
      'sigVerify may not be used with replaceRecentBlockhash',
    );
    const many = { encoding: 'base64', addresses: Array.from({ length: 4 }, () => program) };
    expect((await errorOf('simulateTransaction', base64, { encoding: 'base64', accounts: many })).message).toContain('Too many accounts');
    expect(
      (await errorOf('simulateTransaction', base64, { encoding: 'base64', accounts: { encoding: 'base58', addresses: [] } })).code,
    ).toBe(-32602);
    expect((await errorOf('simulateTransaction', base64, { encoding: 'json' })).message).toContain('unsupported encoding');
  });

  it('returns the price of a message whose blockhash it knows', async () => {
    const known = compileMessage({
      version: 0,
      feePayer: wallet.publicKey,
      recentBlockhash: chain.blocks[0]?.blockhash ?? '',
      instructions: [
        { programId: 'ComputeBudget111111111111111111111111111111', accounts: [], data: Uint8Array.of(2, 0x40, 0x0d, 0x03, 0) },
        { programId: 'ComputeBudget111111111111111111111111111111', accounts: [], data: Uint8Array.of(3, 7, 0, 0, 0, 0, 0, 0, 0) },
      ],
    });
    // 200,000 units at 7 micro-lamports are 1.4 lamports, rounded up.
    expect(await value('getFeeForMessage', Buffer.from(known).toString('base64'))).toBe(5_002);
    expect(await value('getFeeForMessage', Buffer.from(message).toString('base64'))).toBeNull();
    expect((await errorOf('getFeeForMessage', 'AAAA')).code).toBe(-32602);
  });

  it('forwards fees, rent and airdrops', async () => {
    expect((await call('getRecentPrioritizationFees', [program])).result).toContainEqual({ slot: 1_001, prioritizationFee: 1 });
    expect(
      (
        await errorOf(
          'getRecentPrioritizationFees',
          Array.from({ length: 129 }, () => program),
        )
      ).code,
    ).toBe(-32602);
    expect((await call('getMinimumBalanceForRentExemption', 165)).result).toBe(1_488_440);
    expect(typeof (await call('requestAirdrop', wallet.publicKey, 5)).result).toBe('string');
    expect(chain.airdrops.at(-1)).toEqual([wallet.publicKey, 5n]);
  });
});
