import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jitoTipAccounts } from '@sluice/shared/solana/addresses/tip-accounts.ts';
import { openSqlite } from '@sluice/gateway/store/sql/sqlite/sqlite.ts';
import type { Signature, SignOutcome } from '../../trading/src/signer/client/client.ts';
import { verifySignature } from '@sluice/shared/solana/addresses/keypair.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fastClock } from '../support/clocks.ts';
import { until } from '../support/gateway.ts';
import { newSignerPlace, type SignerPlace } from './harness.ts';
import { buyMessage, messageOf, pumpTrade, stranger, transfer } from './messages.ts';

let place: SignerPlace;
beforeEach(async () => {
  place = await newSignerPlace();
});
afterEach(() => place.end());

const mint = stranger(50);
const sol = 1_000_000_000n;

function goodSignature(wallet: string, message: Uint8Array, outcome: SignOutcome): boolean {
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
  return verifySignature(wallet, message, outcome.signature);
}

function decisionsIn({ dataDir }: SignerPlace): number {
  return readFileSync(join(dataDir, 'audit', 'cluster-0.log'), 'utf8').split('"event":"decision"').length - 1;
}

/** Whether a process runs, and is not a zombie. */
function runs(pid: number): boolean {
  return existsSync(`/proc/${pid}/stat`) && !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
}

