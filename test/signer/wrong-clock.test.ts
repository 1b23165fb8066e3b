import { unlockKeystore } from '@sluice/trading/signer/custody/keystore.ts';
import type { AuditEntry, DecisionEntry } from '@sluice/trading/signer/audit/entry.ts';
import { LineTimes } from '@sluice/trading/signer/audit/line-times.ts';
import { openAuditLog } from '@sluice/trading/signer/audit/log.ts';
import { auditKey } from '@sluice/trading/signer/audit/mac-chain.ts';
import { takeAuditPlace } from '@sluice/trading/signer/audit/place.ts';
import { Spend } from '@sluice/trading/signer/limits/daily-spend.ts';
import { openSigningFolder } from '@sluice/trading/signer/signing/signing-folder.ts';
import { answerAll, type SigningParts } from '@sluice/trading/signer/signing/signing.ts';
import { startTerms } from '@sluice/trading/signer/signing/start-terms.ts';
import { signerFolder } from '@sluice/gateway/store/halt/halt-mark.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newSignerPlace, passphrase, type SignerPlace } from './harness.ts';
import { buyMessage, stranger } from './messages.ts';

const hour = 3_600_000;
const day = 24 * hour;
const now = 20_000 * day + 12.5 * hour;
const sol = 1_000_000_000n;
const wallet = stranger();
const mint = stranger(50);

const decision = (n: number, atMs: number, lamports = sol): DecisionEntry & AuditEntry => ({
  n,
  event: 'decision',
  order: `order-${n}`,
  wallet,
  mint,
  message: 'ab'.repeat(32),
  verdict: 'signed',
  rule: null,
  lamports: String(lamports),
  atMs,
});

/** What a process that starts now knows from a log with these lines. */
function recalled(lines: readonly AuditEntry[], nowMs = now): Spend {
  const spend = new Spend();
  const times = new LineTimes({ nowMs: () => nowMs, isNew: false, take: (entry, atMs) => spend.recall(entry, atMs) });
  for (const line of lines) times.seen(line);
  times.end();
  return spend;
}
/** In SOL. */
const spent = (spend: Spend, atMs = now): Record<string, number> => {
  const { hour: inHour, day: onDay, token } = spend.of(wallet, mint, atMs);
  return { hour: Number(inHour / sol), day: Number(onDay / sol), token: Number((token ?? -1n) / sol) };
};

describe('the sums of a log with wrong times', () => {
  it('count lines that are dated in the future as of the next line, or as of now, and all lines after them', () => {
    const year = 365 * day;
    const lines = [decision(1, now - 10), decision(2, now + year), decision(3, now - 5), decision(4, now + day)];
    expect(spent(recalled(lines))).toEqual({ hour: 4, day: 4, token: 4 });
    // A week later, only the line that nothing follows can be of today.
    expect(spent(recalled(lines, now + 7 * day), now + 7 * day)).toEqual({ hour: 0, day: 0, token: 0 });
    expect(spent(recalled([...lines, decision(5, now + year)], now + 7 * day), now + 7 * day)).toEqual({ hour: 1, day: 1, token: 1 });
  });

  it('count lines whose clock was set back as of the line before', () => {
    expect(spent(recalled([decision(1, now - 10), decision(2, now - day), decision(3, now - 2 * hour)]))).toEqual({
      hour: 3,
      day: 3,
      token: 3,
    });
    expect(spent(recalled([decision(1, now - day), decision(2, now - 3 * day)]))).toEqual({ hour: 0, day: 0, token: 0 });
  });

  it('are those of the segments before, even if a period in them is in the future', () => {
    const period = Math.floor((now + 365 * day) / day);
    const sums: AuditEntry = { n: 2, event: 'sums', sums: [['day', period, wallet, String(70n * sol)]] };
    const segment = {
      n: 1,
      event: 'segment',
      logId: 'a',
      keystore: 'cluster',
      segment: 1,
      before: '',
      bytes: 1,
      sums: 1,
      policyVersion: 0,
    } as const;
    for (const atMs of [now - 10, now + 365 * day]) {
      expect(spent(recalled([{ ...segment, atMs }, sums, decision(3, now)])).day, String(atMs)).toBe(71);
    }
    expect(spent(recalled([{ ...segment, atMs: now - day }, sums, decision(3, now)])).day).toBe(1);
  });

  it('lose nothing by a signature that was withdrawn, even across midnight', () => {
    const midnight = now + 11.5 * hour;
    const ended: AuditEntry = { n: 3, event: 'void', of: 1, wallet, mint, lamports: String(sol), rule: 'day_limit', atMs: midnight - 1 };
    const spend = recalled([decision(1, midnight - 1), decision(2, midnight), ended], midnight + 1);
    expect([spent(spend, midnight).day, spent(spend, midnight - 1).day]).toEqual([1, 1]);
  });
});

