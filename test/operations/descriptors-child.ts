import { closeSync, openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { startTestGateway } from '../support/gateway.ts';
import { freePort } from '../support/free-port.ts';

/** A gateway over the transport that the argument names. Prints its port, and obeys lines: `exhaust` opens files until it has no descriptor. */
const server = await startTestGateway({ transport: process.argv[2] === 'node' ? 'node' : 'uws', config: { port: await freePort() } });
const open: number[] = [];
createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'release') for (const descriptor of open.splice(0)) closeSync(descriptor);
  else exhaust();
});
process.stdout.write(`${server.gateway.port}\n`);

function exhaust(): void {
  try {
    for (;;) open.push(openSync('/dev/null', 'r'));
  } catch {
    process.stdout.write('exhausted\n');
  }
}
