import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readHaltMarks } from '@sluice/gateway/store/halt/halt-mark.ts';
import { maxHaltAgeMs } from '@sluice/gateway/store/halt/halt.ts';
import { openSqlite } from '@sluice/gateway/store/sql/sqlite/sqlite.ts';
import { tokenHash } from '@sluice/gateway/accounts/sessions/sessions.ts';
import { generateKeypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { atUsualPort, simnetPort } from '../../cli/start/local-node.ts';
import { checkFoldersAbove } from '../../cli/commands/doctor/folders-above.ts';
import { sluiceHere } from '../support/command-here.ts';
import { sluice, type CommandResult } from '../support/command-line.ts';
import { authenticatorOf, openEmbeddedStore } from '../support/keys.ts';
import { startTestGateway } from '../support/gateway.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-cli-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function run(args: readonly string[], env: Readonly<Record<string, string>> = {}, input = ''): Promise<CommandResult> {
  return input === '' ? sluiceHere(args, { folder, env }) : sluice(args, { folder, env, input });
}

async function json(args: readonly string[], env: Readonly<Record<string, string>> = {}, input = ''): Promise<unknown> {
  const { code, stdout, stderr } = await run([...args, '--json'], env, input);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.trim().split('\n')).toHaveLength(1);
  return JSON.parse(stdout);
}

describe('a simulated chain', () => {
  it('listens at a free port if another chain, such as that of start, has the usual one', async () => {
    const fault = (code: string) => Object.assign(new Error(code), { code });
    const startAt = (code: string) => async (port: number) => (port === 0 ? 'free' : Promise.reject(fault(code)));
    expect(await atUsualPort(async (port) => port)).toBe(simnetPort);
    expect(await atUsualPort(startAt('EADDRINUSE'))).toBe('free');
    await expect(atUsualPort(startAt('EACCES'))).rejects.toThrow('EACCES');
  });
});

