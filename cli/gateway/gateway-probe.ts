import type { Config } from '@sluice/shared/config/config.ts';
import { UsageError } from '../command-line/command.ts';
import { ownCommand } from '../start/own-command.ts';

const timeoutMs = 3_000;

/** The URL of a gateway with these settings, as seen from its own machine. */
export function gatewayUrl(config: Config): string {
  const anyAddress: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };
  const host = anyAddress[config.host] ?? (config.host.includes(':') ? `[${config.host}]` : config.host);
  return `${config.tls === null ? 'http' : 'https'}://${host}:${config.port}`;
}

/** The HTTP URL that `--url` names. Throws `UsageError` if it is none. */
export function httpUrl(base: string): string {
  if (!URL.canParse(base) || !/^(http|ws)s?:$/.test(new URL(base).protocol))
    throw new UsageError('--url takes a URL like http://127.0.0.1:8080');
  return base.replace(/^ws/, 'http');
}

/** `isGateway`: null if nobody answered, or a proxy answered for a gateway that does not run. */
type Probe = { readonly ok: true } | { readonly ok: false; readonly isGateway: false | null; readonly fault: string };

/** Asks whether a gateway answers at `url`, without an API key. `fault` says what is wrong and what to do, in plain words. */
export async function probeGateway(url: string): Promise<Probe> {
  const { host, protocol } = new URL(url);
  try {
    const answer = await fetch(`${url}/livez`, { redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) });
    await answer.body?.cancel();
    if (answer.headers.has('x-api-version')) return { ok: true };
    if (answer.status >= 502 && answer.status <= 504)
      return { ok: false, isGateway: null, fault: `the proxy at ${host} answers ${answer.status}: the gateway behind it does not respond` };
    const fault = `Another service answers at ${host}: it is not sluice. No API key was sent; ${checkAddress}`;
    return { ok: false, isGateway: false, fault };
  } catch (error) {
    return { ok: false, isGateway: null, fault: connectFault(error, host, protocol === 'https:') };
  }
}

const checkAddress = 'check the URL that start printed; pass it with --url, or set PORT';

/** Why no connection was made, and what to do. `isTls`: https was tried. */
function connectFault(error: unknown, host: string, isTls: boolean): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (code === 'ECONNREFUSED') return nobodyListens(host);
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `the name in ${host} is not known. Check the URL`;
  if (cause instanceof Error && cause.name === 'TimeoutError')
    return `${host} does not answer within ${timeoutMs / 1000} s; ${checkAddress}`;
  if (isTls && /^(?:EPROTO|ERR_SSL_)/.test(code)) return `${host} does not speak TLS. Use http:// in place of https://`;
  if (isTls && /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code))
    return `the certificate of ${host} is not trusted (${code}). If it is your own, set NODE_EXTRA_CA_CERTS to its file`;
  if (/^(?:HPE_|UND_ERR_SOCKET|ECONNRESET)/.test(code))
    return `${host} closed the connection and sent no HTTP answer. ${isTls ? checkAddress : `If it speaks TLS, use https://; otherwise ${checkAddress}`}`;
  return `${host} cannot be reached: ${cause instanceof Error ? cause.message : String(cause)}; ${checkAddress}`;
}

/** For a port where no process listens. */
export function nobodyListens(host: string): string {
  const start = `${ownCommand()} start`.replace('pnpm@12 sluice start', 'pnpm@12 start');
  return `no process listens at ${host}. If sluice does not run, start it: ${start}. If it listens elsewhere: ${checkAddress}`;
}
