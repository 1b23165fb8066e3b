import type { Config } from '@sluice/shared/config/config.ts';
import { UsageError } from '../command-line/command.ts';

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