describe('the command line', () => {
  it('lists its commands, and shows help for each', async () => {
    const overview = await run(['--help']);
    expect(overview).toMatchObject({ code: 0, stderr: '' });
    for (const name of ['keys', 'accounts', 'wallets', 'trading', 'watch', 'simnet', 'replay', 'doctor']) {
      expect(overview.stdout).toContain(`\n  ${name} `);
    }
    const help = await run(['keys', '--help']);
    expect(help.code).toBe(0);
    expect(help.stdout).toContain('keys create --plan standard|premium|enterprise');
  });

  it.each([
    [[]],
    [['nothing']],
    [['constructor']],
    [['keys']],
    [['keys', 'toString']],
    [['keys', '--json']],
    [['wallets', '--json']],
    [['keys', 'create']],
    [['keys', 'create', '--plan', 'gold']],
    [['keys', 'create', '--plan', 'standard', '--expires', '0s']],
    [['keys', 'reset']],
    [['keys', 'create', '--plan', 'standard', '--scopes', 'stream,everything']],
    [['keys', 'create', '--plan', 'standard', '--colour', 'red']],
    [['keys', 'create', '--plan', 'standard', '--expires', 'soon']],
    [['keys', 'create', '--plan', 'standard', '--label', 'x'.repeat(65)]],
    [['keys', 'create', '--plan', 'standard', '--ip', '10.0.0.0/33']],
    [['keys', 'create', '--plan', 'standard', '--requests-per-minute', '0']],
    [['keys', 'list', 'all']],
    [['accounts']],
    [['accounts', 'create']],
    [['accounts', 'create', '--plan', 'standard', '--wallet', 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5D']],
    [['accounts', 'set-plan', 'one']],
    [['accounts', 'set-plan', 'one', 'gold']],
    [['accounts', 'disable']],
    [['accounts', 'link', 'one', 'two']],
    [['keys', 'rotate']],
    [['wallets', 'give']],
    [['wallets', 'export']],
    [['wallets', 'export', 'one', 'two']],
    [['wallets', 'create', 'one']],
    [['wallets', 'paper']],
    [['wallets', 'paper', 'So11111111111111111111111111111111111111112', 'ten']],
    [['wallets', 'audit', 'one']],
    [['trading']],
    [['trading', 'stop']],
    [['trading', 'halt', 'now']],
    [['trading', 'halt', '--reason', 'x'.repeat(201)]],
    [['triggers']],
    [['triggers', 'list']],
    [['triggers', 'list', '--key', 'one', '--status', 'ready']],
    [['triggers', 'list', '--key', 'one', '--mint', 'PEPE']],
    [['triggers', 'cancel', '--key', 'one']],
    [['triggers', 'cancel', 'trg_1', '--all', '--key', 'one']],
    [['triggers', 'cancel', '--all', '--wallet', 'So11111111111111111111111111111111111111112', '--key', 'one']],
    [['watch']],
    [['watch', 'weather']],
    [['watch', 'prices']],
    [['watch', 'newTokens', 'a mint']],
    [['watch', 'prices', '@wallet']],
    [['watch', 'prices', 'PEPE']],
    [['watch', 'trades', '@So11111111111111111111111111111111111111112', '@me']],
    [['watch', 'trades', '--url', 'ftp://x']],
    [['simnet', '--port', '70000']],
    [['simnet', '--seed', '-1']],
    [['simnet', 'airdrop']],
    [['simnet', 'airdrop', 'a wallet']],
    [['simnet', 'airdrop', 'So11111111111111111111111111111111111111112', '0.5']],
    [['simnet', 'airdrop', 'So11111111111111111111111111111111111111112', '1', '--rpc', 'ws://x']],
    [['replay', 'file', '--speed', 'fast']],
    [['doctor', '--everything']],
  ])('ends with 2 and prints the usage for: %j', async (args) => {
    const { code, stdout, stderr } = await run(args);
    expect(code).toBe(2);
    expect(`${stdout}${stderr}`).toMatch(/Usage:/);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('reports what is missing, and accepts --json before the command', async () => {
    expect((await run(['keys', '--json'])).stderr).toMatch(/^missing action: create, list, rotate, revoke, reset\n/);
    expect(await run(['keys', '--json', 'list'])).toEqual({ code: 0, stdout: '[]\n', stderr: '' });
  });

  it('repeats no key that was passed in the wrong place', async () => {
    const key = 'sluice_0123456789_abcdefghijklmnopqrstuvwxyz0123456789ABCD';
    for (const args of [[key], ['keys', key], ['keys', 'revoke', key], ['keys', 'list', key], ['watch', key]]) {
      const { code, stdout, stderr } = await run(args);
      expect(code).toBeGreaterThan(0);
      expect(`${stdout}${stderr}`).not.toContain(key.slice(0, 24));
    }
  });

  it('names every wrong setting at once', async () => {
    const { code, stderr } = await run(['keys', 'list'], { PORT: 'x', TRADING: 'y', SLUICE_COLOUR: 'z' });
    expect(code).toBe(1);
    for (const name of ['PORT', 'TRADING', 'SLUICE_COLOUR']) expect(stderr).toContain(`  ${name}: `);
  });

  it('reads settings from .env, after the environment', async () => {
    writeFileSync(join(folder, '.env'), 'DATA_DIR=from-file\nPORT=1\n');
    await json(['keys', 'list']);
    expect(readdirSync(folder)).toContain('from-file');
    await json(['keys', 'list'], { DATA_DIR: 'from-environment' });
    expect(readdirSync(folder)).toContain('from-environment');
  });
});

describe('sluice keys', () => {
  it('creates keys that a running gateway accepts, and rotates and revokes them', async () => {
    const created = (await json(['keys', 'create', '--plan', 'standard', '--scopes', 'read,stream', '--label', 'a label'])) as {
      readonly id: string;
      readonly key: string;
    };
    expect(created).toEqual({ id: created.id, key: created.key, plan: 'standard', scopes: ['stream', 'read'] });
    expect(created.key).toMatch(/^sluice_[A-Za-z0-9]+_[A-Za-z0-9]{40}$/);

    const store = await openEmbeddedStore(join(folder, '.data'));
    const authenticator = await authenticatorOf(store);
    expect(authenticator.authenticate(created.key)?.keyId).toBe(created.id);

    const rotated = (await json(['keys', 'rotate', created.id])) as { readonly key: string };
    await vi.waitFor(() => expect(authenticator.authenticate(created.key)).toBeNull(), { timeout: 60_000, interval: 20 });
    expect(authenticator.authenticate(rotated.key)?.keyId).toBe(created.id);

    expect(await json(['keys', 'revoke', created.id])).toEqual({ id: created.id, revoked: true });
    await vi.waitFor(() => expect(authenticator.authenticate(rotated.key)).toBeNull(), { timeout: 60_000, interval: 20 });
    await authenticator.close();
    await store.close();

    expect(await json(['keys', 'list'])).toMatchObject([{ id: created.id, plan: 'standard', label: 'a label', active: false }]);
    const again = await run(['keys', 'revoke', created.id]);
    expect(again.code).toBe(1);
    expect((await run(['keys', 'rotate', created.id])).code).toBe(1);
  });

  it('starts with new keys if the pepper is lost, and only then', async () => {
    const dataDir = join(folder, '.data');
    const wantsNothing = await run(['keys', 'reset', '--yes']);
    expect(wantsNothing).toMatchObject({ code: 1, stdout: '' });
    const lost = (await json(['keys', 'create', '--plan', 'standard'])) as { readonly id: string; readonly key: string };
    expect(await run(['keys', 'reset', '--yes'])).toMatchObject({ code: 1, stdout: '' });
    const store = await openEmbeddedStore(dataDir);
    onTestFinished(() => store.close());
    expect(await store.keys.byId(lost.id)).toMatchObject({ revokedAtMs: null });

    rmSync(join(dataDir, 'pepper'));
    expect(await run(['keys', 'create', '--plan', 'standard'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('keys reset'),
    });
    expect((await run(['doctor'])).stdout).toMatch(/^FAIL .*pepper/im);
    expect(await json(['keys', 'reset', '--yes'])).toEqual({ revoked: 1 });
    const made = (await json(['keys', 'create', '--plan', 'standard'])) as { readonly id: string; readonly key: string };
    const authenticator = await authenticatorOf(store);
    onTestFinished(() => authenticator.close());
    expect(authenticator.authenticate(lost.key)).toBeNull();
    expect(authenticator.authenticate(made.key)?.keyId).toBe(made.id);
    expect(await json(['keys', 'list'])).toMatchObject([{ active: false }, { active: true }]);
  });

  it('grants all scopes if none are named, and sets an end if one is requested', async () => {
    expect(await json(['keys', 'create', '--plan', 'enterprise', '--expires', '1h'])).toMatchObject({
      scopes: ['stream', 'read', 'trade'],
    });
    const [key] = (await json(['keys', 'list'])) as readonly { readonly expiresAtMs: number }[];
    const leftMs = (key?.expiresAtMs ?? 0) - Date.now();
    expect(leftMs).toBeGreaterThan(3_500_000);
    expect(leftMs).toBeLessThanOrEqual(3_600_000);
  });

  it('works from several processes at once', async () => {
    const create = (): Promise<CommandResult> => sluice(['keys', 'create', '--plan', 'premium', '--json'], { folder });
    const made = await Promise.all(Array.from({ length: 6 }, create));
    const ids = made.map(({ stdout }) => (JSON.parse(stdout) as { readonly id: string }).id);
    const listed = ((await json(['keys', 'list'])) as readonly { readonly id: string }[]).map(({ id }) => id);
    expect(listed.toSorted((a, b) => a.localeCompare(b))).toEqual(ids.toSorted((a, b) => a.localeCompare(b)));
  });
});

describe('sluice accounts', () => {
  const { publicKey: wallet } = generateKeypair();
  const shared = { PUBLIC_URL: 'https://sluice.example' };

  it('creates a holder, gives it keys and a plan, and ends it with its keys', async () => {
    const account = (await json(['accounts', 'create', '--plan', 'standard', '--wallet', wallet])) as { readonly id: string };
    expect(account).toEqual({ id: account.id, kind: 'holder', wallet, plan: 'standard' });
    const keyArguments = ['--plan', 'standard', '--account', account.id, '--ip', '10.0.0.0/8, ::1', '--requests-per-minute', '250'];
    const key = (await json(['keys', 'create', ...keyArguments])) as { readonly id: string; readonly key: string };
    expect(Object.keys(key)).toEqual(['id', 'key', 'plan', 'scopes']);
    expect(await json(['accounts', 'set-plan', account.id, 'premium'])).toEqual({ id: account.id, plan: 'premium' });
    expect(await json(['keys', 'list'])).toMatchObject([
      {
        id: key.id,
        prefix: `sluice_${key.id}`,
        plan: 'premium',
        accountId: account.id,
        ipRanges: ['10.0.0.0/8', '::1/128'],
        limits: { requestsPerMinute: 250 },
        lastUsedAtMs: null,
        active: true,
      },
    ]);
    expect(await json(['accounts', 'list'])).toMatchObject([
      { id: 'operator', kind: 'operator', keys: 0 },
      { id: account.id, wallet, plan: 'premium', keys: 1, disabledAtMs: null },
    ]);

    const store = await openEmbeddedStore(join(folder, '.data'));
    const authenticator = await authenticatorOf(store);
    expect(authenticator.authenticate(key.key)?.plan.requestsPerMinute).toBe(250);
    expect(await json(['accounts', 'disable', account.id])).toEqual({ id: account.id, disabled: true });
    await vi.waitFor(() => expect(authenticator.authenticate(key.key)).toBeNull(), { timeout: 60_000, interval: 20 });
    await authenticator.close();
    await store.close();

    expect((await run(['accounts', 'list'])).stdout).toMatch(new RegExp(`^${account.id} .*disabled`, 'm'));
    const refused = await Promise.all([
      run(['accounts', 'create', '--plan', 'premium', '--wallet', wallet]),
      run(['accounts', 'disable', account.id]),
      run(['accounts', 'set-plan', account.id, 'premium']),
      run(['accounts', 'link', account.id], shared),
      run(['keys', 'create', ...keyArguments]),
    ]);
    for (const { code, stdout, stderr } of refused)
      expect({ code, stdout, stderr }).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^(There is no account|An account) .*\n$/),
      });
  });

  it('prints a link that signs in once, and stores no token', async () => {
    const made = (await json(['accounts', 'link'], shared)) as { readonly url: string; readonly expiresAtMs: number };
    expect(made).toEqual({ accountId: 'operator', url: made.url, expiresAtMs: made.expiresAtMs });
    expect(made.expiresAtMs - Date.now()).toBeGreaterThan(9 * 60_000);
    expect(made.expiresAtMs - Date.now()).toBeLessThanOrEqual(10 * 60_000);
    const token = /^https:\/\/sluice\.example\/#sign-in=([0-9a-f]{64})$/.exec(made.url)?.[1] ?? '';
    const store = await openEmbeddedStore(join(folder, '.data'));
    for (const file of readdirSync(join(folder, '.data'))) expect(readFileSync(join(folder, '.data', file)).includes(token)).toBe(false);
    expect(await store.oneTime.take(tokenHash(token), Date.now())).toMatchObject({ accountId: 'operator' });
    expect(await store.oneTime.take(tokenHash(token), Date.now())).toBe('used');
    await store.close();
    expect((await run(['accounts', 'link', 'nobody'], shared)).code).toBe(1);
    expect((await run(['accounts', 'link'], { HOST: '0.0.0.0' })).stderr).toContain('PUBLIC_URL');
  });
});

describe('sluice trading', () => {
  it('halts, reports that, and resumes', async () => {
    expect(await json(['trading', 'status'])).toEqual({ halted: false, reason: null, changedAtMs: 0 });
    const halted = { halted: true, reason: 'a node lies', changedAtMs: expect.any(Number) };
    const { missing, ...printed } = (await json(['trading', 'halt', '--reason', 'a node lies'])) as Record<string, unknown>;
    expect(missing).toEqual([]);
    // Gateways accept what they read before for one second.
    const ageMs = Date.now() - Number(printed['changedAtMs']);
    expect(printed).toEqual(halted);
    expect(ageMs).toBeGreaterThanOrEqual(maxHaltAgeMs);
    expect(await json(['trading', 'halt', '--reason', 'again'])).toEqual({ ...halted, missing: [] });
    const status = await run(['trading', 'status']);
    expect(status).toMatchObject({ code: 1, stdout: expect.stringMatching(/^Trading is halted since .*: a node lies\n$/) });
    expect(await json(['trading', 'resume'])).toEqual({ halted: false, reason: null, changedAtMs: expect.any(Number) });
    expect((await run(['trading', 'status'])).code).toBe(0);
  });

  const damageStore = (): void => {
    rmSync(join(folder, '.data', 'sluice.db-wal'), { force: true });
    writeFileSync(join(folder, '.data', 'sluice.db'), 'no database'.repeat(50));
  };
  const nowhere = 'postgres://nobody:secret@127.0.0.1:1/none';
  /** What makes the store refuse the command, the settings with which it does, and what the command says. */
  const refusals: readonly (readonly [string, () => void, Record<string, string>, RegExp])[] = [
    ['does not answer', () => undefined, { DATABASE_URL: nowhere }, /DATABASE_URL: the store cannot be opened: .*\n.*other machines/],
    ['cannot be read', damageStore, {}, /file is not a database\. .*sluice restore FILE\n/],
    ['has wrong settings', () => undefined, { TRADING: 'maybe' }, /TRADING: "maybe" must be one of/],
    ['does not exist', () => rmSync(join(folder, '.data'), { recursive: true }), {}, /There is no store in .*\.data yet/],
  ];
  it.each(refusals)('halts this machine if the store %s, and says what else to do', async (_name, damage, env, message) => {
    await json(['trading', 'status']);
    damage();
    const halted = await run(['trading', 'halt', '--reason', 'a node lies'], env);
    expect(halted).toMatchObject({ code: 3, stdout: expect.stringMatching(/^Trading is halted on this machine since .*: a node lies\n$/) });
    expect(halted.stderr).toMatch(message);
    expect(halted.stderr).not.toContain('secret');
    expect(readHaltMarks({ dataDir: join(folder, '.data') })).toMatchObject({ halted: true, reason: 'a node lies' });
    const again = await run(['trading', 'halt', '--json'], env);
    expect(again.code).toBe(3);
    expect(JSON.parse(again.stdout)).toMatchObject({ halted: true, reason: 'a node lies', missing: [expect.stringMatching(message)] });
    if (existsSync(join(folder, '.data', 'sluice.db'))) {
      expect(await run(['trading', 'status'], env)).toMatchObject({
        code: 1,
        stdout: halted.stdout,
        stderr: expect.stringContaining('not'),
      });
      expect(await run(['trading', 'resume'], env)).toMatchObject({ code: 1, stdout: '', stderr: expect.not.stringContaining('secret') });
      expect(readHaltMarks({ dataDir: join(folder, '.data') })).not.toBeNull();
    }
    rmSync(join(folder, '.data', 'sluice.db'), { force: true });
    expect(await json(['trading', 'resume'])).toMatchObject({ halted: false });
    expect(readHaltMarks({ dataDir: join(folder, '.data') })).toBeNull();
  });

  it('halts and resumes a store whose layout it does not know', async () => {
    await json(['trading', 'status']);
    const db = await openSqlite(join(folder, '.data', 'sluice.db'));
    await db.run('INSERT INTO migrations (step, applied_at_ms) VALUES (9999, 1)');
    expect((await run(['keys', 'list'])).stderr).toContain('newer version');
    const switched = 'SELECT halted FROM trading_halt';
    expect(await json(['trading', 'halt'])).toMatchObject({ halted: true, missing: [] });
    expect(await db.get(switched)).toEqual({ halted: 1 });
    expect((await run(['trading', 'status'])).code).toBe(1);
    expect(await json(['trading', 'resume'])).toMatchObject({ halted: false });
    expect(await db.get(switched)).toEqual({ halted: 0 });
    await db.close();
  });

  it('halts by the store if no mark can be made, and says that nothing is halted if both fail', async () => {
    await json(['trading', 'status']);
    writeFileSync(join(folder, '.data', 'audit'), 'a file in place of the folder');
    // Signing processes cannot look for the mark either, so they sign nothing. Gateways read the store.
    const halted = await run(['trading', 'halt', '--json']);
    expect(halted.code).toBe(3);
    expect(JSON.parse(halted.stdout)).toMatchObject({ halted: true, missing: [expect.stringContaining('audit/halted cannot be created')] });
    rmSync(join(folder, '.data', 'audit'));
    expect((await run(['trading', 'status'])).code).toBe(1);
    expect(await json(['trading', 'resume'])).toMatchObject({ halted: false });
    writeFileSync(join(folder, 'file'), '');
    const none = await run(['trading', 'halt'], { DATA_DIR: join(folder, 'file'), DATABASE_URL: nowhere });
    expect(none).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^Trading is not halted\.\n.*halted cannot be created/),
    });
  });
});

