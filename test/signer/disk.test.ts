import type { Store } from '@sluice/gateway/store/store.ts';
import { StoreAwayError } from '@sluice/gateway/store/store-away.ts';
import type { SignOutcome } from '@sluice/gateway/orders/model/order-signer.ts';
import type { Logger } from '@sluice/shared/log/log.ts';
import { encodeBase58 } from '@sluice/shared/solana/base58.ts';
import { generateKeypair } from '@sluice/shared/solana/keypair.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { until } from '../support/gateway.ts';
import { launchCoin } from '../support/quoted-trades.ts';
import { startTradingWorld, type Answered, type TradingGateway, type TradingWorld } from '../support/trading-world.ts';
import { badDisk, type BadDisk } from './bad-disk.ts';
import { auditReports, newSignerPlace, passphrase, silentLog, type SignerPlace } from './harness.ts';
import { buyMessage, stranger } from './messages.ts';

/** What becomes of orders where the disk under the audit log is slow, full or broken. */
vi.setConfig({ testTimeout: 90_000 });
/** Far more than an order takes from the store to the node. */
const slotsToWait = 10;
/** What a log has before its first decision; once that is noted in the store, the process asks the disk for nothing more by itself. */
const firstLines = 2;
const isNoted = async ({ auditHeads }: Pick<Store, 'auditHeads'>): Promise<boolean> =>
  (await auditHeads.all()).some(({ lines }) => lines === firstLines);
let disk: BadDisk;
beforeEach(() => {
  disk = badDisk();
});
afterEach(() => disk.end());

describe('an order', () => {
  let world: TradingWorld;
  let gateway: TradingGateway;
  let publicKey: string;
  let mint: string;
  beforeEach(async () => {
    world = await startTradingWorld();
    publicKey = await world.wallet();
    ({ mint } = launchCoin(world.chain));
    gateway = await (await world.gateway()).ready(publicKey, mint);
    await until('the log to be noted', () => isNoted(world.store));
  });
  afterEach(() => world.close());

  const buy = (): Promise<Answered> => gateway.post('/trade/buy', { publicKey, mint, amount: 0.01 });
  const orders = async (): Promise<readonly Record<string, unknown>[]> =>
    (await gateway.get('/trade/orders')).body['orders'] as readonly Record<string, unknown>[];

  async function slotsPass(): Promise<void> {
    const from = world.chain.slot;
    await until('slots to pass', () => world.chain.slot >= from + slotsToWait);
  }

  /** It is refused for the moment, and no node ever hears of it. */
  async function refused(): Promise<Record<string, unknown>> {
    const { status, headers, body } = await buy();
    expect(status).toBe(503);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    const error = body['error'] as Record<string, unknown>;
    expect(error).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', retryable: true });
    await slotsPass();
    expect(world.sent()).toEqual(new Set());
    return error;
  }

  async function trades(): Promise<void> {
    const { status, body } = await gateway.ask('/trade/buy', { publicKey, mint, amount: 0.02 });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(world.sent()).toEqual(new Set([body['signature']]));
    await until('the order to land', () => world.landed(publicKey).includes(String(body['signature'])));
  }

  it('is sent to no node before the disk has its line of the audit log', async () => {
    disk.says('hold');
    let answer: Answered | null = null;
    const answered = buy().then((told) => (answer = told));
    await until('the order to be stored', async () => (await orders()).length === 1);
    await slotsPass();
    expect(world.sent()).toEqual(new Set());
    expect(answer).toBeNull();
    disk.isWell();
    expect(await answered).toMatchObject({ status: 200, body: { status: 'submitted' } });
    expect(world.sent().size).toBe(1);
  });

  it('is refused and not stored if the disk has no room for its line; when it has, orders continue', async () => {
    disk.says('full');
    for (let i = 0; i < 2; i++) {
      expect(await refused()).toMatchObject({ details: {} });
      expect(await orders()).toEqual([]);
    }
    disk.isWell();
    await trades();
  });

  it('is reported under its id and not sent if the disk loses its line after the signature; later ones are sent', async () => {
    disk.says('broken');
    const { details } = await refused();
    const [stored] = await orders();
    expect(details).toEqual({ orderId: stored?.['orderId'], signature: stored?.['signature'] });
    disk.isWell();
    await trades();
  });
});

describe('a signing process', () => {
  let place: SignerPlace;
  beforeEach(async () => {
    place = await newSignerPlace();
  });
  afterEach(() => place.end());

  const lines: Record<string, unknown>[] = [];
  const log = Object.assign(Object.create(silentLog) as Logger, {
    error: (data: object, event: string) => lines.push({ event, ...data }),
  });

  it.each([
    ['full', 'ENOSPC', { ok: false, reason: 'unavailable' }],
    ['broken', 'EIO', { ok: true }],
  ] as const)('says that its disk is %s, and no secret; its log is whole when it is well', async (state, code, expected) => {
    lines.length = 0;
    const { seed, publicKey: wallet } = generateKeypair();
    await (await place.keystore()).import(seed, null);
    const signer = place.signer({ log });
    expect(await signer.started).toEqual({ ok: true });
    const sign = (): Promise<SignOutcome> =>
      signer.sign({ orderId: 'one', publicKey: wallet, message: buyMessage(wallet, stranger(50), 1_000n) });
    await until('the log to be noted', () => isNoted(place.store));
    disk.says(state);
    const outcome = await sign();
    expect(outcome).toMatchObject(expected);
    // A disk that lost a write may take the next one as if nothing had been.
    if (outcome.ok) await expect(outcome.audited()).rejects.toThrow(StoreAwayError);
    await vi.waitFor(
      () => expect(lines).toContainEqual({ event: 'signer_not_started', reason: 'audit_unwritable', what: expect.stringContaining(code) }),
      { timeout: 20_000 },
    );
    expect(lines[0]).toEqual({ event: 'signer_ended', signerPid: expect.any(Number) });
    expect(signer.fault).toContain('audit_unwritable');
    const told = JSON.stringify(lines);
    const hidden = Buffer.from(seed);
    for (const secret of [passphrase, hidden.toString('hex'), hidden.toString('base64'), encodeBase58(seed)]) {
      expect(told).not.toContain(secret);
    }
    disk.isWell();
    await vi.waitFor(async () => expect(await sign()).toMatchObject({ ok: true }), { timeout: 20_000 });
    await signer.close();

    // A line that was not whole is gone, one whose loss the disk told is there all the same: nobody has a signature without one.
    expect(await auditReports(place)).toMatchObject([{ fault: null, signed: outcome.ok ? 2 : 1 }]);
  });
});
