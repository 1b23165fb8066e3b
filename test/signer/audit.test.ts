import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync, appendFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unlockKeystore } from '@sluice/trading/signer/custody/keystore.ts';
import { auditKey, auditLine, macOf } from '@sluice/trading/signer/audit/mac-chain.ts';
import type { AuditEntry, SpendSum } from '@sluice/trading/signer/audit/entry.ts';
import { AuditError, openAuditLog, type AuditLog } from '@sluice/trading/signer/audit/log.ts';
import { takeAuditPlace } from '@sluice/trading/signer/audit/place.ts';
import { checkLog, segmentFile } from '@sluice/trading/signer/audit/segments.ts';
import { Siblings } from '@sluice/trading/signer/audit/siblings.ts';
import { LineTimes } from '@sluice/trading/signer/audit/line-times.ts';
import { Spend } from '@sluice/trading/signer/limits/daily-spend.ts';
import type { LogHead } from '@sluice/trading/signer/wire/protocol.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fastClock } from '../support/clocks.ts';
import { auditReports, newSignerPlace, passphrase } from './harness.ts';
import { buyMessage, stranger } from './messages.ts';

const key = new Uint8Array(32).fill(7);
const wallet = stranger();
const segmentBytes = 1 << 20;
let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-audit-'));
  file = join(folder, 'cluster-0.log');
});
afterEach(() => rmSync(folder, { recursive: true }));

function opened(head: LogHead | null = null, seen: (entry: AuditEntry) => void = () => undefined): AuditLog {
  const recordedEnd = (): LogHead | null => head;
  const outcome = openAuditLog({ folder, name: 'cluster-0', keystore: 'cluster', key, recordedEnd, seen, segmentBytes, nowMs: () => 1 });
  if (!outcome.ok) throw new Error(`line ${outcome.line} ${outcome.reason}`);
  return outcome.log;
}

function addDecisions(log: AuditLog, count: number): void {
  for (let n = 0; n < count; n++) {
    const lamports = String(1_000 + n);
    log.add({ event: 'decision', order: `order-${n}`, wallet, message: 'ab'.repeat(32), verdict: 'signed', rule: null, lamports, atMs: n });
    log.write();
    if (n % 2 === 0) log.sync();
  }
}

const check = (head: LogHead | null, seen: (entry: AuditEntry) => void = () => undefined) =>
  checkLog({ folder, name: 'cluster-0' }, key, () => head, seen);

function isWhole(head: LogHead | null = null): boolean {
  return check(head).ok;
}

const linesOf = (): string[] => readFileSync(file, 'utf8').trimEnd().split('\n');
const put = (lines: readonly string[]): void => writeFileSync(file, `${lines.join('\n')}\n`);

it('the log is unchanged after a line that could not be written', () => {
  const log = opened();
  addDecisions(log, 1);
  const { head } = log;
  log.close();
  expect(() => addDecisions(log, 1)).toThrow('EBADF');
  expect(log.head).toEqual(head);
  expect(isWhole(log.head)).toBe(true);
});

