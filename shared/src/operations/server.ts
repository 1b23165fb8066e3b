import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pause } from '../runtime/abort/pause.ts';
import { hostCheck, isLoopback, type HostCheck } from '../config/loopback.ts';
import { SettingError } from '../config/settings/setting-error.ts';
import type { Logger } from '../runtime/log/log.ts';
import { metricsContentType, metricsText, type Metric } from './metric.ts';
import { unhealthyParts, partReports, type Parts } from './readiness.ts';

/** Concurrent connections; further ones are closed at once. */
const maxConnections = 64;
const requestTimeoutMs = 5_000;
/** Time between two attempts to listen while another process has the port. */
const retryEveryMs = 250;

export interface OperationsServerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** If true, wait until the process that this one replaces releases the port. Otherwise a port in use is an error. */
  readonly waitForPort: boolean;
  /** Names that are accepted in `Host` on the loopback, in addition to its own. On another address, any name is accepted. */
  readonly allowedHosts: readonly string[];
  readonly metrics: () => Promise<readonly Metric[]>;
  readonly parts: () => Parts;
  readonly log: Logger;
}

export interface OperationsServer {
  /** Null while waiting for the port. */
  readonly port: number | null;
  close(): Promise<void>;
}

/**
 * Serves `/metrics`, `/livez` and `/readyz` on a port of their own, for monitoring, without an API key. Rejects with a `SettingError` if it
 * cannot listen.
 */
export async function serveOperations(options: OperationsServerOptions): Promise<OperationsServer> {
  const { host, port, waitForPort, log } = options;
  const closing = new AbortController();
  const isOwnHost = hostCheck(host, isLoopback(host) ? options.allowedHosts : ['*']);
  const server = createServer({ requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs }, (request, response) => {
    answer(request, response, { ...options, isOwnHost }).catch((error: unknown) => {
      log.error({ err: error }, 'operations_answer_failed');
      response.destroy();
    });
  });
  server.maxConnections = maxConnections;
  const listen = (): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, () => {
        server.off('error', reject);
        log.info({ host, port: (server.address() as AddressInfo).port }, 'operations_listening');
        resolve();
      });
    });
  const waitAndListen = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      const fault = await listen().then(() => null, codeOf);
      if (fault === null) return;
      if (fault !== 'EADDRINUSE') {
        log.error({ code: fault }, 'operations_port_refused');
        return;
      }
      await pause(retryEveryMs, closing.signal);
    }
  };
  let waiting: Promise<void> | null = null;
  try {
    await listen();
  } catch (error) {
    const code = codeOf(error);
    if (code !== 'EADDRINUSE') throw new SettingError('METRICS_HOST', `${host}:${port} cannot be used to listen (${code})`, error);
    if (!waitForPort) {
      throw new SettingError(
        'METRICS_PORT',
        `${host}:${port} is in use by another process (EADDRINUSE). Give each process another port`,
        error,
      );
    }
    log.info({ host, port }, 'operations_port_awaited');
    waiting = waitAndListen();
  }
  return {
    get port() {
      return server.listening ? (server.address() as AddressInfo).port : null;
    },
    close: async () => {
      closing.abort();
      await waiting;
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(
  { method, url, headers }: IncomingMessage,
  response: ServerResponse,
  { metrics, parts, isOwnHost }: OperationsServerOptions & { readonly isOwnHost: HostCheck },
): Promise<void> {
  const send = (status: number, contentType: string, body: string): void => {
    response.writeHead(status, { 'Content-Type': contentType, 'Content-Length': Buffer.byteLength(body), 'Cache-Control': 'no-store' });
    response.end(method === 'HEAD' ? undefined : body);
  };
  const sendJson = (status: number, value: unknown): void => send(status, 'application/json; charset=utf-8', JSON.stringify(value));
  // No page of a browser has business here. Its own address bar sends no `Origin`.
  if (headers.origin !== undefined) return sendJson(403, { error: 'pages of a browser may not use this port' });
  if (!isOwnHost(headers.host)) return sendJson(403, { error: 'the Host header does not name this listener; set ALLOWED_HOSTS' });
  if (method !== 'GET' && method !== 'HEAD') return sendJson(405, { error: 'only GET and HEAD are supported' });
  switch (new URL(url ?? '/', 'http://localhost').pathname) {
    case '/metrics':
      return send(200, metricsContentType, metricsText(await metrics()));
    case '/livez':
      return sendJson(200, { live: true });
    case '/readyz': {
      const current = parts();
      const ready = unhealthyParts(current).length === 0;
      return sendJson(ready ? 200 : 503, { ready, parts: partReports(current) });
    }
    default:
      return sendJson(404, { error: 'there are /metrics, /livez and /readyz here' });
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