describe('sluice backup and restore', () => {
  it('copy the store and bring it back, and say what the copy lacks and means', async () => {
    const key = (await json(['keys', 'create', '--plan', 'standard', '--label', 'first'])) as { readonly id: string };
    const copied = await run(['backup', 'copy.db']);
    expect(copied).toMatchObject({ code: 0, stderr: '' });
    expect(copied.stdout).toMatch(/copy\.db: 0\.\d MB, 1 key, 0 wallets, 0 orders \(0 open\), 0 open triggers\.\n/);
    for (const name of ['pepper', 'simnet-passphrase', 'audit']) expect(copied.stdout).toContain(`  ${join(folder, '.data', name)}  `);
    expect(await run(['backup', 'copy.db'])).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('exists') });
    await json(['keys', 'create', '--plan', 'standard', '--label', 'second']);
    // Files of their own, because this process has the others open until its objects are collected.
    mkdirSync(join(folder, 'there'));
    for (const name of ['sluice.db', 'pepper']) copyFileSync(join(folder, '.data', name), join(folder, 'there', name));
    const env = { DATA_DIR: join(folder, 'there') };
    const restored = await sluice(['restore', 'copy.db'], { folder, env });
    expect(restored).toMatchObject({ code: 0, stderr: '' });
    expect(restored.stdout).toMatch(
      /^Restored the store: 1 key, 0 wallets, 0 orders \(0 open\), 0 open triggers; it has no order\.\n.* are in .*replaced-/,
    );
    expect(restored.stdout).toContain('Idempotency-Keys');
    expect(restored.stdout).toContain('sluice trading resume');
    expect(((await json(['keys', 'list'], env)) as readonly { readonly id: string }[]).map(({ id }) => id)).toEqual([key.id]);
    expect((await run(['trading', 'status'], env)).stdout).toMatch(/^Trading is halted/);
    expect(await sluice(['restore', 'nothing'], { folder, env })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Nothing was restored: /),
    });
  });

  it('refer to the tools of PostgreSQL, and report what the disk refuses', async () => {
    const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };
    expect((await run(['backup', 'copy.db'], env)).stderr).toContain('pg_dump');
    expect((await run(['restore', 'copy.db'], env)).stderr).toContain('pg_restore');
    await json(['keys', 'list']);
    mkdirSync(join(folder, 'there'));
    writeFileSync(join(folder, '.data', 'text'), '');
    expect((await run(['backup', join('.data', 'text', 'copy.db')])).stderr).toMatch(/^No copy was made: /);
  });
});

