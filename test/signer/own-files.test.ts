import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathFault } from '@sluice/trading/signer/files/own-files.ts';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { newSignerPlace, type SignerPlace } from './harness.ts';

const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const isRoot = own.uid === 0;
const stranger = 12_345;

describe('what the signing process runs and reads', () => {
  let place: SignerPlace;
  beforeEach(async () => {
    place = await newSignerPlace();
  });
  afterEach(() => place.end());

  it.each([
    ['the passphrase', ({ passphraseFile }: SignerPlace) => passphraseFile],
    ['the store', ({ dataDir }: SignerPlace) => join(dataDir, 'sluice.db')],
    ['the data folder', ({ dataDir }: SignerPlace) => dataDir],
    ['the folder of the audit logs', ({ dataDir }: SignerPlace) => join(dataDir, 'audit')],
  ])('is not %s if others may write to it; the refusal contains the command to repair that', async (_, pathIn) => {
    await place.wallet();
    mkdirSync(join(place.dataDir, 'audit'), { mode: 0o700 });
    const path = pathIn(place);
    chmodSync(path, 0o722);
    const start = await place.signer().started;
    expect(start).toEqual({
      ok: false,
      reason: 'unsafe_files',
      what: `${path} can be written by other users (mode 0722). Run: chmod go-w '${path}'`,
    });
    chmodSync(path, 0o700);
    expect(await place.signer().started).toEqual({ ok: true });
  });

  it('is not the store, which others may write to, if the audit logs are elsewhere', async () => {
    await place.wallet();
    const elsewhere = mkdtempSync(join(tmpdir(), 'sluice-elsewhere-'));
    onTestFinished(() => rmSync(elsewhere, { recursive: true }));
    const signerDir = join(elsewhere, 'signer');
    // Not relevant, because the store is in the data folder.
    writeFileSync(join(elsewhere, 'sluice.db'), '');
    chmodSync(join(elsewhere, 'sluice.db'), 0o666);
    for (const path of [join(place.dataDir, 'sluice.db'), place.dataDir]) {
      chmodSync(path, 0o722);
      const start = await place.signer({ signerDir }).started;
      expect(start).toMatchObject({ reason: 'unsafe_files', what: expect.stringContaining(`${path} can be written`) });
      chmodSync(path, 0o700);
    }
    expect(await place.signer({ signerDir }).started).toEqual({ ok: true });
  });

  it.skipIf(!isRoot)('is not an audit log of another user', async () => {
    await place.wallet();
    const first = place.signer();
    expect(await first.started).toEqual({ ok: true });
    await first.close();
    const file = join(place.dataDir, 'audit', 'cluster-0.log');
    chownSync(file, stranger, stranger);
    expect(await place.signer().started).toMatchObject({ reason: 'unsafe_files', what: expect.stringMatching(`chown 0 '${file}'$`) });
  });
});

describe('a path', () => {
  let folder: string;
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-path-')));
    mkdirSync(join(folder, 'inner'), { mode: 0o700 });
    writeFileSync(join(folder, 'inner/file'), '', { mode: 0o600 });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const fault = (): string | null => pathFault(join(folder, 'link/file'), own);

  it('is safe below folders that others cannot change, also through links, and if it does not exist', () => {
    symlinkSync('inner', join(folder, 'link'));
    expect(fault()).toBeNull();
    expect(pathFault(join(folder, 'inner/none/none'), own)).toBeNull();
  });

  it('is unsafe below a folder that others can write, unless its sticky bit protects it', () => {
    symlinkSync(join(folder, 'inner'), join(folder, 'link'));
    chmodSync(join(folder, 'inner'), 0o777);
    expect(fault()).toBe(`${folder}/inner can be written by other users (mode 0777). Run: chmod go-w '${folder}/inner'`);
    chmodSync(join(folder, 'inner'), 0o1777);
    expect(fault()).toBeNull();
    chmodSync(join(folder, 'inner/file'), 0o620);
    expect(fault()).toContain("chmod go-w '");
  });

  it.skipIf(!isRoot)("is unsafe through another user's folder or link", () => {
    symlinkSync('inner', join(folder, 'link'));
    chownSync(join(folder, 'inner'), stranger, stranger);
    expect(fault()).toContain(`${folder}/inner belongs to the user ${stranger}`);
    chownSync(join(folder, 'inner'), 0, 0);
    rmSync(join(folder, 'link'));
    mkdirSync(join(folder, 'theirs'), { mode: 0o777 });
    symlinkSync(join(folder, 'theirs'), join(folder, 'link'));
    chownSync(join(folder, 'theirs'), stranger, stranger);
    expect(fault()).toContain(`${folder}/theirs belongs to the user ${stranger}`);
  });

  it('ends if links form a circle', () => {
    symlinkSync('link', join(folder, 'link'));
    expect(fault()).toMatch(/more than 40 links/);
  });
});
