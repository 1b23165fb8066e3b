import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { parseSignInText, signInText, type SignInMessage } from '@sluice/gateway/accounts/sign-in/sign-in-message.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const address = 'DrtV7fDcnuCCrLqYVWSVK5oWcpcaqTLWFVDkSRgFwmYp';
const full: SignInMessage = {
  domain: 'sluice.example:8443',
  address,
  statement: 'Sign in to the sluice dashboard.',
  uri: 'https://sluice.example:8443',
  version: '1',
  chainId: 'mainnet',
  nonce: 'a1B2c3D4e5',
  issuedAt: '2026-01-02T03:04:05.678Z',
  expirationTime: '2026-01-02T03:09:05.678Z',
  notBefore: '2026-01-02T03:04:05Z',
  requestId: 'one',
  resources: ['https://sluice.example/docs', 'ipfs://bafy'],
};

describe('the text that a wallet signs', () => {
  it('equals the text of the specification, line for line', () => {
    expect(signInText(full)).toBe(
      [
        'sluice.example:8443 wants you to sign in with your Solana account:',
        address,
        '',
        'Sign in to the sluice dashboard.',
        '',
        'URI: https://sluice.example:8443',
        'Version: 1',
        'Chain ID: mainnet',
        'Nonce: a1B2c3D4e5',
        'Issued At: 2026-01-02T03:04:05.678Z',
        'Expiration Time: 2026-01-02T03:09:05.678Z',
        'Not Before: 2026-01-02T03:04:05Z',
        'Request ID: one',
        'Resources:',
        '- https://sluice.example/docs',
        '- ipfs://bafy',
      ].join('\n'),
    );
  });

  it('requires only a domain and an address', () => {
    const text = `sluice.example wants you to sign in with your Solana account:\n${address}`;
    expect(signInText({ domain: 'sluice.example', address })).toBe(text);
    expect(parseSignInText(text)).toEqual({ domain: 'sluice.example', address });
  });

  const text = signInText(full);
  it.each([
    ['a line before it', `\n${text}`],
    ['a line break at the end', `${text}\n`],
    ['Windows line breaks', text.replaceAll('\n', '\r\n')],
    ['a second nonce', text.replace('Nonce: a1B2c3D4e5', 'Nonce: a1B2c3D4e5\nNonce: ffffffff')],
    ['fields out of order', text.replace('Version: 1\nChain ID: mainnet', 'Chain ID: mainnet\nVersion: 1')],
    ['another version', text.replace('Version: 1', 'Version: 2')],
    ['a short nonce', text.replace('a1B2c3D4e5', 'a1B2c3')],
    ['a nonce with other characters', text.replace('a1B2c3D4e5', 'a1B2-c3D4e5')],
    ['a time without a zone', text.replace('05.678Z\nExp', '05.678\nExp')],
    ['an impossible day', text.replace('2026-01-02T03:09', '2026-13-02T03:09')],
    ['an unknown line', text.replace('Request ID: one', 'Amount: 5 SOL')],
    ['no line break before the fields', text.replace('dashboard.\n\nURI', 'dashboard.\nURI')],
    ['a statement over two lines', text.replace('Sign in to', 'Sign in\nto')],
    ['another coin', text.replace('Solana account', 'Ethereum account')],
    ['a domain with a space', text.replace('sluice.example:8443 wants', 'evil.example sluice.example:8443 wants')],
    ['a domain with a user', text.replace('sluice.example:8443 wants', 'sluice.example@evil.example wants')],
    ['an address with a letter that base58 lacks', text.replace(address, address.replace('D', '0'))],
    ['no address', text.replace(`${address}\n`, '')],
    ['more than is read', text.replace('Sign in to', 'Sign in '.repeat(300))],
    ['nothing', ''],
  ])('is refused with %s', (_what, hostile) => {
    expect(parseSignInText(hostile)).toBeNull();
  });

  const nonce = fc.stringMatching(/^[A-Za-z0-9]{8,64}$/);
  const time = fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }).map((date) => date.toISOString());
  const uri = fc.webUrl({ withFragments: true, withQueryParameters: true, validSchemes: ['https', 'http'] });
  const message = fc.record(
    {
      domain: fc
        .tuple(fc.domain(), fc.option(fc.integer({ min: 1, max: 65_535 })))
        .map(([host, port]) => (port === null ? host : `${host}:${port}`)),
      address: fc.uint8Array({ minLength: 32, maxLength: 32 }).map(encodeBase58),
      statement: fc.stringMatching(/^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;= ]{1,100}$/).filter((line) => !/^[A-Z][A-Za-z ]*:/.test(line)),
      uri,
      version: fc.constant('1'),
      chainId: fc.constantFrom('mainnet', 'testnet', 'devnet', 'localnet', 'solana:mainnet', 'solana:devnet'),
      nonce,
      issuedAt: time,
      expirationTime: time,
      notBefore: time,
      requestId: fc.stringMatching(/^[A-Za-z0-9]{0,20}$/),
      resources: fc.array(uri, { maxLength: 3 }),
    },
    { requiredKeys: ['domain', 'address'] },
  );

  it('is parsed to the same message', () => {
    fc.assert(
      fc.property(message, (one) => {
        expect(parseSignInText(signInText(one))).toEqual(one);
      }),
    );
  });

  it('is parsed only if the parsed message gives the same text again', () => {
    const edit = fc.tuple(
      message,
      fc.nat(),
      fc.nat({ max: 3 }),
      fc.constantFrom('', '\n', ' ', 'URI: a:b', 'Nonce: 12345678', '\n\n', 'x', '\u00e9'),
    );
    fc.assert(
      fc.property(edit, ([one, at, cut, inserted]) => {
        const whole = signInText(one);
        const where = at % (whole.length + 1);
        const hostile = whole.slice(0, where) + inserted + whole.slice(where + cut);
        const read = parseSignInText(hostile);
        if (read !== null) expect(signInText(read)).toBe(hostile);
      }),
      { numRuns: 2000 },
    );
  });

  it('may be any text: parsing never throws', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 3000 }), (hostile) => void parseSignInText(hostile)));
  });
});
