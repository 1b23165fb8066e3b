import { networkOf } from '@sluice/gateway/ratelimit/address-limit.ts';
import { publicOrigins } from '@sluice/gateway/accounts/public-origins.ts';
import { endedSessionCookie, newToken, sessionCookie, sessionTokenOf } from '@sluice/gateway/accounts/sessions/sessions.ts';
import { isSmallOrder } from '@sluice/shared/solana/addresses/curve.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { describe, expect, it } from 'vitest';

const tls = { certFile: 'cert.pem', keyFile: 'key.pem' };

describe('the origins of the dashboard', () => {
  it('are the listener and localhost if only this machine can reach the listener', () => {
    const found = publicOrigins({ host: '127.0.0.1', tls: null, publicUrl: null }, 8080);
    expect(found).toEqual({
      ok: true,
      secure: false,
      origins: [
        { origin: 'http://127.0.0.1:8080', domain: '127.0.0.1:8080', secure: false },
        { origin: 'http://localhost:8080', domain: 'localhost:8080', secure: false },
      ],
    });
  });

  it.each([
    ['::1', null, 'http://[::1]:8080'],
    ['::1', null, 'http://localhost:8080'],
    ['localhost', null, 'http://localhost:8080'],
    ['127.0.0.1', 'http://127.0.0.1:8080', 'http://localhost:8080'],
    ['127.0.0.1', 'https://sluice.example', 'https://sluice.example'],
    ['0.0.0.0', 'https://sluice.example:8443', 'https://sluice.example:8443'],
    ['0.0.0.0', 'http://127.0.0.1:9000', 'http://127.0.0.1:9000'],
    ['0.0.0.0', 'http://[::1]:9000', 'http://[::1]:9000'],
  ])('of a listener at %s with PUBLIC_URL %s have %s', (host, publicUrl, origin) => {
    const found = publicOrigins({ host, tls: null, publicUrl }, 8080);
    expect(found.ok && found.origins.map((one) => one.origin)).toContain(origin);
  });

  it('are only the configured one, if there is one', () => {
    const found = publicOrigins({ host: '127.0.0.1', tls: null, publicUrl: 'https://sluice.example' }, 8080);
    expect(found).toEqual({
      ok: true,
      secure: true,
      origins: [{ origin: 'https://sluice.example', domain: 'sluice.example', secure: true }],
    });
  });

  it('use https if the listener does', () => {
    const found = publicOrigins({ host: '127.0.0.1', tls, publicUrl: null }, 8443);
    expect(found.ok && found.secure && found.origins.every((one) => one.secure)).toBe(true);
  });

  it.each([
    ['0.0.0.0', null],
    ['192.0.2.7', null],
    ['192.0.2.7', 'http://192.0.2.7:8080'],
    ['127.0.0.1', 'http://sluice.example'],
  ])('are none for %s with PUBLIC_URL %s, with a reason', (host, publicUrl) => {
    const found = publicOrigins({ host, tls: null, publicUrl }, 8080);
    expect(found).toMatchObject({ ok: false, why: expect.stringContaining('PUBLIC_URL') });
  });
});

describe('the session cookie', () => {
  const token = newToken();

  it('is bound to the host and to https, and hidden from scripts and other sites', () => {
    expect(sessionCookie(token, true, 60)).toBe(`__Host-sluice_session=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=60; Secure`);
    expect(sessionCookie(token, false, 60)).toBe(`sluice_session=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=60`);
    expect(endedSessionCookie(true)).toContain('__Host-sluice_session=; ');
    expect(endedSessionCookie(true)).toContain('Max-Age=0');
  });

  it('is found among other cookies', () => {
    expect(sessionTokenOf(`a=b; __Host-sluice_session=${token}; c="d, e"`, true)).toBe(token);
    expect(sessionTokenOf(`sluice_session=${token}`, false)).toBe(token);
  });

  it.each([
    ['none', undefined],
    ['of the name without its prefix', `sluice_session=${token}`],
    ['twice', `__Host-sluice_session=${token}; __Host-sluice_session=${newToken()}`],
    ['cut short', `__Host-sluice_session=${token.slice(1)}`],
    ['with something after it', `__Host-sluice_session=${token}0`],
    ['in other letters', `__Host-sluice_session=${'G'.repeat(64)}`],
    ['in a header that is far too long', `${'a=b; '.repeat(2000)}__Host-sluice_session=${token}`],
  ])('is not accepted: %s', (_what, header) => {
    expect(sessionTokenOf(header, true)).toBeNull();
  });
});

describe('public keys of small order', () => {
  const prime = 2n ** 255n - 19n;
  const order8 = 2707385501144840649318225287225658788936804267575313519463743609750303402022n;
  const bytesOf = (value: bigint): Uint8Array => Uint8Array.from({ length: 32 }, (_, index) => Number((value >> BigInt(8 * index)) & 255n));
  const sign = 1n << 255n;

  it.each([0n, 1n, prime - 1n, order8, prime - order8, prime, prime + 1n])('are recognized by their y, %s', (y) => {
    expect(isSmallOrder(bytesOf(y))).toBe(true);
    expect(isSmallOrder(bytesOf(y | sign))).toBe(true);
  });

  it('are not public keys of wallets', () => {
    for (let n = 0; n < 50; n++) expect(isSmallOrder(generateKeypair().publicKeyBytes)).toBe(false);
  });
});

describe('addresses that are counted as one client', () => {
  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2::1', '2001:db8:1:2'],
    ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
    ['::', '0:0:0:0'],
    ['1::2:3:4:5:6', '1:0:0:2'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0'],
  ])('%s is one of %s', (address, group) => expect(networkOf(address)).toBe(group));
});