describe('signing processes', () => {
  let place: SignerPlace;
  let key: Uint8Array;
  let own: string;
  beforeEach(async () => {
    place = await newSignerPlace();
    own = await place.wallet();
    const stored = await place.store.wallets.keystore('cluster');
    const keystoreKey = stored === null ? null : await unlockKeystore('cluster', stored, passphrase);
    if (keystoreKey === null) throw new Error('the keystore does not open');
    key = auditKey(keystoreKey, 'cluster');
  });
  afterEach(() => place.end());

  const limits = { maxOrderLamports: 10n * sol, maxDayLamports: 20n * sol };

  /** Adds lines to the log as a process with another clock would. */
  const addLines = (...times: readonly number[]): void => {
    const options = { folder: signerFolder(place), name: 'cluster-0', keystore: 'cluster', key, segmentBytes: 1 << 20 };
    const opened = openAuditLog({ ...options, recordedEnd: () => null, seen: () => undefined, nowMs: () => Date.now() });
    if (!opened.ok) throw new Error(opened.reason);
    for (const atMs of times) {
      const { n: _, ...entry } = decision(0, atMs, 1n);
      opened.log.add({ ...entry, wallet: own });
    }
    opened.log.write();
    opened.log.close();
  };

  /** How often a new process signs for 5 SOL before it refuses. */
  const signsUntilRefused = async (restart: number): Promise<number> => {
    const signer = place.signer({ limits });
    await signer.started;
    for (let signed = 0; ; signed++) {
      const message = buyMessage(own, mint, 5n * sol);
      const outcome = await signer.sign({ orderId: `order-${restart}-${signed}`, publicKey: own, message });
      if (outcome.ok) continue;
      expect(outcome).toMatchObject({ rule: 'day_limit' });
      await signer.close();
      return signed;
    }
  };

  it.each([
    ['a year ahead', 365 * day],
    ['an hour ahead', hour],
    ['a day behind', -day],
  ])('sign no more than the limit of the day over all restarts, with a line in their log that is dated %s', async (_name, aheadMs) => {
    expect(await signsUntilRefused(0)).toBe(3);
    addLines(Date.now() + aheadMs, Date.now());
    for (const restart of [1, 2]) {
      expect(await signsUntilRefused(restart)).toBe(0);
      addLines(Date.now() + aheadMs);
    }
  });

  it('begin no new day because of a jump of their own clock, as long as the gateway does not agree', () => {
    const folder = signerFolder(place);
    const taken = takeAuditPlace(folder, 'cluster');
    if (taken === null) throw new Error('no place');
    const terms = startTerms({ place: taken, keystore: 'cluster', passphraseFile: place.passphraseFile, dataDir: place.dataDir, limits });
    let nowMs = now;
    const time = { nowMs: () => nowMs };
    const keypair = generateKeypair();
    const signing = openSigningFolder(terms, key, new Map(), time);
    const parts: SigningParts = {
      ...signing,
      limits,
      wallets: new Map([[keypair.publicKey, keypair]]),
      isHalted: () => false,
      maxHaltAgeMs: 1_000,
      time,
      nowNs: () => 0n,
    };
    const sign = (gatewayMs: number | null): string => {
      const message = buyMessage(keypair.publicKey, mint, 9n * sol);
      const [answer] = answerAll(
        [
          {
            op: 'sign',
            id: 1,
            orderId: 'one',
            publicKey: keypair.publicKey,
            message,
            poolAccount: null,
            runningAtNs: 0n,
            nowMs: gatewayMs,
          },
        ],
        parts,
      );
      return answer?.op === 'refused' ? answer.rule : String(answer?.op);
    };
    expect([sign(now), sign(null), sign(now)]).toEqual(['signed', 'signed', 'day_limit']);
    nowMs += 2 * day;
    expect(sign(now)).toBe('day_limit');
    // A gateway that claims a later time decides nothing.
    nowMs = now;
    expect(sign(now + 2 * day)).toBe('day_limit');
    // One that claims earlier times gets no further limit for each of them.
    for (const daysAgo of [3, 2, 1]) expect(sign(now - daysAgo * day)).toBe('day_limit');
    nowMs += 2 * day;
    expect([sign(now - 3 * day), sign(now - 2 * day), sign(now + day), sign(nowMs)]).toEqual([
      'day_limit',
      'day_limit',
      'signed',
      'signed',
    ]);
    expect([sign(now + day), sign(nowMs), sign(null)]).toEqual(['day_limit', 'day_limit', 'day_limit']);
    nowMs += 2 * day;
    expect([sign(nowMs), sign(nowMs), sign(nowMs)]).toEqual(['signed', 'signed', 'day_limit']);
    signing.audit.close();
    taken.lock.release();
  });
});