describe('sluice wallets', () => {
  it('creates a wallet for an account that is not disabled', async () => {
    const { id } = (await json(['accounts', 'create', '--plan', 'standard'])) as { readonly id: string };
    expect(await json(['wallets', 'create', '--account', id])).toMatchObject({ accountId: id });
    expect(await json(['wallets', 'create', '--account', 'operator'])).toMatchObject({ accountId: null });
    await json(['accounts', 'disable', id]);
    for (const account of [id, 'nobody']) {
      const refused = await run(['wallets', 'create', '--account', account]);
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no account') });
    }
    expect(await json(['wallets', 'list'])).toHaveLength(2);
  });

  it('has nothing to audit before anything was signed', async () => {
    expect(await json(['wallets', 'audit'])).toEqual([]);
    await json(['wallets', 'create']);
    expect(await json(['wallets', 'audit'])).toEqual([]);
  });

  const keypair = generateKeypair();
  const secretKey = JSON.stringify(Array.from([...keypair.seed, ...keypair.publicKeyBytes]));

  it('creates, imports and lists wallets, and shows no secret', async () => {
    const created = (await json(['wallets', 'create', '--label', 'first'])) as { readonly publicKey: string };
    const imported = (await json(['wallets', 'import'], {}, secretKey)) as { readonly publicKey: string };
    expect(imported.publicKey).toBe(keypair.publicKey);
    const list = (await json(['wallets', 'list'])) as readonly { readonly publicKey: string }[];
    expect(list.map(({ publicKey }) => publicKey)).toEqual([created.publicKey, imported.publicKey]);
    expect(Object.keys(list[0] ?? {}).toSorted((a, b) => a.localeCompare(b))).toEqual([
      'accountId',
      'createdAtMs',
      'imported',
      'label',
      'publicKey',
    ]);
    const passphraseFile = join(folder, '.data', 'simnet-passphrase');
    expect(statSync(passphraseFile).mode & 0o077).toBe(0);
    const shown = await run(['wallets', 'list']);
    expect(shown.stdout).not.toContain(readFileSync(passphraseFile, 'utf8').trim());
  });

  it('exports a wallet to a new file after a second confirmation, and prints no secret', async () => {
    await json(['wallets', 'import'], {}, secretKey);
    const { publicKey } = keypair;
    const file = join(folder, 'exported.json');
    const other = generateKeypair().publicKey;
    for (const [args, message] of [
      [[publicKey, file], '--yes'],
      [[publicKey, file, '--yes', other], 'differ'],
      [[other, file, '--yes', other], 'There is no wallet'],
    ] as const) {
      expect(await run(['wallets', 'export', ...args])).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
      expect(existsSync(file)).toBe(false);
    }
    const { stdout, stderr } = await run(['wallets', 'export', publicKey, file, '--yes', publicKey]);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(JSON.parse(secretKey));
    expect(statSync(file).mode & 0o077).toBe(0);
    expect(stdout + stderr).not.toContain(secretKey.slice(1, 40));
    expect((await run(['wallets', 'export', publicKey, file, '--yes', publicKey])).stderr).toContain('never overwritten');
    const lines = (await json(['wallets', 'reads'])) as readonly { readonly command: string; readonly subject: string }[];
    expect(lines).toContainEqual(expect.objectContaining({ command: 'wallets export', subject: publicKey }));
  });

  it('requires a passphrase on a real cluster, and the right one', async () => {
    const cluster = { SOLANA_RPC_URL: 'http://127.0.0.1:1' };
    expect((await run(['wallets', 'create'], cluster)).stderr).toContain('KEYSTORE_PASSPHRASE_FILE');
    writeFileSync(join(folder, 'right'), 'right\n');
    writeFileSync(join(folder, 'wrong'), 'wrong\n');
    await json(['wallets', 'import'], { ...cluster, KEYSTORE_PASSPHRASE_FILE: 'right' }, secretKey);
    const refused = await run(['wallets', 'create'], { ...cluster, KEYSTORE_PASSPHRASE_FILE: 'wrong' });
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(await json(['wallets', 'list'], cluster)).toHaveLength(1);
    expect(await json(['wallets', 'list'])).toEqual([]);
  });

  it('accepts only policies of a pinned key, each newer than the last, and no wallet for that key', async () => {
    const { publicKey: own } = (await json(['wallets', 'create'])) as { readonly publicKey: string };
    expect((await run(['wallets', 'policy', 'pin', own])).stderr).toContain('a wallet of the keystore');
    const { publicKey } = (await json(['wallets', 'policy', 'keygen', 'operator.json'])) as { readonly publicKey: string };
    expect(statSync(join(folder, 'operator.json')).mode & 0o777).toBe(0o600);
    expect((await run(['wallets', 'policy', 'keygen', 'operator.json'])).code).toBe(1);
    await json(['wallets', 'policy', 'pin', publicKey]);
    expect((await run(['wallets', 'policy', 'show'])).stderr).toContain('missing');
    const sign = (key: string, version: number, ...rules: readonly string[]) =>
      json(['wallets', 'policy', 'sign', '--key', key, '--version', String(version), '--keystore', 'simnet', ...rules]);
    // As an editor writes it that puts a byte order mark at the beginning.
    const put = (policy: unknown): void => writeFileSync(join(folder, 'policy.json'), `\uFEFF${JSON.stringify(policy)}`);
    writeFileSync(join(folder, 'operator.json'), `\uFEFF${readFileSync(join(folder, 'operator.json'), 'utf8')}`);
    put(await sign('operator.json', 2, '--max-hour-sol', '1.5', '--venues', 'pump'));
    const rules = { version: 2, maxHourLamports: '1500000000', maxDayLamports: null, venues: [expect.any(String)], tokens: null };
    expect(await json(['wallets', 'policy', 'install', 'policy.json'])).toMatchObject(rules);
    expect(await json(['wallets', 'policy', 'show'])).toMatchObject({ key: publicKey, ...rules });
    expect((await run(['wallets', 'policy', 'install', 'policy.json'])).stderr).toContain('higher --version');
    const installed = join(folder, '.data', 'audit', 'simnet.policy');
    writeFileSync(installed, `\uFEFF${readFileSync(installed, 'utf8')}`);
    expect(await json(['wallets', 'policy', 'show'])).toMatchObject({ key: publicKey, ...rules });
    await json(['wallets', 'policy', 'keygen', 'other.json']);
    put(await sign('other.json', 3));
    expect((await run(['wallets', 'policy', 'install', 'policy.json'])).stderr).toContain('has not signed it');
    await json(['wallets', 'list']);
    const reads = (await json(['wallets', 'reads'])) as readonly { readonly command: string; readonly subject: string }[];
    expect(reads.slice(0, 3).map(({ command }) => command)).toEqual(['wallets reads', 'wallets list', 'wallets policy']);
    expect(reads).toContainEqual(expect.objectContaining({ command: 'wallets policy', subject: `pin ${publicKey}` }));
  });

  it('sets the default wallet of a key', async () => {
    const made = (await json(['keys', 'create', '--plan', 'standard', '--scopes', 'trade'])) as {
      readonly id: string;
      readonly key: string;
    };
    const current = () => json(['wallets', 'default', '--key', made.id]);
    expect(await current()).toEqual({ keyId: made.id, publicKey: null });
    const oldest = (await json(['wallets', 'create'])) as { readonly publicKey: string };
    const other = (await json(['wallets', 'create'])) as { readonly publicKey: string };
    expect(await current()).toEqual({ keyId: made.id, publicKey: oldest.publicKey });
    expect(await json(['wallets', 'default', other.publicKey, '--key', made.id])).toEqual({ keyId: made.id, publicKey: other.publicKey });
    expect(await current()).toEqual({ keyId: made.id, publicKey: other.publicKey });
    for (const [wallet, key, problem] of [
      ['nowhere', made.id, 'There is no wallet'],
      [other.publicKey, 'nobody', 'There is no key'],
      [other.publicKey, made.key, 'whole API key'],
    ] as const) {
      expect((await run(['wallets', 'default', wallet, '--key', key])).stderr).toContain(problem);
    }
    expect((await run(['wallets', 'default', other.publicKey])).stderr).toContain('--key is missing');
  });

  it('refuses text that is not a secret key, and repeats none of it', async () => {
    const { code, stdout, stderr } = await run(['wallets', 'import'], {}, secretKey.replace(']', ',7]'));
    expect(code).toBe(1);
    expect(`${stdout}${stderr}`).not.toContain(secretKey.slice(1, 12));
    expect((await run(['wallets', 'import', 'no-such-file'])).code).toBe(1);
  });
});

