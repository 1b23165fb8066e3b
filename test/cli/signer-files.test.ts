import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newSignerPlace, type SignerPlace } from '../signer/harness.ts';
import { sluice, type CommandResult } from '../support/command-line.ts';

let folder: string;
let place: SignerPlace;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-cli-'));
  place = await newSignerPlace();
});
afterEach(async () => {
  await place.end();
  rmSync(folder, { recursive: true });
});

/** As the operator of the place; nothing listens at the node's address. */
function run(args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<CommandResult> {
  const { dataDir, passphraseFile } = place;
  const env = { PORT: '0', SOLANA_RPC_URL: 'http://127.0.0.1:1', DATA_DIR: dataDir, KEYSTORE_PASSPHRASE_FILE: passphraseFile, ...more };
  return sluice(args, { folder, env });
}

describe('sluice doctor', () => {
  it('names each file of the signing process that others may write to, and how to repair it', async () => {
    await place.wallet();
    const audit = join(place.dataDir, 'audit');
    mkdirSync(audit, { mode: 0o700 });
    const signer = async (more: Readonly<Record<string, string>> = {}): Promise<string> =>
      (await run(['doctor'], { TRADING: 'live', ...more })).stdout.split('\n').find((line) => /^\w+ +signer /.test(line)) ?? '';
    expect(await signer()).toMatch(/^ok .*the keystore unlocks, 1 wallet/);
    for (const path of [place.passphraseFile, join(place.dataDir, 'sluice.db'), audit]) {
      const mode = statSync(path).mode & 0o777;
      chmodSync(path, mode | 0o022);
      const opened = (mode | 0o022).toString(8);
      const fault = `${path} can be written by other users (mode 0${opened}). Run: chmod go-w '${path}'`;
      expect(await signer()).toMatch(/^fail /);
      expect(await signer()).toContain(fault);
      // The logs may be elsewhere, the store is not.
      if (path !== audit) expect(await signer({ SIGNER_DIR: join(folder, 'signer') })).toContain(fault);
      chmodSync(path, mode);
    }
    expect(await signer()).toMatch(/^ok /);
  });
});

describe('sluice wallets audit --forget', () => {
  interface Report {
    readonly logId: string;
    readonly lines: number;
    readonly fault: string | null;
  }
  const audit = async (...args: readonly string[]): Promise<{ readonly code: number; readonly reports: readonly Report[] }> => {
    const { code, stdout } = await run(['wallets', 'audit', '--json', ...args]);
    return { code, reports: JSON.parse(stdout) as readonly Report[] };
  };
  const start = async (): Promise<unknown> => {
    const signer = place.signer();
    const started = await signer.started;
    await signer.close();
    return started;
  };

  it('writes off a log that is lost, and no other; then a signing process starts again', async () => {
    await place.wallet();
    expect(await start()).toEqual({ ok: true });
    const { code, reports } = await audit();
    expect([code, reports.map(({ fault }) => fault)]).toEqual([0, [null]]);
    const { logId } = reports[0]!;
    const refused = { code: 1, stdout: '', stderr: expect.stringContaining('There is no lost log') };
    expect(await run(['wallets', 'audit', '--forget', logId])).toEqual(refused);
    expect((await audit()).reports).toEqual(reports);

    const logs = join(place.dataDir, 'audit');
    for (const name of readdirSync(logs)) if (name.endsWith('.log')) rmSync(join(logs, name));
    expect(await audit()).toMatchObject({ code: 1, reports: [{ logId, fault: expect.stringContaining(`there is no log ${logId}`) }] });
    expect(await start()).toMatchObject({ ok: false, reason: 'audit_missing' });
    expect(await run(['wallets', 'audit', '--forget', 'another'])).toEqual(refused);
    expect(await start()).toMatchObject({ reason: 'audit_missing' });

    expect(await audit('--forget', logId)).toEqual({ code: 0, reports: [] });
    expect(await run(['wallets', 'audit', '--forget', logId])).toEqual(refused);
    expect(await start()).toEqual({ ok: true });
    const { stdout } = await run(['wallets', 'reads', '--json']);
    expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ command: 'wallets audit', subject: `forgets log ${logId}` }));
  });
});
