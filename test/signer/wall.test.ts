import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unlockKeystore } from '@sluice/trading/signer/custody/keystore.ts';
import { auditKey } from '@sluice/trading/signer/audit/mac-chain.ts';
import type { SigningProcess } from '@sluice/trading/signer/client/client.ts';
import { writePin, writePolicy, type PolicyFiles, signPolicy, type Policy } from '@sluice/trading/signer/limits/policy-file.ts';
import type { SignerStart } from '@sluice/trading/signer/client/supervisor.ts';
import { makeHaltMarks, removeHaltMarks, signerFolder } from '@sluice/gateway/store/halt/halt-mark.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import type { SignOutcome } from '../../trading/src/signer/client/client.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fastClock } from '../support/clocks.ts';
import { auditReports, newSignerPlace, passphrase, type SignerPlace } from './harness.ts';
import { buyMessage, stranger } from './messages.ts';

const mint = stranger(50);
const sol = 1_000_000_000n;

let place: SignerPlace;
let wallet: string;
beforeEach(async () => {
  place = await newSignerPlace();
  wallet = await place.wallet();
});
afterEach(() => place.end());

const request = (lamports: bigint) => ({ orderId: 'one', publicKey: wallet, message: buyMessage(wallet, mint, lamports) });
const refusedFor = (outcomes: readonly SignOutcome[]): readonly string[] =>
  outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.reason === 'refused' ? outcome.rule : outcome.reason]));

describe("a wallet's day, over all signing processes of a folder", { timeout: 60_000 }, () => {
  // Besides 1 SOL each message may use the fee, rent and priority fee: less than 0.007 SOL.
  const limits = { maxOrderLamports: sol + 7_000_000n, maxDayLamports: 3n * sol + 50_000_000n };

  it('is one sum for three of them, in turn and at once, and for a fourth that starts later', async () => {
    const signers = [place.signer({ limits }), place.signer({ limits }), place.signer({ limits })];
    for (const signer of signers) expect(await signer.started).toEqual({ ok: true });
    const inTurn: SignOutcome[] = [];
    for (const signer of [...signers, ...signers]) inTurn.push(await signer.sign(request(sol)));
    expect(inTurn.filter(({ ok }) => ok)).toHaveLength(3);
    expect(refusedFor(inTurn)).toEqual(['day_limit', 'day_limit', 'day_limit']);
    const other = await place.wallet();
    const message = buyMessage(other, mint, sol);
    const burst = await Promise.all(
      Array.from({ length: 30 }, (_, n) => signers[n % 3]!.sign({ orderId: 'one', publicKey: other, message })),
    );
    // Requests at the same moment may all be refused, but never is more signed than the day allows.
    expect(burst.filter(({ ok }) => ok).length).toBeLessThanOrEqual(3);
    const late = place.signer({ limits });
    await late.started;
    expect(await late.sign(request(sol))).toMatchObject({ ok: false, rule: 'day_limit' });
    const reports = await auditReports(place);
    expect(reports.map(({ fault }) => fault)).toEqual([null, null, null, null]);
  });

  it('counts a log whose lock file was removed', async () => {
    const signers = [place.signer({ limits }), place.signer({ limits }), place.signer({ limits })];
    for (const signer of signers) expect(await signer.started).toEqual({ ok: true });
    for (let orders = 0; orders < 3; orders++) expect(await signers[2]!.sign(request(sol))).toMatchObject({ ok: true });
    for (const signer of signers) await signer.close();
    rmSync(join(place.dataDir, 'audit', 'cluster-1.lock'));
    rmSync(join(place.dataDir, 'audit', 'cluster-2.lock'));
    const again = place.signer({ limits });
    await again.started;
    expect(await again.sign(request(sol))).toMatchObject({ ok: false, rule: 'day_limit' });
  });
});

describe('the halt', () => {
  it('is read by the signing process itself, even if its gateway reports otherwise', async () => {
    const lying = { read: () => ({ halted: false, readAtNs: process.hrtime.bigint() }) };
    const signer = place.signer({ halt: lying });
    await signer.started;
    expect(await signer.sign(request(sol))).toMatchObject({ ok: true });
    const folders = { dataDir: place.dataDir };
    expect(makeHaltMarks(folders, null, Date.now())).toEqual([]);
    expect(await signer.sign(request(sol))).toEqual({ ok: false, reason: 'halted' });
    expect(await signer.judge(request(sol))).toEqual({ ok: false, reason: 'halted' });
    removeHaltMarks(folders);
    expect(await signer.sign(request(sol))).toMatchObject({ ok: true });
  });
});

describe('a missing audit log', () => {
  it('prevents the start, and the check fails', async () => {
    const first = place.signer();
    await first.started;
    expect(await first.sign(request(sol))).toMatchObject({ ok: true });
    await first.close();
    rmSync(join(place.dataDir, 'audit', 'cluster-0.log'));
    const second = place.signer({ clock: fastClock(20) });
    expect(await second.started).toMatchObject({ ok: false, reason: 'audit_missing' });
    expect(await second.sign(request(sol))).toEqual({ ok: false, reason: 'unavailable' });
    await second.close();
    const reports = await auditReports(place);
    expect(reports).toMatchObject([{ lines: 0, fault: expect.stringContaining('no log') }]);
  });
});