describe('the signing process', () => {
  it('signs trades of its wallets, and nothing else', async () => {
    const [wallet, other] = [await place.wallet(), await place.wallet()];
    const signer = place.signer();
    expect(await signer.started).toEqual({ ok: true });
    const message = buyMessage(wallet, mint, sol);
    expect(goodSignature(wallet, message, await signer.sign({ orderId: 'one', publicKey: wallet, message }))).toBe(true);
    const theft = messageOf(wallet, [pumpTrade('sellV2', { wallet, mint }), transfer(wallet, stranger(), 1n)]);
    expect(await signer.sign({ orderId: 'two', publicKey: wallet, message: theft })).toMatchObject({ ok: false, rule: 'transfer' });
    expect(await signer.sign({ orderId: 'three', publicKey: other, message })).toMatchObject({ ok: false, rule: 'signers' });
    expect(await signer.sign({ orderId: 'four', publicKey: stranger(), message })).toEqual({ ok: false, reason: 'unknown_wallet' });
    for (const request of [
      { orderId: 'no order id', publicKey: wallet, message },
      { orderId: 'five', publicKey: wallet, message: new Uint8Array(10_000) },
    ])
      expect(await signer.sign(request)).toMatchObject({ ok: false, rule: 'malformed' });
    expect(goodSignature(wallet, message, await signer.sign({ orderId: 'one', publicKey: wallet, message }))).toBe(true);
  });

  it('reports when the line of a signature is on the disk, also if the process dies or is suspended directly after it', async () => {
    const wallet = await place.wallet();
    const signer = place.signer({ clock: fastClock(4) });
    await signer.started;
    const message = buyMessage(wallet, mint, sol);
    const signed = async (): Promise<Signature> => {
      const outcome = await signer.sign({ orderId: 'one', publicKey: wallet, message });
      if (!outcome.ok) throw new Error(outcome.reason);
      return outcome;
    };
    const first = await signed();
    await first.audited();
    await first.audited();
    for (const signal of ['SIGSTOP', 'SIGKILL'] as const) {
      const next = await signed();
      const pid = signer.pid!;
      process.kill(pid, signal);
      await next.audited();
      // If its line was faster than the signal, it is still suspended.
      if (signal === 'SIGSTOP' && signer.pid === pid) process.kill(pid, 'SIGKILL');
      await until('another process', () => signer.pid !== null && signer.pid !== pid, 30_000);
    }
    expect(decisionsIn(place)).toBe(3);
  });

  it('reports what it would refuse, and neither signs, counts nor records it', async () => {
    const [wallet, other] = [await place.wallet(), await place.wallet()];
    const limits = { maxOrderLamports: 2n * sol, maxDayLamports: 2n * sol + 50_000_000n };
    const signer = place.signer({ limits });
    await signer.started;
    const asked = (publicKey: string, message: Uint8Array) => ({ orderId: 'one', publicKey, message });
    const good = asked(wallet, buyMessage(wallet, mint, sol));
    for (let i = 0; i < 20; i++) expect(await signer.judge(good)).toEqual({ ok: true });
    expect(await signer.judge(asked(wallet, buyMessage(wallet, mint, 3n * sol)))).toMatchObject({ ok: false, rule: 'order_limit' });
    expect(await signer.judge(asked(other, good.message))).toMatchObject({ ok: false, rule: 'signers' });
    expect(await signer.judge(asked(stranger(), good.message))).toEqual({ ok: false, reason: 'unknown_wallet' });
    expect(await signer.judge({ ...good, orderId: 'no order id' })).toMatchObject({ ok: false, rule: 'malformed' });
    expect(decisionsIn(place)).toBe(0);
    for (let i = 0; i < 2; i++) expect(await signer.sign(good)).toMatchObject({ ok: true });
    expect(await signer.judge(good)).toMatchObject({ ok: false, rule: 'day_limit' });
    expect(await signer.sign(good)).toMatchObject({ ok: false, rule: 'day_limit' });
    expect(decisionsIn(place)).toBe(3);
    expect(signer.counts).toEqual({ signed: 2, refused: 1, unavailable: 0 });
  });

  it('lets no more SOL out of a wallet for one order, and in one day, than allowed, also after a restart', async () => {
    const [wallet, other] = [await place.wallet(), await place.wallet()];
    // Besides 1 SOL each message may use the fee, rent and priority fee: less than 0.007 SOL.
    const limits = { maxOrderLamports: sol + 7_000_000n, maxDayLamports: 3n * sol + 50_000_000n };
    const first = place.signer({ limits });
    await first.started;
    const sign = (signer: typeof first, publicKey: string, lamports: bigint): Promise<SignOutcome> =>
      signer.sign({ orderId: 'one', publicKey, message: buyMessage(publicKey, mint, lamports) });
    expect(await sign(first, wallet, sol + 5_000_000n)).toMatchObject({
      ok: false,
      rule: 'order_limit',
      message: expect.stringMatching(/up to [0-9.]+ SOL\. The limit for one order is 1\./),
    });
    const tip = { to: jitoTipAccounts[1], lamports: 5_000_000n };
    const tipped = { orderId: 'tipped', publicKey: wallet, message: buyMessage(wallet, mint, sol, tip) };
    expect(await first.sign(tipped)).toMatchObject({ ok: false, rule: 'order_limit' });
    const burst = await Promise.all(Array.from({ length: 20 }, () => sign(first, wallet, sol)));
    expect(burst.filter(({ ok }) => ok)).toHaveLength(3);
    for (const outcome of burst) if (!outcome.ok) expect(outcome).toMatchObject({ rule: 'day_limit' });
    expect(await sign(first, other, sol)).toMatchObject({ ok: true });
    await first.close();
    const second = place.signer({ limits });
    await second.started;
    expect(await sign(second, wallet, sol)).toMatchObject({ ok: false, rule: 'day_limit' });
    expect(await sign(second, other, sol)).toMatchObject({ ok: true });
  });

  it('starts again after it was killed, and answers the waiting callers', async () => {
    const wallet = await place.wallet();
    const signer = place.signer();
    await signer.started;
    const message = buyMessage(wallet, mint, 1_000n);
    for (let kills = 0; kills < 3; kills++) {
      await vi.waitFor(async () => expect(await signer.sign({ orderId: 'one', publicKey: wallet, message })).toMatchObject({ ok: true }), {
        timeout: 60_000,
      });
      const { pid } = signer;
      const waiting = Array.from({ length: 40 }, () => signer.sign({ orderId: 'two', publicKey: wallet, message }));
      process.kill(pid ?? 0, 'SIGKILL');
      for (const outcome of await Promise.all(waiting)) {
        if (outcome.ok) expect(goodSignature(wallet, message, outcome)).toBe(true);
        else expect(outcome).toEqual({ ok: false, reason: 'unavailable' });
      }
      await vi.waitFor(() => expect(runs(pid ?? 0)).toBe(false), { timeout: 60_000 });
    }
  });

  it('leaves no caller without an answer: a process that hangs is ended', async () => {
    const wallet = await place.wallet();
    const signer = place.signer({ clock: fastClock(4) });
    await signer.started;
    const pid = signer.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    const message = buyMessage(wallet, mint, 1_000n);
    expect(await signer.sign({ orderId: 'one', publicKey: wallet, message })).toEqual({ ok: false, reason: 'unavailable' });
    await vi.waitFor(() => expect(runs(pid)).toBe(false), { timeout: 60_000 });
    await vi.waitFor(async () => expect(await signer.sign({ orderId: 'one', publicKey: wallet, message })).toMatchObject({ ok: true }), {
      timeout: 60_000,
    });
  });

  it('ignores signals, opens no debugger, and ends when its gateway closes it', async () => {
    const wallet = await place.wallet();
    const signer = place.signer();
    await signer.started;
    const pid = signer.pid ?? 0;
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR1'] as const) process.kill(pid, signal);
    const message = buyMessage(wallet, mint, 1_000n);
    expect(await signer.sign({ orderId: 'one', publicKey: wallet, message })).toMatchObject({ ok: true });
    expect(signer.pid).toBe(pid);
    // All its sockets are pipes to its gateway and to its own loader: none of them is a network socket.
    const inodes = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`))?.[1] ?? []);
    const network = ['tcp', 'tcp6', 'udp', 'udp6'].map((table) => readFileSync(`/proc/${pid}/net/${table}`, 'utf8')).join('\n');
    for (const inode of inodes) expect(network).not.toMatch(new RegExp(`\\s${inode}\\s`));
    await signer.close();
    expect(runs(pid)).toBe(false);
    expect(await signer.sign({ orderId: 'one', publicKey: wallet, message })).toEqual({ ok: false, reason: 'unavailable' });
  });

  it('signs nothing while trading is halted, and continues afterwards', async () => {
    const wallet = await place.wallet();
    const signer = place.signer();
    await signer.started;
    const message = buyMessage(wallet, mint, 1_000n);
    const sign = (): Promise<SignOutcome> => signer.sign({ orderId: 'one', publicKey: wallet, message });
    expect(await sign()).toMatchObject({ ok: true });
    await place.store.halt.set(true, null, Date.now());
    await vi.waitFor(async () => expect(await sign()).toEqual({ ok: false, reason: 'halted' }), { timeout: 60_000, interval: 20 });
    await place.store.halt.set(false, null, Date.now());
    await vi.waitFor(async () => expect(await sign()).toMatchObject({ ok: true }), { timeout: 60_000 });
  });

  it('accepts no old message that trading is allowed, nor one from the future', async () => {
    const wallet = await place.wallet();
    const offsets = [2_000_000_000n, -2_000_000_000n];
    for (const offset of offsets) {
      const halt = { read: () => ({ halted: false, readAtNs: process.hrtime.bigint() - offset }) };
      const signer = place.signer({ halt });
      await signer.started;
      const message = buyMessage(wallet, mint, 1_000n);
      expect(await signer.sign({ orderId: 'one', publicKey: wallet, message })).toEqual({ ok: false, reason: 'unavailable' });
      await signer.close();
    }
    const log = readFileSync(join(place.dataDir, 'audit', 'cluster-0.log'), 'utf8');
    expect(log.match(/"rule":"stale"/g)?.length).toBeGreaterThanOrEqual(2);
    expect(log).not.toContain('"verdict":"signed"');
  });

  it('needs no process before there is a wallet, and starts one as soon as there is', async () => {
    const signer = place.signer();
    expect(await signer.started).toEqual({ ok: true });
    expect(signer.pid).toBeNull();
    expect(await signer.sign({ orderId: 'one', publicKey: stranger(), message: new Uint8Array(3) })).toEqual({
      ok: false,
      reason: 'unknown_wallet',
    });
    const wallet = await place.wallet();
    const message = buyMessage(wallet, mint, 1_000n);
    expect(goodSignature(wallet, message, await signer.sign({ orderId: 'one', publicKey: wallet, message }))).toBe(true);
  });

  it('does not start with a wrong passphrase, without one, or without its file', async () => {
    const wallet = await place.wallet();
    const file = (name: string, content: string): string => {
      writeFileSync(join(place.dataDir, name), content);
      return join(place.dataDir, name);
    };
    for (const [passphraseFile, reason] of [
      [file('wrong', 'another passphrase\n'), 'wrong_passphrase'],
      [file('empty', '\n'), 'passphrase_unreadable'],
      [join(place.dataDir, 'nowhere'), 'passphrase_unreadable'],
      [null, 'no_passphrase'],
    ] as const) {
      const signer = place.signer({ passphraseFile, clock: fastClock(20) });
      expect(await signer.started).toMatchObject({ ok: false, reason });
      const message = buyMessage(wallet, mint, 1_000n);
      expect(await signer.sign({ orderId: 'one', publicKey: wallet, message })).toEqual({ ok: false, reason: 'unavailable' });
      await signer.close();
    }
  });

  it('does not sign with a wallet if a bit of it was changed, and does not unlock a keystore if a bit of it was changed', async () => {
    const wallet = await place.wallet();
    const db = await openSqlite(join(place.dataDir, 'sluice.db'));
    const message = buyMessage(wallet, mint, 1_000n);
    const signer = place.signer();
    await signer.started;
    const sealed = (await place.store.wallets.byPublicKey('cluster', wallet))?.sealedSeed ?? new Uint8Array();
    const flipped = (bytes: Uint8Array, bit: number): Uint8Array =>
      bytes.map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
    for (const bit of [0, 9, 13 * 8, 29 * 8, sealed.length * 8 - 1]) {
      await db.run('UPDATE wallets SET sealed_seed = ?', flipped(sealed, bit));
      expect(await signer.sign({ orderId: 'one', publicKey: wallet, message })).toEqual({ ok: false, reason: 'unknown_wallet' });
    }
    await db.run('UPDATE wallets SET sealed_seed = ?', sealed);
    expect(await signer.sign({ orderId: 'one', publicKey: wallet, message })).toMatchObject({ ok: true });
    await signer.close();
    const { salt, proof } = (await place.store.wallets.keystore('cluster')) ?? { salt: new Uint8Array(), proof: new Uint8Array() };
    for (const [column, bytes] of [
      ['salt', salt],
      ['proof', proof],
    ] as const) {
      await db.run(`UPDATE keystores SET ${column} = ?`, flipped(bytes, 100));
      const damaged = place.signer();
      expect(await damaged.started).toMatchObject({ ok: false, reason: 'wrong_passphrase' });
      await damaged.close();
      await db.run(`UPDATE keystores SET ${column} = ?`, bytes);
    }
    await db.close();
  });

  it('writes its own audit log next to that of another gateway on the folder, readable by its owner only', async () => {
    const wallet = await place.wallet();
    const signers = [place.signer(), place.signer()];
    const message = buyMessage(wallet, mint, 1_000n);
    for (const signer of signers) {
      await signer.started;
      expect(await signer.sign({ orderId: 'one', publicKey: wallet, message })).toMatchObject({ ok: true });
    }
    for (const name of ['cluster-0.log', 'cluster-1.log']) {
      const file = join(place.dataDir, 'audit', name);
      expect(readFileSync(file, 'utf8').match(/"verdict":"signed"/g)).toHaveLength(1);
      expect(statSync(file).mode & 0o777).toBe(0o600);
    }
  });
});

function linkOf(path: string): string {
  return execFileSync('readlink', [path], { encoding: 'utf8' }).trim();
}
