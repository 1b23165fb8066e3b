import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { get } from 'node:https';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { uwsBinaries } from '@sluice/gateway/transport/uws-binaries.ts';
import { loadUws } from '@sluice/gateway/transport/uws-load.ts';
import { tradesTopic } from '@sluice/shared/wire/stream/topics.ts';
import { freePort } from '../support/free-port.ts';
import { goodKey, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { testConfig } from '../support/test-config.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { addressOf, entryOf, tradeEvent } from '../support/events/stream-events.ts';

const here = `${process.platform}_${process.arch}_${process.versions.modules}`;

describe('the native binary', () => {
  it('is loaded if its hash is the pinned one', () => {
    expect(loadUws()).toMatchObject({ kind: 'loaded' });
    expect(uwsBinaries['linux_x64_115']).toBe('f4fa5d7b697529b45ac8aa3d57385d9af51bc1d2b26aa9f5b68ca4361542e665');
  });

  it('is installed for the pinned platforms only', () => {
    const installed = readdirSync(dirname(createRequire(import.meta.url).resolve('uWebSockets.js')))
      .map((file) => /^uws_(.+)\.node$/.exec(file)?.[1])
      .filter((platform) => platform !== undefined);
    expect(installed.toSorted()).toEqual(Object.keys(uwsBinaries).toSorted());
  });

  it('is not loaded otherwise, and the reason is reported', () => {
    expect(loadUws(here, {})).toMatchObject({ kind: 'unavailable', reason: 'not_pinned' });
    expect(loadUws(here, { [here]: '0'.repeat(64) })).toMatchObject({ kind: 'unavailable', reason: 'hash_mismatch' });
    expect(loadUws('plan9_mips_115', { plan9_mips_115: '0'.repeat(64) })).toMatchObject({ kind: 'unavailable', reason: 'not_readable' });
  });
});

/** Creates the certificate. If it is not installed, these tests are skipped. */
const certificateTool = 'openssl';
const hasOpenssl = spawnSync(certificateTool, ['version']).status === 0;

describe.skipIf(!hasOpenssl)('TLS by the listener itself', () => {
  let directory = '';
  let tls = { certFile: '', keyFile: '' };
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'sluice-tls-'));
    tls = { certFile: join(directory, 'tls.crt'), keyFile: join(directory, 'tls.key') };
    const args = `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout ${tls.keyFile} -out ${tls.certFile}`;
    const made = spawnSync(certificateTool, args.split(' '));
    expect(made.status).toBe(0);
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it.each(['uws', 'node'] as const)('serves HTTPS and WSS over %s', async (transport) => {
    const server = await startTestGateway({ transport, config: { tls } });
    expect(server.gateway.url).toBe(`https://${server.host}`);
    const status = await new Promise((resolve, reject) => {
      get(`https://${server.host}/livez`, { rejectUnauthorized: false, agent: false }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      }).on('error', reject);
    });
    expect(status).toBe(200);
    const client = await new StreamClient(`wss://${server.host}/api/data?api-key=${goodKey}`).open();
    await client.ask({ op: 'subscribe', channel: 'trades', mints: [addressOf(1)] });
    await server.publish([entryOf(tradeEvent(addressOf(1)))]);
    await client.framesTo(tradesTopic(addressOf(1)), 1);
    client.close();
    await server.close();
  });

  const kinds = ['uws', 'node'] as const;
  it.each(kinds.flatMap((first) => kinds.map((second) => [first, second] as const)))(
    'no other gateway joins a port that is not shared, with TLS or without: %s, then %s',
    async (first, second) => {
      const start = (transport: 'uws' | 'node', port: number, sharePort: boolean, isTls: boolean): Promise<TestGateway> =>
        startTestGateway({ transport, config: { port, tls: isTls ? tls : null, operations: { ...testConfig.operations, sharePort } } });
      for (const isTls of [false, true]) {
        const own = await start(first, await freePort(), false, isTls);
        const { port } = own.gateway;
        for (const sharePort of [false, true]) {
          for (const otherTls of [false, true]) {
            await expect(start(second, port, sharePort, otherTls)).rejects.toMatchObject({ setting: 'PORT' });
          }
        }
        await own.close();
        const sharing = await start(first, port, true, isTls);
        await expect(start(second, port, false, !isTls)).rejects.toMatchObject({ setting: 'PORT' });
        await sharing.close();
      }
    },
  );

  it('two gateways share a port if both want to', async () => {
    const operations = { ...testConfig.operations, sharePort: true };
    const first = await startTestGateway({ transport: 'uws', config: { port: await freePort(), operations } });
    const second = await startTestGateway({ transport: 'uws', config: { port: first.gateway.port, operations } });
    await first.close();
    expect((await fetch(`http://${second.host}/livez`)).status).toBe(200);
    await second.close();
  });
});
