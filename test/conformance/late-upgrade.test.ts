import type { HttpAnswer } from '@sluice/gateway/transport/transport.ts';
import { loadUws } from '@sluice/gateway/transport/uws-load.ts';
import { startUwsTransport } from '@sluice/gateway/transport/uws.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';

const answer = (): HttpAnswer => ({ status: 404, lines: '', headers: {}, body: '' });

/** The result of one handshake: its headers, what the server sent during it, and the echo. */
async function converse(port: number, text: string): Promise<{ readonly late: string | undefined; readonly heard: readonly string[] }> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/stream`);
  onTestFinished(() => socket.terminate());
  const heard: string[] = [];
  let late: string | undefined;
  await new Promise<void>((resolve, reject) => {
    socket.once('upgrade', (response) => {
      late = response.headers['x-test']?.toString();
    });
    socket.once('open', () => socket.send(text));
    socket.on('message', (data: Buffer) => {
      heard.push(data.toString());
      if (heard.length === 2) resolve();
    });
    socket.once('close', (code) => reject(new Error(`closed with ${code}`)));
    socket.once('error', reject);
  });
  return { late, heard };
}

it('handshakes whose check takes time are accepted in order of arrival, and none is cut', async () => {
  const loaded = loadUws();
  if (loaded.kind !== 'loaded') throw new Error('the native server did not load');
  const transport = await startUwsTransport(
    loaded.uws,
    {
      host: '127.0.0.1',
      port: 0,
      tls: null,
      streamPaths: ['/stream'],
      sharePort: false,
      log: createLog({ level: 'silent', name: 'test' }),
    },
    {
      http: answer,
      malformed: answer,
      full: answer,
      fault: answer,
      upgrade: () =>
        new Promise((resolve) => {
          setImmediate(() =>
            resolve(() => ({
              lines: '\r\nX-Test: late',
              compress: false,
              accept: (socket) => {
                socket.send('welcome', false);
                return {
                  onMessage: (data) => void socket.send(data.toString(), false),
                  onDrain: () => undefined,
                  onDropped: () => undefined,
                  onSign: () => undefined,
                  onClose: () => undefined,
                };
              },
            })),
          );
        }),
    },
  );
  onTestFinished(() => transport.close());
  for (let round = 0; round < 4; round++) {
    const texts = Array.from({ length: round === 0 ? 1 : 100 }, (_, at) => `${round}/${at}`);
    const all = await Promise.all(texts.map((text) => converse(transport.port, text)));
    expect(all).toEqual(texts.map((text) => ({ late: 'late', heard: ['welcome', text] })));
  }
});
