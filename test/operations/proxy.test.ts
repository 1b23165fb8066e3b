import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addressOf, entryOf, tradeEvent } from '../support/events/stream-events.ts';
import { freePort } from '../support/free-port.ts';
import { goodKey, startTestGateway, until, type TestGateway } from '../support/gateway.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const hasNginx = spawnSync('nginx', ['-v'], { env: { PATH: `${process.env['PATH']}:/usr/sbin` } }).status === 0;
const source = readFileSync(new URL('../../operating/proxies/nginx.conf', import.meta.url), 'utf8');
const mint = addressOf(1);
const ofOneAddress = 'sluice_test_of_one_address';

/** The file as it is, except for the addresses and TLS. */
function configuration(port: number, gatewayPort: number, folder: string): string {
  const replaced = source
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
    .replaceAll(/^ *ssl_certificate.*$/gm, '')
    .replace('127.0.0.1:8080', `127.0.0.1:${gatewayPort}`);
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n');
  const logs = `access_log off;\nerror_log ${folder}/error.log;`;
  return `daemon off;\nmaster_process off;\npid ${folder}/pid;\nerror_log ${folder}/error.log;\nevents {}\nhttp {\n${folders}\n${logs}\n${replaced}}\n`;
}

describe.skipIf(!hasNginx)(`operating/proxies/nginx.conf${hasNginx ? '' : ' (SKIPPED: nginx is not installed)'}`, () => {
  let folder: string;
  let gateway: TestGateway;
  let nginx: ChildProcess;
  let origin: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-proxy-'));
    const config = { publicUrl: 'http://sluice.example', trustedProxies: ['127.0.0.1'] };
    gateway = await startTestGateway({ config });
    gateway.keys.add(ofOneAddress, { scopes: ['stream'], ipRanges: ['198.51.100.7/32'] });
    const port = await freePort();
    writeFileSync(join(folder, 'nginx.conf'), configuration(port, gateway.gateway.port, folder));
    const env = { PATH: `${process.env['PATH']}:/usr/sbin` };
    nginx = spawn('nginx', ['-e', join(folder, 'error.log'), '-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore', env });
    origin = `127.0.0.1:${port}`;
    await until('nginx to listen', () =>
      fetch(`http://${origin}/livez`).then(
        () => true,
        () => false,
      ),
    );
  });
  afterEach(async () => {
    nginx.kill('SIGKILL');
    await gateway.close();
    rmSync(folder, { recursive: true });
  });
  const connect = (key: string, headers: Record<string, string> = {}): StreamClient =>
    new StreamClient(`ws://${origin}/api/data`, { host: 'sluice.example', authorization: `Bearer ${key}`, ...headers });

  it('passes on the name, the client, the stream and its close', async () => {
    const client = await connect(goodKey).open();
    await client.ask({ op: 'subscribe', channel: 'trades', mints: [mint] });
    await gateway.publish([entryOf(tradeEvent(mint))]);
    await client.framesTo(`trades:${mint}`, 1);
    // The client cannot choose its address.
    const stranger = connect(ofOneAddress, { 'x-forwarded-for': '198.51.100.7' });
    expect((await until('the refusal', () => stranger.refused ?? undefined)).status).toBe(403);
    // A connection to the gateway is used again, and an error is the gateway's own.
    for (let request = 0; request < 3; request++) {
      const answer = await fetch(`http://${origin}/api/usage`, { headers: { host: 'sluice.example' } });
      expect([answer.status, await answer.json()]).toMatchObject([401, { error: { code: 'UNAUTHENTICATED' } }]);
    }
    const ended = client.end();
    const closed = gateway.gateway.close();
    expect((await ended).code).toBe(4012);
    await closed;
  });
});
