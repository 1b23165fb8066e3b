import type { Config } from '@sluice/shared/config/config.ts';
import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { isLoopback } from '@sluice/shared/config/loopback.ts';
import { planNames } from '@sluice/shared/wire/values/plans.ts';
import { ok, warn, type Finding } from './finding.ts';

/** Checks the settings for public access: plans, origins, proxies and the URL of the dashboard. */
export function checkPublic(config: Config): readonly Finding[] {
  return [
    checkPlans(config),
    checkPublicUrl(config),
    ...checkProxies(config),
    ...checkHosts(config),
    ...checkOrigins(config),
    ...checkKeyless(config),
  ];
}

function checkPlans({ plans }: Config): Finding {
  const shown = planNames.map((name) => {
    const { requestsPerMinute } = plans[name];
    return `${name} ${requestsPerMinute}${requestsPerMinute === defaultPlans[name].requestsPerMinute ? '' : ' (PLANS_FILE)'}`;
  });
  return ok('plans', `requests a minute: ${shown.join(', ')}`);
}

function checkPublicUrl({ publicUrl, host }: Config): Finding {
  if (publicUrl === null) {
    return isLoopback(host) ? ok('dashboard', 'on this machine only') : warn('dashboard', 'PUBLIC_URL is not set: nobody can sign in');
  }
  if (new URL(publicUrl).protocol === 'http:' && !isLoopback(hostOf(publicUrl))) {
    return warn('dashboard', `${publicUrl} is not HTTPS: others on the network can read keys and sessions`);
  }
  return ok('dashboard', publicUrl);
}

/** Behind a proxy that is not in TRUSTED_PROXIES, all clients have the address of the proxy. */
function checkProxies({ trustedProxies, host, publicUrl, port }: Config): readonly Finding[] {
  if (trustedProxies.length > 0) return [ok('proxies', trustedProxies.join(', '))];
  const isBehindProxy = publicUrl !== null && isLoopback(host) && !isOwnAddress(publicUrl, port);
  return isBehindProxy
    ? [
        warn(
          'proxies',
          'PUBLIC_URL is not the URL of this listener, but TRUSTED_PROXIES is not set: keys cannot be limited to IP addresses',
        ),
      ]
    : [];
}

function isOwnAddress(publicUrl: string, port: number): boolean {
  return isLoopback(hostOf(publicUrl)) && Number(new URL(publicUrl).port) === port;
}

/** The host of an address. An IPv6 host is returned without its brackets. */
function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}

function checkHosts({ allowedHosts, host }: Config): readonly Finding[] {
  if (allowedHosts.length === 0) return [];
  const isOpen = allowedHosts.includes('*') && isLoopback(host);
  return [
    isOpen ? warn('hosts', 'ALLOWED_HOSTS is *: a web page can reach the gateway by DNS rebinding') : ok('hosts', allowedHosts.join(', ')),
  ];
}

function checkOrigins({ corsOrigins }: Config): readonly Finding[] {
  if (corsOrigins.length === 0) return [];
  return [ok('origins', corsOrigins.includes('*') ? 'pages of any origin may call the API' : corsOrigins.join(', '))];
}

function checkKeyless({ pumpPortalKeyless, host, publicUrl }: Config): readonly Finding[] {
  if (!pumpPortalKeyless) return [];
  const isHereOnly = isLoopback(host) && (publicUrl === null || isLoopback(hostOf(publicUrl)));
  if (isHereOnly) return [ok('keyless', 'PumpPortal clients on this machine need no key')];
  return [warn('keyless', 'PUMPPORTAL_KEYLESS is on: anybody who reaches this gateway may use the PumpPortal stream and trade-local')];
}
