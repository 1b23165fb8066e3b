import { createServer } from 'node:net';
import { startNodeTransport } from './node.ts';
import type { StartTransport, Transport, TransportHandlers, TransportOptions } from './transport.ts';
import { loadUws } from './uws-load.ts';
import { startUwsTransport } from './uws.ts';

export type TransportChoice = 'auto' | 'uws' | 'node';

/** Why listening failed: the setting that causes it, and one line about it. */
export interface ListenFault {
  readonly setting: 'HOST' | 'PORT' | 'TLS_CERT_FILE';
  readonly what: string;
}

export type TransportOutcome =
  | { readonly ok: true; readonly transport: Transport }
  | { readonly ok: false; readonly fault: ListenFault; readonly cause: unknown };

/** Starts the native transport, or the one on node:http if the native one does not load. With the choice `uws`, that is an error. */
export async function startTransport(
  choice: TransportChoice,
  options: TransportOptions,
  handlers: TransportHandlers,
): Promise<TransportOutcome> {
  const start = starter(choice, options);
  try {
    return { ok: true, transport: await start(options, handlers) };
  } catch (cause) {
    const fault = listenFault(codeOf(cause), options) ?? (await probedFault(options));
    if (fault === null) throw cause;
    return { ok: false, fault, cause };
  }
}

function starter(choice: TransportChoice, { log }: TransportOptions): StartTransport {
  if (choice === 'node') return startNodeTransport;
  const load = loadUws();
  if (load.kind === 'loaded') return (options, handlers) => startUwsTransport(load.uws, options, handlers);
  if (choice === 'uws') throw new Error(`uWebSockets.js does not load: ${load.reason} ${load.detail}`);
  log.warn({ reason: load.reason, detail: load.detail }, 'native_transport_unavailable');
  return startNodeTransport;
}

/** The native transport does not report why it cannot listen, so a probe asks the system. If the probe succeeds, the certificate is wrong. */
async function probedFault(options: TransportOptions): Promise<ListenFault | null> {
  try {
    await probePort(options.host, options.port);
  } catch (error) {
    return listenFault(codeOf(error), options);
  }
  return options.tls === null ? null : { setting: 'TLS_CERT_FILE', what: 'the certificate cannot be used with the key in TLS_KEY_FILE' };
}

/** Rejects with the system's error if it is not possible to listen on `host:port`. */
function probePort(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve()));
  });
}

function listenFault(code: string, { host, port, sharePort }: TransportOptions): ListenFault | null {
  switch (code) {
    case 'EADDRINUSE':
      return {
        setting: 'PORT',
        what: `${host}:${port} is in use by another process${sharePort ? ' that does not share it' : ''} (EADDRINUSE). Choose another port${sharePort ? ', or set SHARE_PORT=true for that process too' : ''}`,
      };
    case 'EACCES':
      return { setting: 'PORT', what: `this user may not listen on port ${port} (EACCES)` };
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'EINVAL':
      return { setting: 'HOST', what: `this machine has no address ${host} (${code})` };
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return { setting: 'HOST', what: `the name ${host} cannot be resolved (${code})` };
    default:
      return null;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
