import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { openKeystore } from '@sluice/trading/signer/custody/keystore.ts';
import { randomPassphraseCost } from '@sluice/trading/signer/custody/seal.ts';
import { makeHaltMarks } from '@sluice/gateway/store/halt/halt-mark.ts';
import { openStore } from '@sluice/gateway/store/store.ts';
import { afterEach, expect, it } from 'vitest';
import { currentBuild } from '../../compile/build-folder.mjs';
import { until } from '../support/gateway.ts';
import { passphrase } from './harness.ts';

/** User numbers that do not exist. */
const signerUid = 64_201;
const gatewayUid = 64_202;
const strangerUid = 64_203;
/** The group of the signing process and of gateways. */
const group = 64_210;
const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
const child = fileURLToPath(new URL('gateway-user-child.ts', import.meta.url));

const closers: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

function started(folder: string, args: readonly string[], user: { readonly uid: number; readonly gid: number }, env: object): ChildProcess {
  const made = spawn(process.execPath, [...args], {
    ...user,
    cwd: folder,
    env: { PATH: process.env['PATH'], TMPDIR: folder, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  closers.push(async () => {
    if (made.exitCode !== null || made.signalCode !== null) return;
    made.kill('SIGKILL');
    await once(made, 'close');
  });
  return made;
}

/** A folder that only this user may enter. */
function ownFolder(path: string, uid: number, gid = uid, mode = 0o700): string {
  mkdirSync(path);
  chownSync(path, uid, gid);
  chmodSync(path, mode);
  return path;
}

/** The compiled product, readable by all users, as after an installation by root. */
function installation(folder: string): string {
  const build = currentBuild();
  if (build === null) throw new Error('nothing was compiled');
  // Two folders deep, as in a project: a build finds its packages by its own location.
  const builds = join(folder, '.build');
  const copy = join(builds, 'product');
  cpSync(build, copy, { recursive: true });
  for (const made of [builds, copy]) chmodSync(made, 0o755);
  for (const name of readdirSync(copy)) chmodSync(join(copy, name), 0o644);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return join(copy, 'sluice.js');
}

async function nextLine(lines: AsyncIterator<string>): Promise<unknown> {
  const { value, done } = await lines.next();
  if (done === true) throw new Error('the process ended before it reported everything');
  return JSON.parse(value);
}

it.skipIf(process.getuid?.() !== 0)(
  'a signing process of another user signs for the gateway’s user within limits that this user can neither read nor change (needs root)',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-users-'));
    chmodSync(folder, 0o755);
    closers.push(() => rmSync(folder, { recursive: true }));
    const signerDir = ownFolder(join(folder, 'signer'), signerUid);
    const run = ownFolder(join(folder, 'run'), signerUid, group, 0o750);
    const dataDir = ownFolder(join(folder, 'data'), gatewayUid);
    const temporary = ownFolder(join(folder, 'tmp'), gatewayUid, group, 0o777);
    const passphraseFile = join(signerDir, 'passphrase');
    writeFileSync(passphraseFile, `${passphrase}\n`, { mode: 0o600 });
    chownSync(passphraseFile, signerUid, signerUid);
    // As the operator: `sluice wallets create` by root.
    const store = await openStore({ dataDir, databaseUrl: null, signerDir });
    closers.push(() => store.close());
    for (const name of readdirSync(dataDir)) chownSync(join(dataDir, name), gatewayUid, gatewayUid);
    const opened = await openKeystore(store, 'cluster', passphrase, randomPassphraseCost);
    if (!opened.ok) throw new Error(opened.reason);
    const wallet = (await opened.keystore.create(null))!.publicKey;
    const socket = join(run, 'signer.sock');
    const service = started(
      signerDir,
      [installation(folder), 'signer'],
      { uid: signerUid, gid: group },
      {
        SIGNER_SOCKET: socket,
        SIGNER_DIR: signerDir,
        KEYSTORE_PASSPHRASE_FILE: passphraseFile,
        SIGNER_MAX_ORDER_SOL: '2',
        SIGNER_MAX_DAY_SOL: '3.1',
        DATA_DIR: signerDir,
      },
    );
    service.stdout?.resume();
    await until('the service to listen', () => statSync(socket, { throwIfNoEntry: false })?.mode === 0o140_660, 30_000);
    const asUser = (uid: number, gid: number, mode: string): readonly [ChildProcess, AsyncIterator<string>] => {
      const args = ['--import', tsx, child, dataDir, socket, signerDir, passphraseFile, wallet, '1000000000', mode];
      const made = started(temporary, args, { uid, gid }, {});
      return [made, createInterface(made.stdout!)[Symbol.asyncIterator]()];
    };
    const denied = Array.from({ length: 5 }, () => 'EACCES');
    const [, strangerSays] = asUser(strangerUid, strangerUid, 'stranger');
    expect(await nextLine(strangerSays)).toEqual(denied);
    expect(await nextLine(strangerSays)).toBe('EACCES');
    const [gateway, says] = asUser(gatewayUid, group, 'gateway');
    expect(await nextLine(says)).toEqual(denied);
    expect(await nextLine(says)).toEqual([{ ok: true }, { ok: true }]);
    // Two connections, one sum, and the limits of the service.
    expect(await nextLine(says)).toEqual(['signed', 'signed', 'signed', 'day_limit', 'day_limit', 'day_limit']);
    // As the operator: `sluice trading halt` by root.
    expect(makeHaltMarks({ dataDir, signerDir }, 'a drill', 5)).toEqual([]);
    gateway.stdin?.write('halted\n');
    expect(await nextLine(says)).toBe('halted');
    expect(await nextLine(says)).toEqual({ halted: true, reason: 'a drill', changedAtMs: 5 });
    await once(gateway, 'exit');
    for (const log of ['cluster-0.log', 'cluster-1.log']) {
      expect(statSync(join(signerDir, log))).toMatchObject({ uid: signerUid, mode: 0o100_600 });
      expect(readFileSync(join(signerDir, log), 'utf8')).not.toContain(passphrase);
    }
    service.kill('SIGTERM');
    const [code] = (await once(service, 'exit')) as [number | null];
    expect(code).toBe(0);
  },
  120_000,
);