describe('sluice doctor', () => {
  it('finds nothing wrong before the first start', async () => {
    const { code, stdout } = await run(['doctor', '--json'], { PORT: '0' });
    const report = JSON.parse(stdout) as {
      readonly ok: boolean;
      readonly checks: readonly { readonly name: string; readonly state: string }[];
    };
    expect(code).toBe(0);
    expect(report.ok).toBe(true);
    expect(report.checks.map(({ name }) => name)).toEqual([
      'node',
      'native server',
      'folders above',
      'settings',
      'data',
      'keystore',
      'trading',
      'plans',
      'dashboard',
      'keyless',
      'bus',
      'chain',
      'gateway',
    ]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('warns of a pnpm in a folder above, and of a folder above that others may write to', () => {
    const project = join(folder, 'sluice');
    mkdirSync(project);
    const warns = (detail: string): object => ({ state: 'warn', detail: expect.stringContaining(detail) as string });
    // The sticky bit prevents nobody from adding something.
    for (const mode of [0o777, 0o1777]) {
      chmodSync(folder, mode);
      expect(checkFoldersAbove(project)).toMatchObject(warns(`any user can put a pnpm into ${folder},`));
    }
    const bin = join(folder, 'node_modules/.bin');
    mkdirSync(bin, { recursive: true });
    for (const file of ['pnpm', 'pnpm@12']) {
      writeFileSync(join(bin, file), '');
      expect(checkFoldersAbove(project)).toMatchObject(warns(`npx runs ${join(bin, file)} instead of pnpm`));
      rmSync(join(bin, file));
    }
    expect(checkFoldersAbove('/usr/bin')).toMatchObject({ state: 'ok' });
  });

  it('reports which setting, Redis and node are at fault, and ends with 1', async () => {
    const faulty = await run(['doctor'], { PORT: 'x' });
    expect(faulty.code).toBe(1);
    expect(faulty.stdout).toMatch(/^fail {2}settings +PORT/m);
    const unreachable = await run(['doctor'], { PORT: '0', REDIS_URL: 'redis://127.0.0.1:1', SOLANA_RPC_URL: 'http://127.0.0.1:1/secret' });
    expect(unreachable.code).toBe(1);
    for (const name of ['redis', 'rpc', 'pubsub']) expect(unreachable.stdout).toMatch(new RegExp(`^fail {2}${name} `, 'm'));
    expect(unreachable.stdout).not.toContain('secret');
  });

  it('reports what a running gateway lacks if it is not ready, and checks the kernel if its port is shared', async () => {
    const server = await startTestGateway();
    try {
      const { stdout } = await run(['doctor'], { PORT: String(server.gateway.port), SHARE_PORT: 'true' });
      expect(stdout).toMatch(/^warn {2}gateway +runs at .* is not ready: ingest: No ingest process leads\.$/m);
      expect(stdout).toMatch(/^(ok|warn) +shared port /m);
    } finally {
      await server.close();
    }
  });

  it('shows the plans, and warns of an address that is open to eavesdroppers or hides its clients', async () => {
    const file = join(folder, 'plans.json');
    writeFileSync(file, '{"standard":{"requestsPerMinute":250}}');
    const env = { PORT: '0', PLANS_FILE: file, CORS_ORIGINS: 'https://app.example.com' };
    const plain = await run(['doctor'], { ...env, PUBLIC_URL: 'http://sluice.example.com' });
    expect(plain.code).toBe(0);
    expect(plain.stdout).toMatch(/^ok {4}plans +.*standard 250 \(PLANS_FILE\), premium 1000,/m);
    expect(plain.stdout).toMatch(/^warn {2}dashboard .*not HTTPS/m);
    expect(plain.stdout).toMatch(/^warn {2}proxies .*TRUSTED_PROXIES/m);
    expect(plain.stdout).toMatch(/^ok {4}origins +https:\/\/app\.example\.com/m);
    const safe = await run(['doctor'], { ...env, PUBLIC_URL: 'https://sluice.example.com', TRUSTED_PROXIES: '127.0.0.1' });
    expect(safe.stdout).toMatch(/^ok {4}dashboard +https:/m);
    expect(safe.stdout).toMatch(/^ok {4}proxies +127/m);
    expect(safe.stdout).toMatch(/^warn {2}keyless /m);
    expect((await run(['doctor'], { ...env, PUMPPORTAL_KEYLESS: 'off' })).stdout).not.toContain('keyless');
    const open = await run(['doctor'], { ...env, HOST: '0.0.0.0' });
    expect(open.stdout).toMatch(/^warn {2}dashboard .*PUBLIC_URL/m);
    expect((await run(['doctor'], env)).stdout).toMatch(/^ok {4}keyless /m);
    writeFileSync(file, '{"gold":{}}');
    const faulty = await run(['doctor'], env);
    expect(faulty.code).toBe(1);
    expect(faulty.stdout).toMatch(/^fail {2}settings +PLANS_FILE: gold: unknown field/m);
  });

  it('shows how it trades, whether trading is halted, and whether its wallets unlock, without a secret', async () => {
    const file = join(folder, 'passphrase');
    const passphrase = 'a passphrase that is nowhere else';
    writeFileSync(file, `${passphrase}\n`, { mode: 0o600 });
    // Nothing listens there; the missing node is not the subject of this test.
    const env = { PORT: '0', SOLANA_RPC_URL: 'http://127.0.0.1:1', TRADING: 'live', KEYSTORE_PASSPHRASE_FILE: file };
    const lines = async (more: Record<string, string> = {}): Promise<string> => {
      const { stdout, stderr } = await run(['doctor'], { ...env, ...more });
      expect(`${stdout}${stderr}`).not.toContain(passphrase);
      return stdout;
    };
    expect(await lines()).toMatch(/^ok {4}trading +live: .* 101 SOL in one order and 1000 SOL per day$/m);
    expect(existsSync(join(folder, '.data'))).toBe(false);
    await json(['keys', 'list'], env);
    expect(await lines()).toMatch(/^ok {4}signer +there is no custodial wallet yet$/m);
    await json(['wallets', 'create'], env);
    expect(await lines()).toMatch(/^ok {4}signer +the keystore unlocks, 1 wallet;/m);
    await run(['trading', 'halt', '--reason', 'a drill'], env);
    expect(await lines()).toMatch(/^warn {2}trading +halted since .* \(a drill\)/m);
    await run(['trading', 'resume'], env);
    const paper = await lines({ TRADING: 'paper' });
    expect(paper).toMatch(/^ok {4}trading +paper/m);
    expect(paper).not.toMatch(/signer/);
    expect(await lines({ TRADING: 'off' })).toMatch(/^ok {4}trading +off/m);
    mkdirSync(join(folder, '.data', 'audit'), { recursive: true });
    writeFileSync(join(folder, '.data', 'audit', 'cluster-0.log'), 'no line of it\n');
    expect(await lines()).toMatch(/^fail {2}signer +audit log cluster-0\.log: line 1/m);
    writeFileSync(file, 'another passphrase\n');
    expect(await lines()).toMatch(/^fail {2}signer +the passphrase does not unlock the keystore$/m);
    writeFileSync(file, '');
    expect(await lines()).toMatch(/^fail {2}settings +KEYSTORE_PASSPHRASE_FILE/m);
  });

  it('checks the store completely, and says what to do if it is damaged', async () => {
    await json(['keys', 'list']);
    const file = join(folder, '.data', 'sluice.db');
    const bytes = readFileSync(file);
    bytes.fill(0xa5, bytes.length - 4_096, bytes.length - 3_000);
    writeFileSync(file, bytes);
    expect((await run(['doctor'], { PORT: '0' })).stdout).toMatch(/^fail {2}store .*sluice\.db: .*sluice restore FILE$/m);
  });

  it('detects that others can read the store', async () => {
    await json(['keys', 'list']);
    chmodSync(join(folder, '.data', 'sluice.db'), 0o644);
    const { code, stdout } = await run(['doctor'], { PORT: '0' });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fail {2}data .*sluice\.db/m);
  });
});
