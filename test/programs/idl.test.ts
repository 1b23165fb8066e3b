import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { PublicKey } from '@solana/web3.js';
import { ProgramCoder } from '@sluice/programs/idl/coder.ts';
import { maxIdlBytes, readIdl } from '@sluice/programs/idl/idl.ts';
import { maxValues } from '@sluice/programs/idl/measure.ts';
import { publishedAddresses, readPublished } from '@sluice/programs/idl/published.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const program = 'Vote111111111111111111111111111111111111111';
const tag = (byte: number): number[] => [byte, 0, 0, 0, 0, 0, 0, byte];
const struct = (name: string, ...fields: readonly (readonly [string, unknown])[]) => ({
  name,
  type: { kind: 'struct', fields: fields.map(([field, type]) => ({ name: field, type })) },
});
const events = (...names: readonly string[]) => names.map((name, at) => ({ name, discriminator: tag(at + 1) }));
const idlText = (parts: object): string =>
  JSON.stringify({ address: program, metadata: { name: 'x', version: '0.1.0', spec: '0.1.0' }, instructions: [], ...parts });

function coder(parts: object): ProgramCoder {
  const outcome = readIdl(idlText(parts), program);
  if (!outcome.ok) throw new Error(outcome.reason);
  return new ProgramCoder(outcome.idl);
}

const refusals = (parts: object): string[] => coder(parts).idl.refused.map(({ name, reason }) => `${name}: ${reason}`);
const u32 = (value: number): Buffer => Buffer.from(Uint32Array.of(value).buffer);
const record = (at: number, ...parts: readonly Uint8Array[]): Buffer => Buffer.concat([Uint8Array.from(tag(at)), ...parts]);
const u64s = { vec: 'u64' };

describe('IDLs that are refused', () => {
  it.each([
    ['{', 'it is not JSON'],
    ['[]', 'it is not an object'],
    ['{}', 'it is no Anchor IDL'],
    ['{"kind":"rootNode"}', 'Codama'],
    [JSON.stringify({ version: '1', metadata: { origin: 'shank' } }), 'Shank'],
    [idlText({ address: 'nowhere' }), 'address is not the address of a program'],
    [idlText({ address: '11111111111111111111111111111111' }), 'it describes the program 1111'],
    [idlText({ types: Array.from({ length: 2_001 }, (_, at) => struct(`T${at}`)) }), 'types has more than 2000 elements'],
    [`"${'x'.repeat(maxIdlBytes)}"`, 'it has more than'],
    [idlText({ events: 'all' }), 'events is not a list'],
  ])('%.60s', (text, reason) => {
    expect(readIdl(text, program)).toMatchObject({ ok: false, reason: expect.stringContaining(reason) as string });
  });
});