describe('the audit log', () => {
  it('continues where it ended, and returns its contents', () => {
    const first = opened();
    addDecisions(first, 3);
    first.close();
    const seen: AuditEntry[] = [];
    const second = opened(null, (entry) => seen.push(entry));
    expect(seen.map(({ n, event }) => [n, event])).toEqual([
      [1, 'begin'],
      [2, 'decision'],
      [3, 'decision'],
      [4, 'decision'],
    ]);
    expect(second.head).toEqual(first.head);
    addDecisions(second, 1);
    second.close();
    expect(isWhole(second.head)).toBe(true);
    expect(isWhole(first.head)).toBe(true);
  });

  it('is damaged by any change of any bit', () => {
    const log = opened();
    addDecisions(log, 4);
    log.close();
    const good = readFileSync(file);
    expect(isWhole()).toBe(true);
    for (let at = 0; at < good.length; at++) {
      const bad = Buffer.from(good);
      bad[at] = good[at]! ^ (1 << (at % 8));
      writeFileSync(file, bad);
      // If only the last newline is missing, the last line looks like one that was being written; the recorded end shows the difference.
      const outcome = check(at === good.length - 1 ? log.head : null);
      expect(outcome.ok, `byte ${at}`).toBe(false);
    }
  });

  it('is damaged by missing, moved, repeated or added lines, and by a whole log under another key', () => {
    const log = opened();
    addDecisions(log, 12);
    log.close();
    const good = linesOf();
    const edit = fc.oneof(
      fc.record({ kind: fc.constant('leave out' as const), at: fc.nat(good.length - 2) }),
      fc.record({ kind: fc.constant('repeat' as const), at: fc.nat(good.length - 1) }),
      fc.record({ kind: fc.constant('move' as const), at: fc.nat(good.length - 2) }),
    );
    fc.assert(
      fc.property(edit, ({ kind, at }) => {
        const line = good[at]!;
        const rest = good.toSpliced(at, 1);
        if (kind === 'leave out') put(rest);
        else if (kind === 'repeat') put(good.toSpliced(at, 0, line));
        else put(rest.toSpliced(at + 1, 0, line));
        expect(isWhole()).toBe(false);
      }),
      { seed: 20261121, numRuns: 200 },
    );
    put(good);
    expect(isWhole()).toBe(true);
    let mac: Uint8Array = new Uint8Array(32);
    const forged = good.map((line) => {
      mac = macOf(new Uint8Array(32), mac, line.slice(65));
      return auditLine(mac, line.slice(65)).trimEnd();
    });
    put(forged);
    expect(isWhole()).toBe(false);
  });

  it('is known to be cut if it is shorter than the stored note, or differs from it', () => {
    const log = opened();
    addDecisions(log, 3);
    const noted = log.head;
    addDecisions(log, 3);
    log.close();
    const good = linesOf();
    expect(isWhole(noted)).toBe(true);
    put(good.slice(0, noted.lines));
    expect(isWhole(noted)).toBe(true);
    put(good.slice(0, noted.lines - 1));
    expect(isWhole(noted)).toBe(false);
    expect(isWhole()).toBe(true);
    put(good);
    expect(isWhole({ ...noted, mac: new Uint8Array(32) })).toBe(false);
  });

  it('loses a line that was being written, and no other', () => {
    const log = opened();
    addDecisions(log, 2);
    log.close();
    const good = readFileSync(file);
    const lines = linesOf();
    for (const torn of [good.length - 1, good.length - 30, good.length - (lines[2]?.length ?? 0)]) {
      writeFileSync(file, good);
      truncateSync(file, torn);
      const again = opened();
      expect(again.head.lines).toBe(2);
      addDecisions(again, 1);
      again.close();
      expect(isWhole(again.head)).toBe(true);
    }
    for (const bytes of [0, 10, 65]) {
      writeFileSync(file, good.subarray(0, bytes));
      opened().close();
      expect(linesOf()).toHaveLength(1);
      expect(isWhole()).toBe(true);
    }
  });

  it('has one writing process only', () => {
    const log = opened();
    appendFileSync(file, 'x');
    expect(() => addDecisions(log, 1)).toThrow(AuditError);
    log.close();
  });
});

