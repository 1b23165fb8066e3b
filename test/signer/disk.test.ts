import type { Store } from '@sluice/gateway/store/store.ts';
import { StoreUnavailableError } from '@sluice/gateway/store/store-unavailable.ts';
import type { SignOutcome } from '../../trading/src/signer/client/client.ts';
import type { Logger } from '@sluice/shared/runtime/log/log.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { until } from '../support/gateway.ts';
import { launchCoin } from '../support/chain/quoted-trades.ts';
import { startTradingWorld, type Answered, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';
import { badDisk, type BadDisk } from './bad-disk.ts';
import { auditReports, newSignerPlace, passphrase, silentLog, type SignerPlace } from './harness.ts';
import { buyMessage, stranger } from './messages.ts';

/** What happens to orders if the disk under the audit log is slow, full or broken. */
vi.setConfig({ testTimeout: 90_000 });
/** Far longer than an order takes from the store to the node. */
const slotsToWait = 10;
/**
 * The length of a log before its first decision. Once the store has recorded this end, the process writes nothing more to the disk by
 * itself.
 */
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
    await until('the end of the log to be recorded', () => isNoted(world.store));
  });
  afterEach(() => world.close());

  const buy = (): Promise<Answered> => gateway.post('/trade/buy', { publicKey, mint, amount: 0.01 });
  const orders = async (): Promise<readonly Record<string, unknown>[]> =>
    (await gateway.get('/trade/orders')).body['orders'] as readonly Record<string, unknown>[];

  async function slotsPass(): Promise<void> {
    const from = world.chain.slot;
    await until('slots to pass', () => world.chain.slot >= from + slotsToWait);
  }

  /** It is refused temporarily, and no node ever receives it. */
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

  it('is sent to no node before its line of the audit log is on the disk', async () => {
    disk.says('hold');
    let answer: Answered | null = null;
    const answered = buy().then((reply) => (answer = reply));
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
  ] as const)(
    'reports that its disk is %s, without a secret; its log is complete when the disk works again',
    async (state, code, expected) => {
      lines.length = 0;
      const { seed, publicKey: wallet } = generateKeypair();
      await (await place.keystore()).import(seed, null);
      const signer = place.signer({ log });
      expect(await signer.started).toEqual({ ok: true });
      const sign = (): Promise<SignOutcome> =>
        signer.sign({ orderId: 'one', publicKey: wallet, message: buyMessage(wallet, stranger(50), 1_000n) });
      await until('the end of the log to be recorded', () => isNoted(place.store));
      disk.says(state);
      const outcome = await sign();
      expect(outcome).toMatchObject(expected);
      // A disk that lost a write may accept the next one without an error.
      if (outcome.ok) await expect(outcome.audited()).rejects.toThrow(StoreUnavailableError);
      await vi.waitFor(
        () =>
          expect(lines).toContainEqual({ event: 'signer_not_started', reason: 'audit_unwritable', what: expect.stringContaining(code) }),
        { timeout: 60_000 },
      );
      expect(lines[0]).toEqual({ event: 'signer_ended', signerPid: expect.any(Number) });
      expect(signer.fault).toContain('audit_unwritable');
      const logged = JSON.stringify(lines);
      const hidden = Buffer.from(seed);
      for (const secret of [passphrase, hidden.toString('hex'), hidden.toString('base64'), encodeBase58(seed)]) {
        expect(logged).not.toContain(secret);
      }
      disk.isWell();
      await vi.waitFor(async () => expect(await sign()).toMatchObject({ ok: true }), { timeout: 60_000 });
      await signer.close();

      // An incomplete line is gone. A line whose loss the disk reported is still there; no client has a signature without a line.
      expect(await auditReports(place)).toMatchObject([{ fault: null, signed: outcome.ok ? 2 : 1 }]);
    },
  );
});