describe('records that are refused, while the others are read', () => {
  const good = struct('Good', ['amount', 'u64']);
  it.each<readonly [string, readonly unknown[], string]>([
    ['recursion', [struct('Bad', ['of', { vec: { defined: { name: 'Bad' } } }])], 'Bad: the type "Bad" contains itself'],
    [
      'recursion over two',
      [struct('Bad', ['of', { option: { defined: { name: 'B' } } }]), struct('B', ['a', { defined: { name: 'Bad' } }])],
      'contains itself',
    ],
    ['an undefined type', [struct('Bad', ['of', { defined: { name: 'Missing' } }])], 'Bad: the type "Missing" is not defined'],
    ['no type at all', [], 'Bad: the type "Bad" is not defined'],
    ['__proto__', [struct('Bad', ['__proto__', 'u64'])], 'Bad: a field is named __proto__'],
    ['a name twice', [struct('Bad', ['a', 'u64'], ['a', 'u8'])], 'Bad: a type has two parts of one name'],
    ['a type twice', [struct('Bad'), struct('Bad')], 'Bad: the type "Bad" is defined twice'],
    [
      'nesting',
      [struct('Bad', ['deep', JSON.parse('{"vec":'.repeat(500) + '"u8"' + '}'.repeat(500)) as unknown])],
      'nested more than 32 deep',
    ],
    [
      'a chain of types',
      Array.from({ length: 60 }, (_, at) =>
        struct(at === 0 ? 'Bad' : `T${at}`, ['next', at === 59 ? 'u8' : { defined: { name: `T${at + 1}` } }]),
      ),
      'nested more than 32 deep',
    ],
    [
      'types that double',
      Array.from({ length: 30 }, (_, at) =>
        struct(
          at === 0 ? 'Bad' : `T${at}`,
          ...['a', 'b'].map((name) => [name, at === 29 ? 'u8' : { defined: { name: `T${at + 1}` } }] as const),
        ),
      ),
      'more than 20000 parts',
    ],
    ['elements without a size', [struct('Bad', ['many', { vec: { defined: { name: 'Empty' } } }]), struct('Empty')], 'have no size'],
    ['an endless array', [struct('Bad', ['many', { array: ['u8', 4_294_967_296] }])], 'the length of an array'],
    ['generics', [{ ...struct('Bad'), generics: [{ kind: 'type', name: 'T' }] }], 'generic types are not supported'],
    ['coption', [struct('Bad', ['of', { coption: 'u64' }])], 'the type "coption" is not supported'],
    ['constructor as a type', [struct('Bad', ['of', 'constructor'])], 'the type "constructor" is not supported'],
  ])('%s', (_, types, reason) => {
    const idl = { events: events('Good', 'Bad'), types: [good, ...types] };
    expect(refusals(idl)).toEqual([expect.stringContaining(reason)]);
    expect(coder(idl).decode('events', record(1, Buffer.from('0100000000000000', 'hex')))).toMatchObject({
      name: 'Good',
      data: { amount: '1' },
    });
  });

  it('names and first bytes that appear twice, or are missing', () => {
    const types = [struct('A'), struct('B')];
    const named = [
      ...events('A'),
      { name: 'B', discriminator: tag(1).slice(0, 3) },
      { name: 'A', discriminator: tag(9) },
      { name: 'B', discriminator: [] },
    ];
    expect(refusals({ events: named, types })).toEqual([
      'B: A has the same first bytes',
      'A: another one has the same name',
      'B: it has no discriminator',
    ]);
  });
});

