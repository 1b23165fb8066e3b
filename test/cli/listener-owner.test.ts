import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@sluice/gateway/store/store.ts';
import { expect, it, onTestFinished } from 'vitest';
import { listenersIn } from '../../cli/gateway/listener-owner.ts';
import { sluice } from '../support/command-line.ts';

const header = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
const ip4 = [
  header,
  '   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 64203        0 2393182 1 000000002f9b26a9 100 0 0 10 0',
  // A connection of another user to the same port.
  '   1: 0100007F:1F90 0100007F:ACD9 01 00000000:00000000 00:00000000 00000000  1000        0 2393188 1 00000000d17ba22b 20 4 30 10 -1',
  '   2: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2393184 1 00000000eefd6da8 100 0 0 10 0',
  '',
].join('\n');
const ip6 = [
  header,
  '   0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 1 1 0000000000000000 100 0 0 10 0',
  '',
].join('\n');

it('reads the users of listening sockets, and of no others, from the tables of the kernel', () => {
  expect(listenersIn(ip4, 8080)).toEqual([64_203]);
  expect(listenersIn(ip6, 8080)).toEqual([1_001]);
  expect(listenersIn(ip4, 80)).toEqual([0]);
  for (const [table, port] of [
    [ip4, 0xacd9],
    [ip6, 80],
    [header, 8080],
    ['', 8080],
  ] as const) {
    expect(listenersIn(table, port)).toEqual([]);
  }
});

/** The number of a user that does not exist. */
const neighbour = 64_203;
const listener = `const server = require('node:net').createServer((socket) => socket.on('data', (data) => console.log(String(data))));
server.listen(0, '127.0.0.1', () => console.log(server.address().port));`;

it.skipIf(process.getuid?.() !== 0)(
  'sends no key to the listener of another user, and creates none (needs root)',
  { timeout: 60_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-listener-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const child = spawn(process.execPath, ['-e', listener], {
      uid: neighbour,
      gid: neighbour,
      cwd: '/',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await once(child, 'close');
    });
    let heard = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (heard += text));
    await once(child.stdout, 'data');
    const port = heard.trim();
    const refused = new RegExp(`listener at port ${port} belongs to the user ${neighbour},.* No API key was sent`);
    const made = await sluice(['watch', 'trades'], { folder, env: { PORT: port } });
    expect(made).toMatchObject({ code: 1, stderr: expect.stringMatching(refused) as string });
    const given = await sluice(['watch', 'trades', '--key', 'sluice_a_key', '--url', `http://localhost:${port}`], { folder });
    expect(given).toMatchObject({ code: 1, stderr: expect.stringMatching(refused) as string });
    const doctor = await sluice(['doctor'], { folder, env: { PORT: port } });
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toMatch(new RegExp(`^fail {2}gateway +.*${refused.source}`, 'm'));
    expect(heard.trim()).toBe(port);
    const store = await openStore({ dataDir: join(folder, '.data'), databaseUrl: null });
    onTestFinished(() => store.close());
    expect(await store.keys.all()).toEqual([]);
  },
);
