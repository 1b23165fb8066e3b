import { dataUriBytes } from '@sluice/shared/metadata/data-uri.ts';
import { placesOf } from '@sluice/shared/metadata/addresses.ts';
import { readDocument } from '@sluice/shared/metadata/document.ts';
import { imageTypeOf } from '@sluice/shared/metadata/images/image-type.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

const read = (value: unknown) => readDocument(Buffer.from(JSON.stringify(value)));
const nothing = { name: null, symbol: null, description: null, image: null, twitter: null, telegram: null, website: null };

describe('the document behind a uri', () => {
  test('is read by its known fields', () => {
    const document = {
      name: 'A coin',
      symbol: 'COIN',
      description: 'Two lines:\nhere.',
      image: 'https://ipfs.io/ipfs/QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKyY1x',
      twitter: 'https://x.com/coin',
      telegram: 'https://t.me/coin',
      website: 'HTTPS://Coin.io',
      showName: true,
    };
    expect(read(document)).toEqual({
      ...document,
      description: 'Two lines: here.',
      website: 'https://coin.io/',
      showName: undefined,
    });
  });

  test.each([
    ['no object', [1]],
    ['a text', 'x'],
    ['null', null],
  ])('is not accepted if it is %s', (_what, value) => expect(read(value)).toBeNull());

  test('is not accepted if it is not JSON, not UTF-8, or nested too deeply', () => {
    expect(readDocument(Buffer.from('<html>'))).toBeNull();
    expect(readDocument(Buffer.from(''))).toBeNull();
    expect(readDocument(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toBeNull();
    const deep = readDocument(Buffer.from(`${'['.repeat(32_000)}${']'.repeat(32_000)}`));
    expect(deep).toBeNull();
  });

  test('reads no text from values of another type, and nothing from a prototype', () => {
    expect(read({ name: 1, symbol: {}, description: [], image: true, twitter: null })).toEqual(nothing);
    expect(readDocument(Buffer.from('{"__proto__":{"name":"x"},"constructor":"y"}'))).toEqual(nothing);
  });

  test('has no control characters, direction marks or half characters', () => {
    const text = read({ name: 'a\u0000b\u001b[31mc\u009bd', symbol: '\u202Eabc\u2066', description: 'x\uD800y\u200Bz\t\r\n!' });
    expect(text).toMatchObject({ name: 'ab[31mcd', symbol: 'abc', description: 'xyz !' });
    expect(read({ name: '👩‍🚀 ok' })?.name).toBe('👩‍🚀 ok');
    expect(read({ name: ' \u0007 ' })?.name).toBeNull();
  });

  test('is limited, and never cut within a character', () => {
    const long = read({ name: 'n'.repeat(5_000), symbol: 's'.repeat(500), description: `${'d'.repeat(999)}🚀` });
    expect([long?.name?.length, long?.symbol?.length, long?.description?.length]).toEqual([128, 64, 999]);
  });

  test.each([
    'javascript:alert(1)',
    'data:image/svg+xml,<svg/>',
    'data:text/html;base64,PHNjcmlwdD4=',
    'vbscript:x',
    'file:///etc/passwd',
    '@handle',
    '//host/path',
    'https://user:pass@host.io/',
    'https://',
    `https://host.io/${'x'.repeat(600)}`,
    'java\nscript:alert(1)',
  ])('drops the address %j', (address) => expect(read({ image: address, website: address })).toEqual(nothing));

  test('accepts all usual forms of an IPFS address', () => {
    for (const address of ['ipfs://Qm123/a.png', 'ipfs://ipfs/Qm123/a.png', '/ipfs/Qm123/a.png'])
      expect(read({ image: address })?.image).toBe('ipfs://Qm123/a.png');
  });

  test('never throws, and keeps its bounds, on any bytes', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void readDocument(bytes)));
    fc.assert(
      fc.property(fc.object(), fc.string({ unit: 'binary', maxLength: 3_000 }), (rest, text) => {
        const document = read({ ...rest, name: text, symbol: text, description: text, image: text });
        expect(document).not.toBeNull();
        expect((document!.description ?? '').length).toBeLessThanOrEqual(1_000);
        expect(document!.description ?? '').not.toMatch(/\p{Cs}/u);
        expect(document!.description ?? '').not.toMatch(/\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
      }),
    );
  });
});