describe('a log of several segments', () => {
  const sumsOf = (count: number): readonly SpendSum[] => Array.from({ length: count }, (_, n) => ['day', 20_000, stranger(n), '5']);
  /** Three segments with two decisions in each, and 40 sums before those of the later ones. */
  function threeSegments(): LogHead {
    const log = opened();
    for (let segment = 0; segment < 3; segment++) {
      if (segment > 0) log.beginSegment({ sums: sumsOf(40), policyVersion: segment });
      addDecisions(log, 2);
    }
    log.close();
    return log.head;
  }
  const segment = (n: number): string => segmentFile({ folder, name: 'cluster-0' }, n);
  const reopened = (head: LogHead | null) =>
    openAuditLog({
      folder,
      name: 'cluster-0',
      keystore: 'cluster',
      key,
      recordedEnd: () => head,
      seen: () => undefined,
      segmentBytes,
      nowMs: () => 1,
    });

  it('is read from its newest segment, which begins with the sums of the others', () => {
    const head = threeSegments();
    expect(check(head)).toMatchObject({ ok: true, head });
    const seen: AuditEntry[] = [];
    const log = opened(head, (entry) => seen.push(entry));
    log.close();
    expect(seen.map(({ event }) => event)).toEqual(['segment', 'sums', 'sums', 'sums', 'decision', 'decision']);
    expect(seen[0]).toMatchObject({ segment: 2, policyVersion: 2 });
    expect(seen.flatMap((entry) => (entry.event === 'sums' ? entry.sums : []))).toEqual(sumsOf(40));
    expect(log.head).toEqual(head);
  });

  it('is damaged if a segment is missing, cut, longer, of another log, or changed in any byte', () => {
    const head = threeSegments();
    const good = [0, 1, 2].map((n) => readFileSync(segment(n)));
    const restore = (): void => good.forEach((content, n) => writeFileSync(segment(n), content));
    for (const gone of [0, 1]) {
      rmSync(segment(gone));
      expect(reopened(null)).toMatchObject({ ok: false, file: segment(gone), reason: 'the segment is missing' });
      restore();
      truncateSync(segment(gone), good[gone]!.length - 1);
      expect(reopened(null)).toMatchObject({ ok: false, file: segment(gone) });
      appendFileSync(segment(gone), '\nmore');
      expect(reopened(null)).toMatchObject({ ok: false, file: segment(gone) });
      restore();
    }
    // The other segments do not show that the newest one is missing; the recorded end does.
    rmSync(segment(2));
    expect(reopened(head)).toMatchObject({ ok: false, reason: expect.stringContaining('ends here') });
    expect(check(head)).toMatchObject({ ok: false });
    restore();
    writeFileSync(segment(2), good[1]!);
    expect(reopened(null)).toMatchObject({ ok: false });
    restore();
    for (let n = 0; n < 3; n++) {
      for (let at = 0; at < good[n]!.length; at += 37) {
        const bad = Buffer.from(good[n]!);
        bad[at] = bad[at]! ^ 1;
        writeFileSync(segment(n), bad);
        expect(check(head).ok, `byte ${at} of segment ${n}`).toBe(false);
      }
      restore();
    }
    expect(check(head)).toMatchObject({ ok: true, head });
  });

  it('continues in the previous segment if its process ended while it started another', () => {
    threeSegments();
    const whole = readFileSync(segment(2));
    const [begun = 0] = [...whole.toString().matchAll(/\n/g)].slice(3, 4).map(({ index }) => index);
    for (const bytes of [0, 10, begun - 1]) {
      writeFileSync(segment(2), whole.subarray(0, bytes));
      const log = opened();
      expect(existsSync(segment(2))).toBe(false);
      log.beginSegment({ sums: sumsOf(40), policyVersion: 2 });
      log.close();
      expect(check(log.head)).toMatchObject({ ok: true, head: log.head });
    }
  });

  it('can be followed by another process, line by line and segment by segment, also after a line that was cut off', () => {
    const mine = (at: number): void => writeFileSync(join(folder, `cluster-${at}.lock`), '');
    [0, 1].forEach(mine);
    const seen: AuditEntry[] = [];
    const siblings = new Siblings({
      folder,
      keystore: 'cluster',
      ownSlot: 1,
      key,
      recordedEnd: () => null,
      times: () => new LineTimes({ nowMs: () => 1, isNew: false, take: (entry) => seen.push(entry) }),
    });
    expect(siblings.read()).toBe(false);
    const log = opened();
    const newLines = (): number => {
      seen.length = 0;
      siblings.read();
      return seen.filter(({ event }) => event === 'decision').length;
    };
    addDecisions(log, 3);
    expect([newLines(), newLines()]).toEqual([3, 0]);
    addDecisions(log, 1);
    log.beginSegment({ sums: sumsOf(20), policyVersion: 0 });
    addDecisions(log, 2);
    log.beginSegment({ sums: [], policyVersion: 0 });
    addDecisions(log, 1);
    expect([newLines(), newLines()]).toEqual([4, 0]);
    log.close();
    appendFileSync(segment(2), readFileSync(segment(2)).subarray(0, 90));
    expect(newLines()).toBe(0);
    const again = opened();
    addDecisions(again, 1);
    again.close();
    expect(newLines()).toBe(1);
    appendFileSync(segment(2), 'f'.repeat(70).concat('\n'));
    expect(() => siblings.read()).toThrow(/does not follow/);
    siblings.close();
  });
});

