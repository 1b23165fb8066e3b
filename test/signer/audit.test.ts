import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync, appendFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unlockKeystore } from '@sluice/gateway/custody/keystore.ts';
import { auditKey, auditLine, checkChain, macOf, type AuditEntry } from '@sluice/gateway/signer/audit-chain.ts';
import { AuditError, auditLogId, openAuditLog, type AuditLog } from '@sluice/gateway/signer/audit-log.ts';
import { takeAuditPlace } from '@sluice/gateway/signer/audit-place.ts';
import { checkAuditLogs } from '@sluice/gateway/signer/audit-report.ts';
import type { LogHead } from '@sluice/gateway/signer/protocol.ts';
import { generateKeypair } from '@sluice/shared/solana/keypair.ts';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newSignerPlace, passphrase } from './harness.ts';
import { buyMessage, stranger } from './messages.ts';

const key = new Uint8Array(32).fill(7);
const wallet = stranger();
let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-audit-'));
  file = join(folder, 'cluster-0.log');
});
afterEach(() => rmSync(folder, { recursive: true }));

function opened(head: LogHead | null = null, seen: (entry: AuditEntry) => void = () => undefined): AuditLog {
  auditLogId(file, key, 'cluster', 1);
  const outcome = openAuditLog(file, key, head, seen);
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

function isWhole(head: LogHead | null = null): boolean {
  return checkChain(file, key, head, () => undefined).ok;
}

const linesOf = (): string[] => readFileSync(file, 'utf8').trimEnd().split('\n');
const put = (lines: readonly string[]): void => writeFileSync(file, `${lines.join('\n')}\n`);

it('stands where it was after a line that could not be written', () => {
  const log = opened();
  addDecisions(log, 1);
  const { head } = log;
  log.close();
  expect(() => addDecisions(log, 1)).toThrow('EBADF');
  expect(log.head).toEqual(head);
  expect(isWhole(log.head)).toBe(true);
});

describe('the audit log', () => {
  it('goes on where it was left, and tells what stands in it', () => {
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
      // The last newline alone: then the last line looks like one that was being written, and the note of the head tells.
      const outcome = checkChain(file, key, at === good.length - 1 ? log.head : null, () => undefined);
      expect(outcome.ok, `byte ${at}`).toBe(false);
    }
  });

  it('is damaged by lines left out, moved, repeated or added, and by a whole log under another key', () => {
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

  it('is seen to be cut where it is shorter than what was noted, or other than it', () => {
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

  it('is added to by one process alone', () => {
    const log = opened();
    appendFileSync(file, 'x');
    expect(() => addDecisions(log, 1)).toThrow(AuditError);
    log.close();
  });
});

describe('the place of an audit log', () => {
  it('is that of one process, and free again when it is let go', () => {
    const [first, second] = [takeAuditPlace(folder, 'cluster'), takeAuditPlace(folder, 'cluster')];
    expect([first?.file, second?.file]).toEqual([0, 1].map((slot) => join(folder, 'audit', `cluster-${slot}.log`)));
    first?.lock.release();
    expect(takeAuditPlace(folder, 'cluster')?.file).toBe(first?.file);
  });
});

describe('the signing process and its audit log', { timeout: 120_000 }, () => {
  it('has a line for each decision, refuses to start on a damaged log, and the check tells where', async () => {
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
      const check = () => checkAuditLogs(place.store, 'cluster', keystoreKey);
      const log = join(place.dataDir, 'audit', 'cluster-0.log');
      expect(await check()).toEqual([
        { file: log, logId: expect.any(String), lines: 5, signed: 2, refused: 1, lastAtMs: expect.any(Number), fault: null },
      ]);
      const entries: AuditEntry[] = [];
      checkChain(log, auditKey(keystoreKey, 'cluster'), null, (entry) => entries.push(entry));
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
        const damaged = place.signer();
        expect(await damaged.started).toMatchObject({ ok: false, reason: 'audit_damaged' });
        expect(await damaged.sign({ orderId: 'four', publicKey: own, message })).toEqual({ ok: false, reason: 'unavailable' });
        await damaged.close();
        expect(await check()).toMatchObject([{ fault: expect.stringMatching(fault) }]);
      }
    } finally {
      await place.end();
    }
  });
});
