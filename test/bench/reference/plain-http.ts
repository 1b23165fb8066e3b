import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type * as Uws from 'uWebSockets.js';

/**
 * The smallest possible handler: the same status, headers and bytes for every GET, read from a file. No key, no limit, no path. The
 * gateway's answers are compared with its cost.
 */
interface PlainAnswer {
  readonly status: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

const uws = createRequire(import.meta.url)('uWebSockets.js') as typeof Uws;
const { status, headers, body } = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as PlainAnswer;
const app = uws.App().get('/*', (res) => {
  res.cork(() => {
    res.writeStatus(status);
    for (const [name, value] of headers) res.writeHeader(name, value);
    res.end(body);
  });
});
app.listen('127.0.0.1', 0, (token) => {
  if (token === false) throw new Error('cannot listen');
  process.stdout.write(`listening http://127.0.0.1:${uws.us_socket_local_port(token)}\n`);
});