describe('decoded values', () => {
  const everything = struct(
    'All',
    ['flag', 'bool'],
    ['small', 'i32'],
    ['big', 'u64'],
    ['huge', 'i128'],
    ['who', 'pubkey'],
    ['text', 'string'],
    ['raw', 'bytes'],
    ['maybe', { option: 'u64' }],
    ['kind', { defined: { name: 'Kind' } }],
    ['list', u64s],
    ['few', { array: ['u8', 2] }],
    ['ratio', 'f64'],
  );
  const kind = {
    name: 'Kind',
    type: {
      kind: 'enum',
      variants: [{ name: 'Idle' }, { name: 'Moved', fields: [{ name: 'by', type: 'u64' }] }, { name: 'Pair', fields: ['u8', 'u8'] }],
    },
  };
  const idl = { events: events('All'), types: [everything, kind] };

  it('have exact integers, base58 addresses, and names of the IDL', () => {
    const big = Buffer.alloc(8, 255);
    const bytes = record(
      1,
      Buffer.from([1, 254, 255, 255, 255]),
      big,
      Buffer.alloc(16, 255),
      Buffer.alloc(32),
      u32(2),
      Buffer.from('hé').subarray(0, 2),
      u32(2),
      Buffer.from([1, 2]),
      Buffer.from([0]),
      Buffer.from([1]),
      big,
      u32(1),
      big,
      Buffer.from([7, 8]),
      Buffer.from('000000000000f07f', 'hex'),
    );
    expect(coder(idl).decode('events', bytes)).toMatchObject({
      kind: 'decoded',
      data: {
        flag: true,
        small: -2,
        big: '18446744073709551615',
        huge: '-1',
        who: '11111111111111111111111111111111',
        raw: 'AQI=',
        maybe: null,
        kind: { Moved: { by: '18446744073709551615' } },
        list: ['18446744073709551615'],
        few: [7, 8],
        ratio: 'Infinity',
      },
    });
  });

  it('lack the fields that an older record does not have, and ignore bytes behind the last', () => {
    const parts = { events: events('E'), types: [struct('E', ['a', 'u8'], ['b', 'u64'], ['c', { option: 'pubkey' }])] };
    const read = (...bytes: readonly number[]) => coder(parts).decode('events', record(1, Uint8Array.from(bytes)));
    expect(read(5)).toMatchObject({ data: { a: 5 } });
    expect(Object.keys((read(5) as unknown as { data: object }).data)).toEqual(['a']);
    expect(read(5, 1, 0, 0, 0, 0, 0, 0, 0)).toMatchObject({ data: { a: 5, b: '1' } });
    expect(read(5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 9, 9)).toMatchObject({ data: { a: 5, b: '1', c: null } });
    expect(read(5, 1)).toMatchObject({ kind: 'refused', name: 'E' });
    expect(read()).toMatchObject({ kind: 'refused' });
    expect(coder(parts).decode('events', Uint8Array.from([1, 0]))).toEqual({ kind: 'unknown' });
  });

  it('of a number that nobody sent cost nothing', () => {
    const parts = {
      events: events('Text', 'List', 'Lists', 'Big'),
      types: [
        struct('Text', ['a', 'string']),
        struct('List', ['a', u64s]),
        struct('Lists', ['a', { vec: u64s }]),
        struct('Big', ['a', { array: ['u8', 10_485_760] }]),
      ],
    };
    const all = coder(parts);
    const began = performance.now();
    for (const at of [1, 2, 3]) {
      expect(all.decode('events', record(at, u32(4_294_967_295), Buffer.alloc(64)))).toMatchObject({
        kind: 'refused',
        reason: expect.stringContaining('bytes') as string,
      });
    }
    const account = Buffer.alloc(10_485_760);
    const tooMany = { kind: 'refused', reason: `it has more than ${maxValues} values` };
    expect(all.decode('events', record(4, account))).toMatchObject(tooMany);
    expect(all.decode('events', record(2, u32(1_000_000), account))).toMatchObject(tooMany);
    // A million empty lists.
    expect(all.decode('events', record(3, u32(1_000_000), account))).toMatchObject(tooMany);
    expect(performance.now() - began).toBeLessThan(500);
  });

  it('never throw for random bytes', () => {
    const all = coder(idl);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(['decoded', 'refused']).toContain(all.decode('events', record(1, bytes)).kind);
      }),
    );
  });
});