describe('the sums of a wallet in audit logs', () => {
  it('are the same from all lines and from a segment that summarizes them', () => {
    const hour = 3_600_000;
    const now = 1_000 * 24 * hour + 5 * hour;
    const entry = (atMs: number, mint: string, lamports: number): AuditEntry => ({
      n: 1,
      event: 'decision',
      order: 'one',
      wallet,
      mint,
      message: '',
      verdict: 'signed',
      rule: null,
      lamports: String(lamports),
      atMs,
    });
    const entries = [entry(now - 24 * hour, 'a', 1), entry(now - hour, 'a', 2), entry(now, 'b', 4), entry(now + 1, 'a', 8)];
    const [whole, summed] = [new Spend(), new Spend()];
    for (const one of entries) whole.recall(one, one.event === 'sums' ? now : one.atMs);
    summed.recall({ n: 1, event: 'sums', sums: whole.sums() }, now);
    for (const spend of [whole, summed]) {
      expect(spend.of(wallet, 'a', now)).toEqual({ hour: 12n, day: 14n, token: 10n });
      spend.recall({ n: 2, event: 'void', of: 1, wallet, mint: 'a', lamports: '8', rule: 'day_limit', atMs: now + 1 }, now + 1);
      expect(spend.of(wallet, 'a', now)).toEqual({ hour: 4n, day: 6n, token: 2n });
      expect(spend.of(wallet, 'a', now + 24 * hour)).toEqual({ hour: 0n, day: 0n, token: 0n });
      // What was counted in a later period counts as of now, and nothing is forgotten if the clock is set back across midnight.
      spend.add(wallet, 'a', 16n, now + 24 * hour);
      expect(spend.of(wallet, 'a', now)).toMatchObject({ day: 22n, token: 18n });
      expect(spend.of(wallet, 'a', now + 24 * hour)).toEqual({ hour: 16n, day: 16n, token: 16n });
    }
  });
});

describe('the location of an audit log', () => {
  it('belongs to one process, and is free again after its release', () => {
    const [first, second] = [takeAuditPlace(folder, 'cluster'), takeAuditPlace(folder, 'cluster')];
    expect([first?.slot, second?.slot]).toEqual([0, 1]);
    first?.lock.release();
    expect(takeAuditPlace(folder, 'cluster')?.slot).toBe(0);
  });
});

describe('the signing process and its audit log', () => {
  it('has a line for each decision, refuses to start on a damaged log, and the check reports the place', async () => {
    const place = await newSignerPlace();
    try {
      const own = await place.wallet();
      const signer = place.signer();
      await signer.started;
      const message = buyMessage(own, stranger(50), 1_000n);
      for (const orderId of ['one', 'two']) expect(await signer.sign({ orderId, publicKey: own, message })).toMatchObject({ ok: true });
      const refusedMessage = buyMessage(generateKeypair().publicKey, stranger(50), 1_000n);
      expect(await signer.sign({ orderId: 'three', publicKey: own, message: refusedMessage })).toMatchObject({ ok: false });
      await signer.close();
      const stored = await place.store.wallets.keystore('cluster');
      const keystoreKey = stored === null ? null : await unlockKeystore('cluster', stored, passphrase);
      if (keystoreKey === null) throw new Error('the keystore does not open');
      const reports = () => auditReports(place);
      const log = join(place.dataDir, 'audit', 'cluster-0.log');
      expect(await reports()).toEqual([
        { file: log, logId: expect.any(String), lines: 5, segments: 1, signed: 2, refused: 1, lastAtMs: expect.any(Number), fault: null },
      ]);
      const entries: AuditEntry[] = [];
      checkLog(
        { folder: join(place.dataDir, 'audit'), name: 'cluster-0' },
        auditKey(keystoreKey, 'cluster'),
        () => null,
        (entry) => entries.push(entry),
      );
      expect(entries.slice(2)).toMatchObject([
        { n: 3, order: 'one', wallet: own, verdict: 'signed', rule: null },
        { n: 4, order: 'two', wallet: own, verdict: 'signed', rule: null },
        { n: 5, order: 'three', wallet: own, verdict: 'refused', rule: 'signers', lamports: null },
      ]);
      const good = readFileSync(log, 'utf8');
      const damages: readonly (readonly [string, RegExp])[] = [
        [good.replace('"order":"two"', '"order":"six"'), /^line 4: /],
        [`${good.trimEnd().split('\n').slice(0, -1).join('\n')}\n`, /^line 5: the log ends here, and had 5 lines already/],
      ];
      for (const [content, fault] of damages) {
        writeFileSync(log, content);
        const damaged = place.signer({ clock: fastClock(20) });
        expect(await damaged.started).toMatchObject({ ok: false, reason: 'audit_damaged' });
        expect(await damaged.sign({ orderId: 'four', publicKey: own, message })).toEqual({ ok: false, reason: 'unavailable' });
        await damaged.close();
        expect(await reports()).toMatchObject([{ fault: expect.stringMatching(fault) }]);
      }
    } finally {
      await place.end();
    }
  });
});