describe("the operator's policy", { timeout: 60_000 }, () => {
  const key = generateKeypair();
  const open: Omit<Policy, 'version'> = {
    keystore: 'cluster',
    maxOrderLamports: null,
    maxHourLamports: null,
    maxDayLamports: null,
    maxTokenLamports: null,
    tokens: null,
    venues: null,
  };
  const other = stranger(51);

  async function policyPlace(): Promise<PolicyFiles> {
    const stored = await place.store.wallets.keystore('cluster');
    const keystoreKey = (await unlockKeystore('cluster', stored!, passphrase))!;
    return { folder: signerFolder(place.store), keystore: 'cluster', key: auditKey(keystoreKey, 'cluster') };
  }

  it('limits coins, venues and amounts, is loaded while running, and applies to a process that starts later', async () => {
    const at = await policyPlace();
    const install = (version: number, rules: Partial<Policy>): void =>
      writePolicy(at, JSON.stringify(signPolicy({ ...open, version, ...rules }, key)));
    const signer = place.signer();
    await signer.started;
    const sign = (coin: string, lamports: bigint): Promise<SignOutcome> =>
      signer.sign({ orderId: 'one', publicKey: wallet, message: buyMessage(wallet, coin, lamports) });
    const takenUp = async (version: number): Promise<void> =>
      vi.waitFor(() => expect(readFileSync(join(at.folder, 'cluster-0.log'), 'utf8')).toContain(`"event":"policy","version":${version},`), {
        timeout: 60_000,
      });
    expect(await sign(other, sol / 10n)).toMatchObject({ ok: true });
    // The two files are read together: a key without its policy stops everything.
    install(1, { tokens: [mint] });
    writePin(at, key.publicKey);
    await takenUp(1);
    expect(await sign(other, sol / 10n)).toMatchObject({ ok: false, rule: 'token_list' });
    expect(await sign(mint, sol / 10n)).toMatchObject({ ok: true });
    install(2, { venues: [stranger(9)] });
    await takenUp(2);
    expect(await sign(mint, sol / 10n)).toMatchObject({ ok: false, rule: 'venue_list' });
    install(3, { maxOrderLamports: sol / 20n });
    await takenUp(3);
    expect(await sign(mint, sol / 10n)).toMatchObject({ ok: false, rule: 'order_limit' });
    install(4, { maxTokenLamports: sol / 5n + 30_000_000n });
    await takenUp(4);
    expect(await sign(mint, sol / 10n)).toMatchObject({ ok: true });
    expect(await sign(mint, sol / 10n)).toMatchObject({ ok: false, rule: 'token_limit' });
    expect(await sign(other, sol / 10n)).toMatchObject({ ok: true });
    install(5, { maxHourLamports: sol / 2n });
    await takenUp(5);
    const hour = place.signer();
    await hour.started;
    expect(await hour.sign(request(sol / 5n))).toMatchObject({ ok: false, rule: 'hour_limit' });
    expect((await auditReports(place)).map(({ fault }) => fault)).toEqual([null, null]);
  });

  it('prevents the start if it is older, missing, of another key, or if its key was replaced without the passphrase', async () => {
    const at = await policyPlace();
    const of = (version: number, signer = key): string => JSON.stringify(signPolicy({ ...open, version }, signer));
    const files = [`${at.folder}/cluster.policy`, `${at.folder}/cluster.policy-key`] as const;
    const start = async (): Promise<SignerStart> => {
      const signer = place.signer();
      const started = await signer.started;
      await signer.close();
      return started;
    };
    expect(await start()).toEqual({ ok: true });
    writePolicy(at, of(7));
    writePin(at, key.publicKey);
    expect(await start()).toEqual({ ok: true });
    const stranger2 = generateKeypair();
    const pin = readFileSync(files[1], 'utf8');
    for (const damage of [
      () => writePolicy(at, of(6)),
      () => writePolicy(at, of(8, stranger2)),
      () => writePolicy(at, of(7).replace('null', '"1"')),
      () => rmSync(files[0]),
      () => rmSync(files[1]),
      () => writeFileSync(files[1], pin.replace(key.publicKey, stranger2.publicKey)),
    ]) {
      damage();
      expect(await start()).toMatchObject({ ok: false, reason: 'policy_refused' });
      writePolicy(at, of(7));
      writeFileSync(files[1], pin);
    }
    expect(await start()).toEqual({ ok: true });
  });
});

describe('segments of an audit log', () => {
  it("preserve the day's sum over many of them, for this process and for others, and all are checked", async () => {
    const limits = { maxOrderLamports: sol, maxDayLamports: sol };
    const signers = [place.signer({ limits, segmentBytes: 2_000 }), place.signer({ limits, segmentBytes: 2_000 })];
    for (const signer of signers) await signer.started;
    /** A request whose answer came too late may still have been signed: the logs show it. */
    const upToTheLimit = async (from: readonly SigningProcess[]): Promise<void> => {
      for (const signer of from)
        await vi.waitUntil(async () => refusedFor([await signer.sign(request(sol / 20n))])[0] === 'day_limit', 20_000);
    };
    for (let n = 0; n < 10; n++) await signers[n % 2]!.sign(request(sol / 20n));
    await upToTheLimit(signers);
    for (const signer of signers) await signer.close();
    const again = place.signer({ limits, segmentBytes: 2_000 });
    expect(await again.started).toEqual({ ok: true });
    await upToTheLimit([again]);
    await again.close();
    const reports = await auditReports(place);
    expect(reports).toMatchObject([{ fault: null }, { fault: null }]);
    for (const { segments } of reports) expect(segments).toBeGreaterThan(1);
    // Each uses 0.05 SOL and less than 0.007 SOL in addition.
    const signed = reports.reduce((sum, report) => sum + report.signed, 0);
    expect(signed).toBe(17);
    rmSync(join(place.dataDir, 'audit', 'cluster-1.log'));
    const damaged = place.signer({ limits });
    expect(await damaged.started).toMatchObject({ ok: false, reason: 'audit_damaged' });
  });
});
