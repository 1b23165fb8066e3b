import { existsSync, readFileSync } from 'node:fs';
import type { Config } from '@sluice/shared/config/config.ts';
import type { PartReport } from '@sluice/shared/operations/readiness.ts';
import { gatewayUrl, probeGateway } from '../../gateway/gateway-probe.ts';
import { listenerAt } from '../../gateway/listener-owner.ts';
import { fail, ok, reason, warn, type Finding } from './finding.ts';

const timeoutMs = 3_000;

/** If no gateway runs, this is a warning and not a failure, because doctor is also used before the first start. */
export async function checkGateway(config: Config): Promise<Finding> {
  if (config.port === 0) return ok('gateway', 'not checked: the gateway uses any free port (PORT=0)');
  const url = gatewayUrl(config);
  const listener = listenerAt(url, config);
  if (listener.kind === 'foreign') return fail('gateway', listener.fault);
  const probe = await probeGateway(url);
  if (!probe.ok) return (probe.isGateway === false ? fail : warn)('gateway', probe.fault);
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(timeoutMs) });
    const text = await response.text();
    return response.ok ? ok('gateway', `ready at ${url}`) : warn('gateway', `runs at ${url} but is not ready: ${unreadyReason(text)}`);
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return warn('gateway', `does not answer at ${url}: ${reason(cause)}`);
  }
}

/** The reasons in the answer of `/readyz`. */
function unreadyReason(text: string): string {
  try {
    const { error } = JSON.parse(text) as { readonly error: { readonly message: string; readonly details: { readonly parts?: Parts } } };
    const notReady = Object.entries(error.details.parts ?? {}).flatMap(([name, { ok: isReady, reason: fault }]) =>
      isReady ? [] : [`${name}: ${fault}`],
    );
    return notReady.length > 0 ? notReady.join(' ') : error.message;
  } catch (error) {
    return `its answer cannot be read (${reason(error)})`;
  }
}

type Parts = Readonly<Record<string, PartReport>>;

const migrateFile = '/proc/sys/net/ipv4/tcp_migrate_req';

/** With SHARE_PORT, the kernel must pass connections that wait for a closing listener to the next one. */
export function checkSharedPort({ operations: { sharePort } }: Config): readonly Finding[] {
  if (!sharePort) return [];
  const value = existsSync(migrateFile) ? readFileSync(migrateFile, 'utf8').trim() : null;
  if (value === '1') return [ok('shared port', 'the kernel passes waiting connections to the next gateway')];
  const effect = 'some connections that are opened while a gateway ends are reset';
  return [
    value === null
      ? warn('shared port', `this kernel has no net.ipv4.tcp_migrate_req (Linux 5.14 and later have it): ${effect}`)
      : warn('shared port', `net.ipv4.tcp_migrate_req is 0: ${effect}. Set it to 1`),
  ];
}
