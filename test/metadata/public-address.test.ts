import { isPublicAddress } from '@sluice/shared/guarded-http/public-address.ts';
import { allowsUrl, internetRules } from '@sluice/shared/guarded-http/rules.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

const privateV4 = [
  '0.0.0.0',
  '0.255.255.255',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.0',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.0.1',
  '169.254.169.254',
  '172.16.0.0',
  '172.31.255.255',
  '192.0.0.170',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
];
const publicV4 = [
  '1.1.1.1',
  '8.8.8.8',
  '100.63.255.255',
  '100.128.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '223.255.255.255',
];
const specialV6 = [
  '::',
  '::1',
  '0:0:0:0:0:0:0:1',
  'fe80::1',
  'fe80::1%eth0',
  'febf::1',
  'fec0::1',
  'fc00::1',
  'fd12:3456:789a::1',
  'ff02::1',
  '100::1',
  '2001::1',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '2002::1',
  '2002:7f00:1::',
  '2002:808:808::1',
  '3fff::1',
  '5f00::1',
  '64:ff9b:1::808:808',
  '2620:4f:8000::1',
];
const publicV6 = [
  '2606:4700:4700::1111',
  '2001:4860:4860::8888',
  '2a00:1450:4001:80b::200e',
  '2003::1',
  '64:ff9b::8.8.8.8',
  '64:ff9b::808:808',
];

/** Every form in which IPv6 carries an IPv4 address. */
const v6FormsOf = (v4: string): string[] => {
  const [a = 0, b = 0, c = 0, d = 0] = v4.split('.').map(Number);
  const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  return [
    `::ffff:${v4}`,
    `::ffff:${hex}`,
    `0:0:0:0:0:ffff:${hex}`,
    `::${v4}`,
    `::ffff:0:${hex}`,
    `64:ff9b::${v4}`,
    `64:ff9b::${hex}`,
    `64:ff9b:1::${hex}`,
    `2002:${hex}::`,
    `2002:${hex}::1`,
  ];
};

describe('an address of the public internet', () => {
  test.each(privateV4)('%s is not one, in any form', (address) => {
    expect(isPublicAddress(address)).toBe(false);
    for (const form of v6FormsOf(address)) expect(isPublicAddress(form), form).toBe(false);
  });
  test.each(specialV6)('%s is not one', (address) => expect(isPublicAddress(address)).toBe(false));
  test.each([...publicV4, ...publicV6])('%s is one', (address) => expect(isPublicAddress(address)).toBe(true));
  test.each(['', 'localhost', '1.2.3', '1.2.3.4.5', '08.8.8.8', '8.8.8.8 ', '[::1]', '1.1.1.1/32'])('%j is not one', (text) =>
    expect(isPublicAddress(text)).toBe(false),
  );

  test('a private IPv4 address is not public in any form of IPv6', () => {
    const parts = fc.tuple(fc.constantFrom(10, 127, 0, 224, 255), fc.nat(255), fc.nat(255), fc.nat(255));
    fc.assert(
      fc.property(parts, (bytes) => v6FormsOf(bytes.join('.')).every((form) => !isPublicAddress(form))),
      { numRuns: 500 },
    );
  });
});

describe('a URL is never requested', () => {
  test.each([
    ['an address in one number', 'http://2130706433/'],
    ['an octal address', 'http://0177.0.0.1/'],
    ['a hexadecimal address', 'http://0x7f.1/'],
    ['a hexadecimal number', 'http://0x7f000001/'],
    ['a short address', 'http://127.1/'],
    ['a zero', 'http://0/'],
    ['full-width digits', 'http://１２７.０.０.１/'],
    ['circled digits', 'http://①②⑦.⓪.⓪.①/'],
    ['a percent-encoded address', 'http://%31%32%37.0.0.1/'],
    ['a trailing dot', 'http://127.0.0.1./'],
    ['the loopback of IPv6', 'http://[::1]/'],
    ['a mapped address', 'http://[::ffff:127.0.0.1]/'],
    ['cloud metadata', 'http://169.254.169.254/latest/meta-data/'],
    ['cloud metadata over IPv6', 'http://[fd00:ec2::254]/'],
    ['cloud metadata by name', 'http://metadata.google.internal/'],
    ['a name of this machine', 'http://localhost/'],
    ['a name below it', 'https://a.localhost./'],
    ['a name without a dot', 'http://redis/'],
    ['a name of the link', 'http://printer.local/'],
    ['a name that cannot exist', 'https://simnet.invalid/coin/1'],
    ['a name for tests', 'https://a.test/'],
    ['a name for documents', 'https://example.com/'],
    ['a name of the home', 'http://router.home.arpa/'],
    ['a hidden service', 'http://abcdefghij.onion/'],
    ['another port', 'https://metadata.sluice-coins.com:8443/'],
    ['the port of Redis', 'http://metadata.sluice-coins.com:6379/'],
    ['a user', 'https://user@metadata.sluice-coins.com/'],
    ['a password', 'https://:secret@metadata.sluice-coins.com/'],
    ['another scheme', 'ftp://metadata.sluice-coins.com/'],
    ['a file', 'file:///etc/passwd'],
    ['a WebSocket', 'wss://metadata.sluice-coins.com/'],
  ])('%s', (_what, text) => expect(allowsUrl(new URL(text), internetRules)).toBe(false));

  test.each([
    'https://metadata.sluice-coins.com/a.json',
    'http://metadata.sluice-coins.com:80/',
    'https://METADATA.Sluice-Coins.com.:443/',
    'https://1.1.1.1/',
    'http://xn--bcher-kva.ch/',
    'https://[2606:4700::1111]/',
  ])('unless it is like %s', (text) => expect(allowsUrl(new URL(text), internetRules)).toBe(true));
});