describe('the address of a uri', () => {
  const gateways = ['https://one.io/ipfs/', 'https://two.io/ipfs/'];
  const cid = 'QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKyY1x';
  const hrefs = (uri: string) => placesOf(uri, gateways)?.map(({ href }) => href) ?? null;
  test('an ordinary address is used unchanged', () => expect(hrefs('https://a.io/x.json')).toEqual(['https://a.io/x.json']));
  test('an IPFS address is requested from the gateways', () => {
    const both = [`https://one.io/ipfs/${cid}/a.json`, `https://two.io/ipfs/${cid}/a.json`];
    for (const uri of [`ipfs://${cid}/a.json`, `ipfs://ipfs/${cid}/a.json`, `/ipfs/${cid}/a.json`, `ipfs/${cid}/a.json`])
      expect(hrefs(uri)).toEqual(both);
    expect(hrefs(`https://dead.io/ipfs/${cid}`)).toEqual([
      `https://dead.io/ipfs/${cid}`,
      `https://one.io/ipfs/${cid}`,
      `https://two.io/ipfs/${cid}`,
    ]);
    expect(hrefs(`https://two.io/ipfs/${cid}`)).toEqual([`https://two.io/ipfs/${cid}`, `https://one.io/ipfs/${cid}`]);
  });
  test.each([
    '',
    'x',
    'ipfs://',
    `ipfs://${cid}/../../api/v0/x`,
    `ipfs://${cid}/%2e%2e/x`,
    `ipfs://${cid}/\\..\\..\\x`,
    `ipfs://${cid}\\..\\x`,
    `ipfs://${cid}/.\t./.\n./x`,
    `ipfs://${cid}/../${cid}x`,
    'ipfs://../x',
    'ipfs://host.internal/x',
    `https://a.io/${'x'.repeat(2_048)}`,
  ])('%j has no address', (uri) => expect(hrefs(uri)).toBeNull());
});

describe('a document in the uri itself', () => {
  const text = (uri: string) => dataUriBytes(uri)?.toString() ?? null;
  test('is read in both encodings', () => {
    expect(text('data:application/json,{"name":"x y"}')).toBe('{"name":"x y"}');
    expect(text('data:application/json;charset=utf-8,%7B%22name%22%3A%22x%22%7D')).toBe('{"name":"x"}');
    expect(text(`data:application/json;base64,${Buffer.from('{"a":1}').toString('base64')}`)).toBe('{"a":1}');
    expect(text('DATA:,{}')).toBe('{}');
  });
  test.each([
    'data:',
    'data:text/html,<b>',
    'data:image/svg+xml,<svg/>',
    'data:application/json;base64,###',
    'data:application/json,%zz',
    'https://a,b',
  ])('%j is not one', (uri) => expect(text(uri)).toBeNull());
});

describe('an image', () => {
  const bytes = (text: string) => Buffer.from(text, 'latin1');
  test.each([
    ['image/png', '\x89PNG\r\n\x1a\n....'],
    ['image/jpeg', '\xff\xd8\xff\xe0..'],
    ['image/gif', 'GIF89a...'],
    ['image/gif', 'GIF87a...'],
    ['image/webp', 'RIFF\x10\x00\x00\x00WEBPVP8 '],
  ])('is %s according to its bytes', (type, head) => expect(imageTypeOf(bytes(head))).toBe(type));
  test.each([
    '',
    '<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>',
    '<?xml version="1.0"?><svg/>',
    '<html>',
    '%PDF-1.7',
    'RIFF\x10\x00\x00\x00WAVEfmt ',
    '\x00\x00\x00\x1cftypmp42\x00\x00\x00\x00mp42isom',
    '\x00\x00\x00\x1cftypavif\x00\x00\x00\x00avifmif1miaf',
    'BM......',
  ])('has no type if it begins with %j', (head) => expect(imageTypeOf(bytes(head))).toBeNull());
});