describe('the old format', () => {
  it('gives the first bytes that Anchor computes, and reads its types', () => {
    const old = {
      version: '0.1.0',
      name: 'old',
      instructions: [
        {
          name: 'swapBaseInV2',
          accounts: [{ name: 'pools', accounts: [{ name: 'base' }] }, { name: 'owner' }],
          args: [{ name: 'amountIn', type: 'u64' }],
        },
      ],
      accounts: [
        {
          name: 'Pool',
          type: {
            kind: 'struct',
            fields: [
              { name: 'owner', type: 'publicKey' },
              { name: 'side', type: { defined: 'Side' } },
            ],
          },
        },
      ],
      types: [{ name: 'Side', type: { kind: 'enum', variants: [{ name: 'Buy' }, { name: 'Sell' }] } }],
      errors: [{ code: 6000, name: 'TooLate', msg: 'Too\u001B[31m late' }],
    };
    const outcome = readIdl(JSON.stringify(old), program);
    expect(outcome).toMatchObject({ ok: true, idl: { format: 'old', refused: [] } });
    if (!outcome.ok) return;
    const read = new ProgramCoder(outcome.idl);
    const instruction = Buffer.concat([outcome.idl.instructions[0]!.discriminator, Buffer.alloc(8, 1)]);
    expect(Buffer.from(outcome.idl.instructions[0]!.discriminator).toString('hex')).toBe(
      createHash('sha256').update('global:swap_base_in_v2').digest('hex').slice(0, 16),
    );
    expect(read.decode('instructions', instruction)).toMatchObject({
      name: 'swapBaseInV2',
      data: { amountIn: '72340172838076673' },
      accounts: ['pools.base', 'owner'],
    });
    const account = Buffer.concat([outcome.idl.accounts[0]!.discriminator, Buffer.alloc(32), Buffer.from([1])]);
    expect(read.decode('accounts', account)).toMatchObject({
      name: 'Pool',
      data: { owner: '11111111111111111111111111111111', side: { Sell: {} } },
    });
    expect(read.errorOf(6000)).toEqual({ name: 'TooLate', message: 'Too[31m late', from: 'idl' });
    expect(readIdl(JSON.stringify(old), null)).toMatchObject({ ok: false, reason: expect.stringContaining('give its address') as string });
  });
});

describe('published IDLs', () => {
  const text = idlText({});
  const zipped = deflateSync(text);
  const anchorAccount = (data: Uint8Array) => ({
    owner: program,
    data: [Buffer.concat([Buffer.from('184662bf3a907b9e', 'hex'), Buffer.alloc(32), u32(data.length), data]).toString('base64'), 'base64'],
  });

  it('are found where Anchor and the Program Metadata program have them', () => {
    expect(publishedAddresses('JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4')[0]).toBe('C88XWfp26heEmDkmfSzeXP7Fd7GQJ2j9dDTUsyiZbUTa');
    expect(readPublished(anchorAccount(zipped), program)).toEqual({ ok: true, text });
    expect(readPublished(null, program)).toBeNull();
    expect(readPublished({ ...anchorAccount(zipped), owner: '11111111111111111111111111111111' }, program)).toMatchObject({ ok: false });
  });

  it('that unpack to more than an IDL may have are refused', () => {
    const bomb = deflateSync(Buffer.alloc(maxIdlBytes + 1));
    expect(readPublished(anchorAccount(bomb), program)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('cannot be unpacked') as string,
    });
    expect(readPublished(anchorAccount(Buffer.from('no zlib')), program)).toMatchObject({ ok: false });
  });

  it('of the Program Metadata program are read by their header', () => {
    const metadata = 'ProgM6JCCvbYkfKqJYHePx4xxSUSqJp7rh8Lyv7nk7S';
    const seed = Buffer.alloc(16);
    seed.write('idl');
    const [address] = PublicKey.findProgramAddressSync([new PublicKey(program).toBuffer(), Buffer.alloc(0), seed], new PublicKey(metadata));
    expect(publishedAddresses(program)[1]).toBe(address.toBase58());
    // Tag, program, authority, mutable, canonical, seed; encoding, compression, format, source; length, padding.
    const account = (kinds: readonly number[], of = program) => {
      const header = [Uint8Array.of(2), new PublicKey(of).toBuffer(), Buffer.alloc(32), Buffer.from([1, 1]), seed, Uint8Array.from(kinds)];
      const bytes = Buffer.concat([...header, u32(zipped.length), Buffer.alloc(5), zipped]);
      return { owner: metadata, data: [bytes.toString('base64'), 'base64'] };
    };
    expect(readPublished(account([1, 2, 1, 0]), program)).toEqual({ ok: true, text });
    expect(readPublished(account([1, 2, 1, 1]), program)).toEqual({ ok: false, reason: 'the account only names another place for it' });
    expect(readPublished(account([1, 2, 2, 0]), program)).toMatchObject({ ok: false });
    expect(readPublished(account([1, 2, 1, 0], metadata), program)).toEqual({ ok: false, reason: 'the account is of another program' });
  });
});
